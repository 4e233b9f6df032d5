// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/pareto_front.hpp>
#include <cairn/plan/solve/repetition.hpp>
#include <cairn/plan/solve/short_search.hpp>
#include <cairn/plan/solve/stretch.hpp>

namespace cairn {

// Solves a chain when the program runs: the whole curve of cost against memory at once, exact in bytes. Every stretch of
// the chain has the front of its ways, and longer stretches join those of shorter ones; stretches of equal stages are
// solved once. A hundred stages take less than a tenth of a second; the time grows with the third power of the stages
// that differ, times the sizes that differ.
//
// What the solved schedules keep they keep until its backward (stretch.hpp). Of a chain of at most longest_searched
// stages, the points of fewer bytes than theirs are searched among all schedules (short_search.hpp): its curve begins at
// the least bytes that any schedule needs. That of a longer chain begins at the least that these schedules need.
class solver {
public:
  // What a schedule on the curve needs: the most bytes that live while it runs, and what it costs.
  struct point {
    std::size_t bytes = 0;
    std::uint64_t cost = 0;
  };

  // Costs are FLOPs for one sample, or those given, one for each stage, in any unit. Schedules of more than `most` bytes
  // are left out. `sparse`: of long stretches only some splits are looked at, for chains of more than a few hundred
  // stages; the curve is then close to exact.
  explicit solver(const chain& c, std::span<const stage_cost> costs = {},
                        std::size_t most = static_cast<std::size_t>(-1), bool sparse = false)
      : stages_(c.size()), most_(most), entries_(detail::cost_table_of<detail::at_run_time>(c, costs)),
        divisions_(entries_.data(), stages_, sparse),
        repetition_(detail::find_repetition<detail::at_run_time>(entries_.data(), stages_)),
        fronts_(detail::standings * (stages_ + 1) * (stages_ + 1)) {
    solve();
    if (detail::is_searched(stages_)) search(c);
  }
  solver(const solver&) = delete;
  solver& operator=(const solver&) = delete;

  // The curve, from the least memory to the least cost; never empty, unless all of it is above `most`.
  std::size_t size() const { return searched_.size() + whole().size() - dearer_; }
  point operator[](std::size_t i) const {
    return i < searched_.size() ? searched_[i].at : point{solved(i).bytes, solved(i).cost};
  }

  // The last point of at most so many bytes: size() if there is none.
  std::size_t within(std::size_t bytes) const {
    std::size_t i = size();
    for (std::size_t k = 0; k < size() && (*this)[k].bytes <= bytes; ++k) i = k;
    return i;
  }

  // The route of point i.
  std::vector<route_step> route_of(std::size_t i) const {
    if (i < searched_.size()) return searched_[i].moves;
    std::vector<route_step> moves;
    write(root(), solved(i), moves);
    return moves;
  }

private:
  using front = std::vector<detail::way>;
  using stretch = detail::stretch;

  // A point in front of those that are solved.
  struct searched_point {
    point at{};
    std::vector<route_step> moves;
  };

  stretch root() const { return {0, stages_, {false, false}}; }
  const front& whole() const { return at(root()); }
  const detail::way& solved(std::size_t i) const { return whole()[i - searched_.size() + dearer_]; }

  std::size_t index(const stretch& s) const {
    return (s.how.index() * (stages_ + 1) + s.first) * (stages_ + 1) + s.last;
  }
  const front& at(stretch s) const {
    const std::size_t back = repetition_.steps_back(s.first, s.last, stages_);
    s.first -= back;
    s.last -= back;
    return fronts_[index(s)];
  }

  void solve() {
    for (std::size_t length = 1; length <= stages_ + 1; ++length)
      for (std::size_t first = 0; first + length <= stages_ + 1; ++first) {
        if (repetition_.steps_back(first, first + length - 1, stages_) != 0) continue;
        for (std::size_t how = 0; how < detail::standings; ++how) {
          const stretch s{first, first + length - 1, detail::standing_of(how)};
          if (divisions_.is_asked_for(s)) fronts_[index(s)] = solve(s);
        }
      }
  }

  // The points below the first, from the cheapest down: each is the cheapest of all schedules within less than the one
  // before it. A solved one that is no cheaper than the first of them is left out.
  void search(const chain& c) {
    if (!whole().empty() && whole()[0].bytes == 0) return;
    std::size_t budget = whole().empty() ? most_ : whole()[0].bytes - 1;
    for (;;) {
      detail::short_search<detail::at_run_time> s{c, entries_.data(), budget};
      s.run();
      if (!s.found()) break;
      route counted{c};
      s.write(counted);
      std::vector<route_step> moves(counted.size());
      route written{c, moves.data()};
      s.write(written);
      if (!searched_.empty() && searched_.back().at.cost == s.cost()) searched_.pop_back();
      searched_.push_back({{s.bytes(), s.cost()}, std::move(moves)});
      if (s.bytes() == 0) break;
      budget = s.bytes() - 1;
    }
    if (searched_.empty()) return;
    while (dearer_ < whole().size() && whole()[dearer_].cost >= searched_[0].at.cost) ++dearer_;
    for (std::size_t i = 0, j = searched_.size() - 1; i < j; ++i, --j) std::swap(searched_[i], searched_[j]);
  }

  front solve(const stretch& s) const {
    front known;
    if (divisions_.is_base(s)) {
      const detail::need only = divisions_.base(s);
      if (only.bytes <= most_) known.push_back({.bytes = only.bytes, .cost = only.cost});
      return known;
    }
    static const front nothing{detail::way{}};
    front next;
    const auto offer = [&](const front& upper, std::size_t more, const front& lower,
                           const detail::way& begin) {
      if (begin.bytes > most_) return;
      detail::join(known, {upper, more}, {lower, 0}, begin, most_, next);
      known.swap(next);
    };
    if (divisions_.is_at_once(s)) {
      const detail::division d = divisions_.at_once(s);
      offer(nothing, 0, at(d.lower), {.bytes = d.bytes, .cost = d.cost});
    }
    divisions_.splits(
        s, [&](std::size_t i, bool tapes, std::size_t more, std::size_t bytes, std::uint64_t cost) {
          offer(at(divisions_.upper(s, i, tapes)), more, at(divisions_.lower(s, i, tapes)),
                {.bytes = bytes,
                 .cost = cost,
                 .split = static_cast<std::uint32_t>(i + 1 - s.first),
                 .tapes = tapes});
        });
    return known;
  }

  void write(const stretch& s, const detail::way& w, std::vector<route_step>& out) const {
    const auto forward = [&](std::size_t i) { out.push_back({static_cast<std::uint32_t>(i), false}); };
    const auto backward = [&](std::size_t i) { out.push_back({static_cast<std::uint32_t>(i), true}); };
    if (divisions_.is_base(s)) {
      if (divisions_.base_runs_forward(s)) forward(s.first);
      if (s.first != stages_) backward(s.first);
      return;
    }
    if (w.split == 0) {
      const stretch below = divisions_.at_once(s).lower;
      backward(s.last);
      return write(below, at(below)[w.lower], out);
    }
    for (std::size_t i = s.first; i < s.first + w.split; ++i) forward(i);
    const detail::division d = divisions_.split_at(s, w.split, w.tapes);
    write(d.upper, at(d.upper)[w.upper], out);
    write(d.lower, at(d.lower)[w.lower], out);
  }

  std::size_t stages_;
  std::size_t most_;
  detail::plain_array<detail::entry, detail::at_run_time> entries_;
  detail::divisions divisions_;
  detail::repetition<detail::at_run_time> repetition_;
  std::vector<front> fronts_;
  std::vector<searched_point> searched_; // from the least memory
  std::size_t dearer_ = 0;               // so many of the solved points are left out
};

} // namespace cairn
