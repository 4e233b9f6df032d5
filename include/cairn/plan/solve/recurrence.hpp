// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/partial_schedule.hpp>
#include <cairn/plan/solve/segment.hpp>

namespace cairn::detail {

// The beginning of a way is one number: 0 for the backward of the last stage at once; for a split, twice the number of stages
// below it, plus 1 if it tapes (segment.hpp); and after all splits the partial schedules of the first unit
// (partial_schedule.hpp). The ways of the parts are those in the parts' own fronts that fit.
constexpr std::size_t first_partial(const segment& s) { return 2 * (s.last + 1 - s.first); }

// The first unit of a segment, if the part above it is a segment that is solved; else one that ends where the segment ends.
template <std::size_t Stages>
constexpr chain_unit first_unit(const divisions<Stages>& ways, const segment& s) {
  const auto& grid = ways.grid;
  const std::size_t level = grid.level_of(s.first, s.last + 1);
  const std::size_t end = grid.point(level, grid.below(level, s.first) + 1);
  const bool is_one = level != 0 && end <= s.last && grid.solves(end, s.last + 1);
  return {s.first, is_one ? end : s.last + 1, level, s.how.owns};
}

// Solves one segment from the fronts of shorter ones; find(segment) gives the front of a segment.
template <std::size_t Stages, class Find, class Front>
constexpr void solve_segment(const divisions<Stages>& ways, const segment& s, const Find& find, Front& out) {
  if (ways.is_base(s)) return out.be(ways.base(s));
  out.clear(ways.least_cost(s));
  if (ways.is_at_once(s)) {
    const division d = ways.at_once(s);
    out.offer(out.nothing(), 0, find(d.lower), {d.bytes, d.cost}, 0);
  }
  ways.splits(s, [&](std::size_t end, bool tapes, std::size_t more, std::size_t bytes, std::uint64_t cost) {
    out.offer(find({end, s.last, {!(tapes && ways.table.items[end - 1].reads_output), s.how.kept}}), more,
              find({s.first, end - 1, {s.how.owns, tapes}}), {bytes, cost}, 2 * (end - s.first) + (tapes ? 1 : 0));
  });
  if (const chain_unit first = first_unit(ways, s); first.end <= s.last) {
    const entry& last = ways.table.items[s.last];
    const std::size_t always = last.output_gradient + (s.how.kept ? last.kept() : 0) + last.windows;
    const auto& all = find.partials_of(first);
    const auto& nothing = out.nothing();
    std::size_t begin = first_partial(s);
    for (const partial_schedule& p : all.of) {
      const bool upper_owns = all.upper_owns(begin - first_partial(s));
      const std::size_t forward = p.forward + always;
      if (p.cost != partial_schedule::endless)
        out.offer(find({first.end, s.last, {upper_owns, s.how.kept}}), p.more, nothing,
                  {p.back < forward ? forward : p.back, p.cost}, begin);
      ++begin;
    }
  }
  out.finish();
}

// Writes the cheapest known way to walk a chain within a number of bytes.
template <std::size_t Stages, class Find>
class route_writer {
public:
  constexpr route_writer(const divisions<Stages>& ways, const Find& find, route& out)
      : ways_(ways), find_(find), out_(out), open_(2 * ways.stages() + 2) {}

  // `within` must be enough. Returns what the route needs: no more bytes, and at most the cost that the front says.
  constexpr need write(std::size_t within) {
    const std::size_t stages = ways_.stages();
    open_.items[count_++] = {{0, stages, {false, false}}, within, 0};
    while (count_ > 0) {
      open now = open_.items[--count_];
      const segment& s = now.s;
      if (ways_.is_base(s)) {
        add(now, ways_.base(s));
        if (ways_.base_runs_forward(s)) out_.forward(s.first);
        if (s.first != stages) out_.backward(s.first);
        continue;
      }
      const std::size_t begin = find_(s).within(now.within);
      if (begin == 0) {
        const division d = ways_.at_once(s);
        add(now, {d.bytes, d.cost});
        out_.backward(s.last);
        now.s = d.lower;
      } else if (begin < first_partial(s)) {
        split(now, s.first + begin / 2, begin % 2 != 0);
      } else {
        pass(now, first_unit(ways_, s), begin - first_partial(s));
      }
      open_.items[count_++] = now;
    }
    return all_;
  }

private:
  struct open {
    segment s{};
    std::size_t within = 0;
    std::size_t beside = 0; // bytes that the segments around it keep
  };

  constexpr void add(const open& now, const need& n) {
    if (all_.bytes < now.beside + n.bytes) all_.bytes = now.beside + n.bytes;
    all_.cost += n.cost;
  }
  // Leaves the part below the split open, and goes on above it.
  constexpr void split(open& now, std::size_t end, bool tapes) {
    const division d = ways_.split(now.s, end, tapes);
    add(now, {d.bytes, d.cost});
    out_.forward(now.s.first, end);
    open_.items[count_++] = {d.lower, now.within, now.beside};
    now = {d.upper, now.within - d.more, now.beside + d.more};
  }
  constexpr void pass(open& now, const chain_unit& u, std::size_t number) {
    const std::size_t level = u.points(ways_), digit = u.digit(level);
    std::size_t point = ways_.grid.below(level, u.first);
    for (std::uint64_t rest = find_.partials_of(u).of[number].splits; rest != 0; rest >>= digit) {
      const std::size_t end = ways_.grid.point(level, ++point);
      const std::uint64_t code = rest % (std::uint64_t{1} << digit);
      if (code > 2) pass(now, {now.s.first, end, level, now.s.how.owns}, static_cast<std::size_t>(code - 3));
      else if (code > 0) split(now, end, code == 2);
    }
  }

  const divisions<Stages>& ways_;
  const Find& find_;
  route& out_;
  plain_array<open, Stages == at_run_time ? at_run_time : 2 * Stages + 2> open_;
  std::size_t count_ = 0;
  need all_{};
};

template <std::size_t Stages, class Find>
constexpr need write_route(const divisions<Stages>& ways, const Find& find, std::size_t within, route& out) {
  return route_writer<Stages, Find>(ways, find, out).write(within);
}

} // namespace cairn::detail
