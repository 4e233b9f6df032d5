// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/stretch.hpp>

namespace cairn::detail {

// How a way begins, in one number: twice the stages below its split, and 1 if it tapes (stretch.hpp); 0 is the backward
// of the last stage at once. The ways of the parts are those of the parts' own fronts that fit.

// Solves one stretch from the fronts of shorter ones: find(first, last, how) is that of a stretch.
template <std::size_t Stages, class Find, class Front>
constexpr void solve_stretch(const divisions<Stages>& ways, const stretch& s, const Find& find, Front& out) {
  if (ways.is_base(s)) return out.be(ways.base(s));
  const bool at_once = ways.is_at_once(s);
  out.clear(at_once ? 0 : ways.least_cost(s));
  if (at_once) {
    const division d = ways.at_once(s);
    out.offer(find(d.lower.first, d.lower.last, d.lower.how.index()), {d.bytes, d.cost});
  }
  const std::size_t kept = s.how.kept ? 2 : 0;
  const std::size_t owns = s.how.owns ? 1 : 0;
  const cost_table<Stages>& table = ways.table();
  ways.splits(s, [&](std::size_t i, bool tapes, std::size_t more, std::size_t bytes, std::uint64_t cost) {
    out.offer(find(i + 1, s.last, kept + (tapes && table.items[i].reads_output ? 0 : 1)), more,
              find(s.first, i, owns + (tapes ? 2 : 0)), {bytes, cost},
              static_cast<std::uint16_t>(2 * (i + 1 - s.first) + (tapes ? 1 : 0)));
  });
  out.finish();
}

// Writes the cheapest known way to walk a chain within so many bytes, which must be enough. Returns what it needs: no more
// bytes, and at most the cost that its front says.
template <std::size_t Stages, class Find>
constexpr need write_route(const divisions<Stages>& ways, const Find& find, std::size_t stages, std::size_t within, route& out) {
  struct open {
    stretch s{};
    std::size_t within = 0;
    std::size_t beside = 0; // bytes that are kept by those around it
  };
  plain_array<open, Stages == at_run_time ? at_run_time : 2 * Stages + 2> stack(2 * stages + 2);
  open* const items = stack.items;
  std::size_t height = 0;
  items[height++] = {{0, stages, {false, false}}, within, 0};
  need all{};
  while (height > 0) {
    const open now = items[--height];
    const stretch& s = now.s;
    const auto add = [&](std::size_t bytes, std::uint64_t cost) {
      if (all.bytes < now.beside + bytes) all.bytes = now.beside + bytes;
      all.cost += cost;
    };
    if (ways.is_base(s)) {
      const need n = ways.base(s);
      add(n.bytes, n.cost);
      if (ways.base_runs_forward(s)) out.forward(s.first);
      if (s.first != stages) out.backward(s.first);
      continue;
    }
    const std::size_t begin = find(s.first, s.last, s.how.index()).within(now.within);
    if (begin == 0) {
      const division d = ways.at_once(s);
      add(d.bytes, d.cost);
      out.backward(s.last);
      items[height++] = {d.lower, now.within, now.beside};
      continue;
    }
    const division d = ways.split_at(s, begin / 2, begin % 2 != 0);
    add(d.bytes, d.cost);
    out.forward(s.first, s.first + begin / 2);
    items[height++] = {d.lower, now.within, now.beside};
    items[height++] = {d.upper, now.within - d.more, now.beside + d.more};
  }
  return all;
}

} // namespace cairn::detail
