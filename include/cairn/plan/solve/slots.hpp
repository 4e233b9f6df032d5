// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/repetition.hpp>
#include <cairn/plan/solve/stretch.hpp>

namespace cairn::detail {

// The memory of a budget, cut into equal slots: what a compiler can solve with in seconds. Sizes are rounded to the
// nearest number of slots, so that their errors cancel out; whether a schedule fits is then decided by its exact bytes.
struct slot_scale {
  std::size_t budget = 1;
  std::size_t count = 1; // slots in the budget

  constexpr std::size_t nearest(std::size_t bytes) const {
    return (2 * bytes * count + budget) / (2 * budget);
  }
  constexpr std::size_t down(std::size_t bytes) const { return bytes * count / budget; }
};

// The longer the chain, the fewer slots; of numbers near that the one that suits the sizes best: where all stages are
// equal, every rounding would have the same sign.
constexpr slot_scale choose_scale(const entry* entries, std::size_t stages, std::size_t budget) {
  const std::size_t most = stages <= 12 ? 128 : stages <= 20 ? 80 : 48;
  slot_scale best{budget, most};
  std::uint64_t least = static_cast<std::uint64_t>(-1);
  for (std::size_t count = most; count > most * 3 / 4; --count) {
    const slot_scale s{budget, count};
    std::uint64_t error = 0; // in bytes times slots
    for (std::size_t i = 0; i < stages; ++i)
      for (const std::size_t bytes : {entries[i].kept(), entries[i].output}) {
        const std::size_t exact = bytes * count;
        const std::size_t rounded = s.nearest(bytes) * budget;
        error += (exact > rounded ? exact - rounded : rounded - exact) / count;
      }
    if (error >= least) continue;
    least = error;
    best = s;
  }
  return best;
}

// The best way to begin a stretch within each number of slots, and with the least bytes of all.
template <std::size_t Slots>
struct slot_row {
  static constexpr std::uint64_t endless = static_cast<std::uint64_t>(-1) / 4;

  std::uint64_t cost[Slots + 1]{};
  std::uint16_t begin[Slots + 1]{}; // twice its split, and 1 if it tapes
  std::size_t low = 0;              // fewer do not do
  std::size_t high = 0;             // more gain nothing: everything is stored
  need least{};
  std::uint16_t least_begin = 0;
};

// The rows of all stretches of one length that are not copies, each found by its first stage and standing.
template <std::size_t Slots>
struct diagonal_view {
  const slot_row<Slots>* rows = nullptr;
  const std::uint16_t* index = nullptr;
};

template <std::size_t Slots, std::size_t Rows, std::size_t Firsts>
struct diagonal {
  slot_row<Slots> rows[Rows == 0 ? 1 : Rows]{};
  std::uint16_t index[Firsts * standings]{};
};

// A chain and a budget, solved in constant expressions: one for each length of stretch, so that no compiler's limit for
// one of them is reached. `Source::value` is the chain.
template <class Source, std::size_t Budget>
struct slot_solver {
  static constexpr chain whole = Source::value;
  static constexpr std::size_t stages = whole.size();
  static constexpr auto entries = cost_table_of<stages>(whole);
  static constexpr auto repeats = find_repetition<stages>(entries.data(), stages);
  static constexpr divisions ways{entries.data(), stages, stages > 40};
  static constexpr slot_scale scale = choose_scale(entries.data(), stages, Budget == 0 ? 1 : Budget);
  static constexpr std::size_t slots =
      scale.count + scale.count / 16 + 1; // some above the budget: see slot_scale
  using row = slot_row<slots>;
  using view = diagonal_view<slots>;

  static constexpr bool is_solved(const stretch& s) {
    return ways.is_asked_for(s) && repeats.steps_back(s.first, s.last, stages) == 0;
  }
  static constexpr std::size_t firsts(std::size_t length) { return stages + 2 - length; }
  static constexpr std::size_t count_rows(std::size_t length) {
    std::size_t count = 0;
    for (std::size_t first = 0; first < firsts(length); ++first)
      for (std::size_t how = 0; how < standings; ++how)
        count += is_solved({first, first + length - 1, standing_of(how)}) ? 1 : 0;
    return count;
  }

  static constexpr const row& find(const view* views, const stretch& s) {
    const view& v = views[s.last - s.first];
    return v.rows[v.index[s.first * standings + s.how.index()]];
  }

  // What the stretch costs if nothing runs forward twice.
  static constexpr std::uint64_t full_cost(const stretch& s) {
    std::uint64_t sum = 0;
    for (std::size_t i = s.first; i < s.last; ++i) sum += entries[i].cost.forward + entries[i].cost.backward;
    return sum + ways.base({s.last, s.last, {true, s.how.kept}}).cost;
  }

  static constexpr void solve(const stretch& s, const view* views, row& out) {
    for (std::size_t m = 0; m <= slots; ++m) out.cost[m] = row::endless;
    if (ways.is_base(s)) {
      out.least = ways.base(s);
      out.low = out.high = scale.down(out.least.bytes);
      for (std::size_t m = out.low; m <= slots; ++m) out.cost[m] = out.least.cost;
    } else if (ways.is_at_once(s)) {
      const division d = ways.at_once(s);
      const row& below = find(views, d.lower);
      const std::size_t from = scale.down(d.bytes);
      out.low = below.low > from ? below.low : from;
      out.high = below.high > from ? below.high : from;
      for (std::size_t m = out.low; m <= slots; ++m) out.cost[m] = below.cost[m] + d.cost;
      out.least = {below.least.bytes > d.bytes ? below.least.bytes : d.bytes, below.least.cost + d.cost};
    } else {
      out.least.bytes = static_cast<std::size_t>(-1);
      out.low = out.high = slots + 1;
      const std::uint64_t full = full_cost(s);
      const std::size_t kept = s.how.kept ? 2 : 0;
      const std::size_t owns = s.how.owns ? 1 : 0;
      ways.splits(s, [&](std::size_t i, bool tapes, std::size_t more, std::size_t bytes, std::uint64_t cost) {
        const view& v = views[s.last - i - 1];
        const view& w = views[i - s.first];
        const std::size_t upper =
            (i + 1) * standings + kept + (tapes && entries.data()[i].reads_output ? 0 : 1);
        const std::size_t lower = s.first * standings + owns + (tapes ? 2 : 0);
        const auto begin = static_cast<std::uint16_t>(2 * (i + 1 - s.first) + (tapes ? 1 : 0));
        offer(v.rows[v.index[upper]], more, w.rows[w.index[lower]], bytes, cost, begin, full, out);
      });
      const std::size_t best = out.high <= slots ? out.begin[out.high] : 0U;
      const std::uint64_t cheapest = out.high <= slots ? out.cost[out.high] : full;
      for (std::size_t m = out.high + 1; m <= slots; ++m) {
        out.cost[m] = cheapest;
        out.begin[m] = static_cast<std::uint16_t>(best);
      }
    }
  }

  // One division for each number of slots: the inner loop of the solver.
  static constexpr void offer(const row& upper, std::size_t kept, const row& lower, std::size_t bytes,
                              std::uint64_t own, std::uint16_t begin, std::uint64_t full, row& out) {
    const std::uint64_t least_cost = upper.least.cost + lower.least.cost + own;
    std::size_t least = bytes;
    if (least < upper.least.bytes + kept) least = upper.least.bytes + kept;
    if (least < lower.least.bytes) least = lower.least.bytes;
    if (least < out.least.bytes || (least == out.least.bytes && least_cost < out.least.cost)) {
      out.least.bytes = least;
      out.least.cost = least_cost;
      out.least_begin = begin;
    }

    const std::size_t more = scale.nearest(kept);
    std::size_t from = scale.down(bytes);
    if (from < upper.low + more) from = upper.low + more;
    if (from < lower.low) from = lower.low;
    if (from < out.low) out.low = from;
    const std::size_t end = out.high <= slots ? out.high : slots + 1;
    std::uint64_t* const cost = out.cost;
    std::uint16_t* const begins = out.begin;
    const std::uint64_t* const above = upper.cost;
    const std::uint64_t* const below = lower.cost;
    // More slots never cost more: where the last of some is no better than the first was before, none of them is.
    for (std::size_t first = from; first < end;) {
      const std::size_t last = first + 12 < end ? first + 12 : end;
      if (above[last - 1 - more] + below[last - 1] + own < cost[first])
        for (std::size_t m = first; m < last; ++m) {
          const std::uint64_t now = above[m - more] + below[m] + own;
          if (now >= cost[m]) continue;
          cost[m] = now;
          begins[m] = begin;
          if (now > full) continue;
          out.high = m;
          return;
        }
      first = last;
    }
  }

  template <std::size_t Length>
  static constexpr auto solve_diagonal(const view* shorter) {
    diagonal<slots, count_rows(Length), firsts(Length)> out{};
    std::uint16_t next = 0;
    for (std::size_t first = 0; first < firsts(Length); ++first)
      for (std::size_t how = 0; how < standings; ++how) {
        const stretch s{first, first + Length - 1, standing_of(how)};
        if (!ways.is_asked_for(s)) continue;
        const std::size_t back = repeats.steps_back(s.first, s.last, stages);
        if (back == 0) solve(s, shorter, out.rows[next]);
        out.index[first * standings + how] = back == 0 ? next++ : out.index[(first - back) * standings + how];
      }
    return out;
  }
};

// All stretches of up to so many stages.
template <class Solver, std::size_t Length>
struct solved_up_to {
  static constexpr auto longest =
      Solver::template solve_diagonal<Length>(solved_up_to<Solver, Length - 1>::at);
  struct table {
    typename Solver::view at[Length]{};
  };
  static constexpr table views = [] {
    table t{};
    for (std::size_t i = 0; i + 1 < Length; ++i) t.at[i] = solved_up_to<Solver, Length - 1>::at[i];
    t.at[Length - 1] = {longest.rows, longest.index};
    return t;
  }();
  static constexpr const typename Solver::view* at = views.at;
};
template <class Solver>
struct solved_up_to<Solver, 0> {
  static constexpr const typename Solver::view* at = nullptr;
};

// The schedules of a chain for a budget.
template <class Source, std::size_t Budget>
struct slot_solution : slot_solver<Source, Budget> {
  using solver_type = slot_solver<Source, Budget>;
  using solver_type::repeats, solver_type::scale, solver_type::stages, solver_type::ways, solver_type::whole;
  using typename solver_type::row, typename solver_type::view;

  // From the shortest up: else each would be evaluated inside the next, too deep for a long chain.
  template <std::size_t... Length>
  static constexpr const view* solve_all(std::index_sequence<Length...>) {
    const view* const each[]{solved_up_to<solver_type, Length>::at...};
    return each[sizeof...(Length) - 1];
  }
  static constexpr const view* all = solve_all(std::make_index_sequence<stages + 2>{});
  static constexpr const row& find(const stretch& s) { return solver_type::find(all, s); }

  static constexpr stretch root{0, stages, {false, false}};
  static constexpr std::size_t least_bytes = find(root).least.bytes;

  // The number that stands for the schedule of the least bytes.
  static constexpr std::size_t tightest = static_cast<std::size_t>(-1);

  // Walks the schedule for so many slots: writes its route, and returns the most bytes that live.
  static constexpr std::size_t walk(std::size_t within, route& out) {
    struct open {
      stretch s{};
      std::size_t slots = 0;
      std::size_t beside = 0; // bytes kept by those around it
    };
    open stack[2 * stages + 2]{};
    std::size_t height = 0;
    stack[height++] = {root, within, 0};
    std::size_t most = 0;
    while (height > 0) {
      const open now = stack[--height];
      const auto bytes = [&](std::size_t own) { most = most < now.beside + own ? now.beside + own : most; };
      if (ways.is_base(now.s)) {
        bytes(ways.base(now.s).bytes);
        if (ways.base_runs_forward(now.s)) out.forward(now.s.first);
        if (now.s.first != stages) out.backward(now.s.first);
        continue;
      }
      if (ways.is_at_once(now.s)) {
        const division d = ways.at_once(now.s);
        bytes(d.bytes);
        out.backward(now.s.last);
        stack[height++] = {d.lower, now.slots, now.beside};
        continue;
      }
      const row& r = find(now.s);
      const bool tight = now.slots == tightest;
      const std::uint16_t begin = tight ? r.least_begin : r.begin[now.slots];
      const division d = ways.split_at(now.s, begin / 2U, begin % 2 != 0);
      bytes(d.bytes);
      out.forward(now.s.first, now.s.first + begin / 2U);
      stack[height++] = {d.lower, now.slots, now.beside};
      stack[height++] = {d.upper, tight ? tightest : now.slots - scale.nearest(d.more), now.beside + d.more};
    }
    return most;
  }

  // The most slots, fewer than `below`, whose schedule lives in at most `bytes`; `tightest` if none does.
  static constexpr std::size_t fitting(std::size_t below, std::size_t bytes) {
    const row& r = find(root);
    for (std::size_t m = below; m-- > 0;) {
      if (r.cost[m] >= row::endless) break;
      if (m > 0 && r.cost[m - 1] == r.cost[m]) continue; // the same cost for less
      route counted{whole};
      const std::size_t live = walk(m, counted);
      if (live <= bytes) return m;
      const std::size_t over = scale.down(live - bytes);
      m -= over < m ? over : m; // it will take at least so many less
    }
    return tightest;
  }
};

} // namespace cairn::detail
