// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>

// Under a budget around a whole network, blocks leave the way in which they were typed. Several assignments of ways to the blocks
// are tried, and the cheapest schedule is taken:
//
//   * The blocks as they were typed; and each in the way that needs the fewest bytes in its backward pass.
//   * Blocks move to ways that store less one after another, those first that save the most bytes for a FLOP, until everything
//     that the ways store fits, and without moves that turn out not to be needed; or all of them, if it never fits.
//
// (Measured, one way for all equal blocks is within 0.3 % of a choice block by block, as the solver may recompute a whole block
// besides.)
namespace cairn::detail {

// The blocks that are one element of a chain move on to this way, in the order of their positions.
struct way_move {
  std::uint32_t element = 0;
  std::uint8_t way = 0;
  double bytes_per_flop = 0;
};

template <class Elements>
struct blocks_with_ways;
template <class... Elements>
struct blocks_with_ways<pack<Elements...>> {
  static constexpr std::array<bool, sizeof...(Elements)> value{offers_ways<Elements>...};
  // The fewest blocks for which it is worth a search.
  static constexpr std::size_t fewest() {
    for (const bool alone : {false, offers_ways_alone<Elements>...})
      if (alone) return 1;
    return 2;
  }
};

// Ways of a chain of blocks. Drawn is its blueprint.
template <class Drawn>
struct ways_of {
  static constexpr std::size_t elements = Drawn::elements::size;
  static constexpr std::size_t size = Drawn::size;
  static constexpr std::span<const bool> offered =
      blocks_with_ways<typename Drawn::elements>::value; // nvcc 13 takes no reference
  using assignment = std::array<std::uint8_t, size>;     // the way of each stage

  static constexpr auto stages_in_way = []<std::size_t... Way>(std::index_sequence<Way...>) {
    return std::array<const stage*, way_count>{Drawn::template element_stages_in<Way>.data()...};
  }(std::make_index_sequence<way_count>{});
  static constexpr const stage& stage_of(std::size_t element, std::size_t way) { return stages_in_way[way][element]; }
  static constexpr std::uint64_t tape_of(std::size_t element, std::size_t way) {
    return stage_of(element, way).tape.at(Drawn::batch);
  }
  // Bytes of a block while its backward pass runs.
  static constexpr std::size_t need_of(const stage& s) { return s.tape.at(Drawn::batch) + s.backward_workspace.at(Drawn::batch); }

  struct move_list {
    std::array<way_move, 3 * elements + 1> of{};
    std::size_t count = 0;

    constexpr void insert(const way_move& m) { // in order; after its equals
      std::size_t k = count++;
      for (; k > 0 && of[k - 1].bytes_per_flop < m.bytes_per_flop; --k) of[k] = of[k - 1];
      of[k] = m;
    }
  };
  // From each way a block moves on to the one after it that saves the most bytes for a FLOP.
  static constexpr move_list moves = [] {
    const auto worth = [](std::size_t e, std::size_t from, std::size_t to) {
      const double bytes = static_cast<double>(tape_of(e, from)) - static_cast<double>(tape_of(e, to));
      const double flops =
          static_cast<double>(stage_of(e, to).backward_flops) - static_cast<double>(stage_of(e, from).backward_flops);
      return bytes / (flops < 1 ? 1 : flops);
    };
    move_list out;
    for (std::uint32_t e = 0; e < elements; ++e) {
      if (!offered[e]) continue;
      for (std::size_t from = 0; from + 1 < way_count;) {
        std::size_t to = from + 1;
        for (std::size_t other = to + 1; other < way_count; ++other)
          if (worth(e, from, other) > worth(e, from, to)) to = other;
        if (worth(e, from, to) <= 0) break;
        out.insert({e, static_cast<std::uint8_t>(to), worth(e, from, to)});
        from = to;
      }
    }
    return out;
  }();

  // The number of steps: in each, one block moves on.
  static constexpr std::size_t steps = [] {
    std::size_t count = 0;
    for (std::size_t m = 0; m < moves.count; ++m)
      for (std::size_t i = 0; i < size; ++i) count += Drawn::order[i] == moves.of[m].element ? 1 : 0;
    return count;
  }();

  // The blocks in the ways in which they were typed.
  struct as_typed {
    static constexpr assignment way{};
  };
  // After a number of steps.
  template <std::size_t Step>
  struct after {
    static constexpr assignment way = [] {
      assignment out{};
      std::size_t left = Step;
      for (std::size_t m = 0; m < moves.count; ++m)
        for (std::size_t i = 0; i < size && left > 0; ++i) {
          if (Drawn::order[i] != moves.of[m].element) continue;
          out[i] = moves.of[m].way;
          --left;
        }
      return out;
    }();
  };
  // One block is in another way than in `Ways`.
  template <class Ways, std::size_t Position, std::uint8_t Way>
  struct but_for {
    static constexpr assignment way = [] {
      assignment out = Ways::way;
      out[Position] = Way;
      return out;
    }();
  };

  // For each element, the way that needs the fewest bytes in the backward pass; the first of equals.
  static constexpr std::array<std::uint8_t, elements> least_need = [] {
    std::array<std::uint8_t, elements> out{};
    for (std::size_t e = 0; e < elements; ++e)
      for (std::uint8_t way = 1; way < way_count && offered[e]; ++way)
        if (need_of(stage_of(e, way)) < need_of(stage_of(e, out[e]))) out[e] = way;
    return out;
  }();
  struct needing_least {
    static constexpr assignment way = [] {
      assignment out{};
      for (std::size_t i = 0; i < size; ++i) out[i] = least_need[Drawn::order[i]];
      return out;
    }();
  };

  // The chain in these ways.
  template <class Ways>
  struct chain_in {
    static constexpr std::array<stage, size> stages = [] {
      std::array<stage, size> out = Drawn::typed_stages;
      for (std::size_t i = 0; i < size; ++i) {
        if (Ways::way[i] == 0) continue;
        const stage typed = out[i];
        out[i] = stage_of(Drawn::order[i], Ways::way[i]);
        out[i].without_gradient = typed.without_gradient;
        out[i].in_place_backward = out[i].in_place_backward && typed.in_place_backward;
      }
      return out;
    }();
    static constexpr chain value = [] {
      chain c = Drawn::typed_source::value;
      c.stages = stages;
      return c;
    }();
  };
  template <class Ways>
  using source = std::conditional_t<std::is_same_v<Ways, as_typed>, typename Drawn::typed_source, chain_in<Ways>>;
};

// The search for a budget: the assignments that are tried, and what they cost.
template <class Drawn, class Policy>
struct way_search {
  using ways = ways_of<Drawn>;
  using as_typed = typename ways::as_typed;
  template <class Ways>
  using source = typename ways::template source<Ways>;
  template <std::size_t Step>
  using after = typename ways::template after<Step>;
  using needing_least = typename ways::needing_least;
  static constexpr std::size_t bytes = most_bytes<typename Drawn::typed_source, Policy>();
  static constexpr std::size_t last = ways::steps;
  static constexpr std::uint64_t never = static_cast<std::uint64_t>(-1);

  // The same budget for each of the chains: hundredths are those of the network as it was typed.
  struct budget : Policy {
    static constexpr std::size_t bytes = way_search::bytes;
    static constexpr std::uint64_t least_flops() { return way_search::least_flops(); }
    static constexpr std::size_t least_bytes() { return way_search::least_bytes(); }
  };

  template <class Ways>
  static constexpr std::size_t stored = plan_of<source<Ways>, store_all>::arena;
  template <class Ways>
  static constexpr bool is_stored = stored<Ways> <= bytes;

  // The first step after which everything can be stored that the ways store, if it can after the last.
  template <std::size_t Low, std::size_t High>
  static constexpr std::size_t first_stored() {
    if constexpr (Low == High) return Low;
    else if constexpr (is_stored<after<(Low + High) / 2>>) return first_stored<Low, (Low + High) / 2>();
    else return first_stored<(Low + High) / 2 + 1, High>();
  }

  // One block back in a way that stores more, where that saves the most FLOPs and its tape may still fit.
  struct way_back {
    std::size_t position = 0;
    std::uint8_t way = 0;
    std::uint64_t saved = 0; // 0: there is none
  };
  static constexpr way_back best_way_back(const typename ways::assignment& way) {
    std::size_t all = stored<as_typed>;
    for (std::size_t i = 0; i < way.size(); ++i)
      if (way[i] > 0) all -= ways::tape_of(Drawn::order[i], 0) - ways::tape_of(Drawn::order[i], way[i]);
    way_back best{};
    for (std::size_t i = 0; i < way.size(); ++i)
      for (std::uint8_t to = 0; to < way[i]; ++to) {
        const std::size_t e = Drawn::order[i], tape = ways::tape_of(e, to), now = ways::tape_of(e, way[i]);
        const std::uint64_t less = ways::stage_of(e, to).backward_flops, more = ways::stage_of(e, way[i]).backward_flops;
        if (all - now + tape <= bytes && more > less + best.saved) best = {i, to, more - less};
      }
    return best;
  }
  template <class Ways, std::size_t Left = 3>
  static constexpr auto without_needless() {
    constexpr way_back back = best_way_back(Ways::way);
    using next = typename ways::template but_for<Ways, back.position, back.way>;
    if constexpr (Left == 0 || back.saved == 0) return type_of<Ways>{};
    else if constexpr (!is_stored<next>) return type_of<Ways>{};
    else return without_needless<next, Left - 1>();
  }

  // FLOPs in these ways: of the schedule, and of the cheapest schedule known, whether or not it can be packed.
  template <class Ways>
  static constexpr std::uint64_t cost = [] {
    if constexpr (!accepted<budget, source<Ways>>()) return never;
    else return flops(source<Ways>::value, plan_of<source<Ways>, fitting<source<Ways>, budget>, bytes>::schedule.ops());
  }();
  template <class Ways>
  static constexpr std::uint64_t known = [] {
    using first = typename Policy::template cheapest<source<Ways>, bytes>;
    if constexpr (std::is_void_v<first>) return never;
    else return flops(source<Ways>::value, plan_of<source<Ways>, first, bytes>::schedule.ops());
  }();

  static constexpr auto assignments() {
    using moved = typename ways::template after<last>;
    if constexpr (!is_stored<moved>) return pack<as_typed, needing_least, moved>{};
    else return pack<as_typed, needing_least, typename decltype(without_needless<after<first_stored<0, last>()>>())::type>{};
  }
  using tried = decltype(assignments());

  // The position of the least of these numbers; of the first, if several are equal.
  template <class Number, std::size_t Count>
  static constexpr std::size_t position_of_least(const std::array<Number, Count>& numbers) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < Count; ++k) best = numbers[k] < numbers[best] ? k : best;
    return best;
  }
  // Over all assignments: costs, the FLOPs of the cheapest schedule known for so few bytes, and the least bytes. The types are
  // written out, so that each member is evaluated when it is first used: only a diagnostic needs the least bytes.
  template <class>
  struct compared;
  template <class... Ways>
  struct compared<pack<Ways...>> {
    static constexpr std::array<std::uint64_t, sizeof...(Ways)> costs{cost<Ways>...};
    static constexpr std::array<std::uint64_t, sizeof...(Ways)> flops{known<Ways>...};
    static constexpr std::array<std::size_t, sizeof...(Ways)> bytes{least_bytes_of<source<Ways>, budget>()...};
  };
  using taken = pack_element<position_of_least(compared<tried>::costs), tried>;
  static constexpr std::uint64_t least_flops() { return compared<tried>::flops[position_of_least(compared<tried>::flops)]; }
  static constexpr std::size_t least_bytes() { return compared<tried>::bytes[position_of_least(compared<tried>::bytes)]; }
};

// Can the blocks of a chain choose among ways? There are two or more that offer them, or one that is long by itself, and a budget
// around the whole network.
template <class Drawn, class Policy>
constexpr bool chooses_ways() {
  if constexpr (keeps_a_budget<Policy> && Drawn::is_root && Drawn::has_blocks) {
    using offered = blocks_with_ways<typename Drawn::elements>;
    std::size_t count = 0;
    for (std::size_t i = 0; i < Drawn::size; ++i) count += offered::value[Drawn::order[i]] ? 1 : 0;
    return count >= offered::fewest();
  } else {
    return false;
  }
}
// Does it take a search? Not where everything can be stored, or the network is too long for the compiler.
template <class Drawn, class Policy>
constexpr bool searches_ways() {
  if constexpr (!chooses_ways<Drawn, Policy>()) return false;
  else if constexpr (!accepts<Policy, typename Drawn::typed_source>()) return false;
  else if constexpr (plan_of<typename Drawn::typed_source, store_all>::arena <=
                     most_bytes<typename Drawn::typed_source, Policy>())
    return false;
  else return ways_of<Drawn>::steps > 0;
}

// The stages of a chain and its policy, as they are planned.
template <class Drawn, class Policy, bool Searches = searches_ways<Drawn, Policy>()>
struct chosen_ways {
  using source = typename Drawn::typed_source;
  using policy = Policy;
  static constexpr std::span<const stage> stages = Drawn::typed_stages;
  static constexpr bool moved = false; // is any block in another way than it was typed?
  static constexpr std::array<std::uint8_t, Drawn::size> way{};
  static constexpr bool takes(std::size_t w) { return w == 0; }
};
template <class Drawn, class Policy>
struct chosen_ways<Drawn, Policy, true> {
  using search = way_search<Drawn, Policy>;
  using taken = typename search::taken;
  using source = typename search::template source<taken>;
  using policy = typename search::budget;
  static constexpr std::span<const stage> stages = source::value.stages;
  static constexpr bool moved = !std::is_same_v<taken, typename search::as_typed>;
  static constexpr std::span<const std::uint8_t> way = taken::way; // of each stage
  // Is a block in this way? One that is element `e` of the chain?
  static constexpr bool takes(std::size_t w) {
    for (std::size_t i = 0; i < Drawn::size; ++i)
      if (way[i] == w) return true;
    return w == 0;
  }
  static constexpr bool takes(std::size_t e, std::size_t w) {
    for (std::size_t i = 0; i < Drawn::size; ++i)
      if (Drawn::order[i] == e && way[i] == w) return true;
    return false;
  }
};

} // namespace cairn::detail
