// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/core/plain_array.hpp>
#include <cairn/plan/layout/arrange.hpp>
#include <cairn/plan/layout/lifetimes.hpp>
#include <cairn/plan/operands.hpp>
#include <cairn/plan/schedule.hpp>

namespace cairn::detail {

// The layout of every buffer of a schedule.
template <std::size_t Ops, std::size_t Windows = Ops == at_run_time ? at_run_time : 0>
struct memory_plan {
  plain_array<operands, plus(Ops, 1)> at{};      // for each op
  plain_array<place, Windows> windows{};         // of the chain: where the gradients are
  plain_array<std::size_t, plus(Ops, 1)> live{}; // bytes alive during each op, of this chain's own
  std::size_t tape = 0;                          // bytes stored between the passes; of a composite only
  std::size_t forward_workspace = 0;             // bytes during the forward pass, besides the tape; at the root the whole arena
  std::size_t backward_workspace = 0;            // bytes during the backward pass, besides the tape
  std::size_t arena = 0;                         // the most bytes at once, as laid out
  std::size_t bound = 0;                         // the most bytes alive at once: no plan can be smaller
};

// Buffers that are arranged together, in the order of their births. At the root these are all. A composite has two such parts,
// the forward pass and the backward pass. Buffers that it stores between them belong to both; they are pinned, one after
// another, in a slice of their own below a fence: the tape. Other buffers may lie in the tape where it is not yet, or no
// longer, in use.
template <std::size_t Capacity>
struct arrangement {
  static constexpr std::size_t capacity = Capacity;

  plain_array<buffer, Capacity> buffers{};
  plain_array<std::uint32_t, Capacity> from{}; // index of each among all buffers
  std::size_t count = 0;
  std::size_t bound = 0; // no arrangement is smaller
  std::size_t fence = no_fence;
  std::size_t extent = 0;

  constexpr std::size_t above_fence() const { return fence == no_fence ? extent : extent - fence; }
};

enum class part : unsigned char { whole, up, back };

template <std::size_t Ops, std::size_t Buffers, std::size_t Windows>
constexpr auto select(const lifetimes<Ops, Buffers, Windows>& lives, std::size_t loss, part which) {
  arrangement<Buffers> out{};
  out.buffers.make_room(lives.count);
  out.from.make_room(lives.count);
  const buffer* const buffers = lives.buffers.items;
  buffer* const chosen = out.buffers.items;
  std::uint32_t* const from = out.from.items;
  const bool whole = which == part::whole;
  std::size_t tape = 0;
  std::size_t count = 0;
  for (std::size_t b = 0; b < lives.count; ++b) {
    const buffer& candidate = buffers[b];
    if (candidate.bytes == 0) continue;
    const bool made_up = whole || candidate.birth <= loss;
    const bool kept = !whole && made_up && candidate.death > loss;
    if (!whole && !kept && made_up != (which == part::up)) continue;
    buffer& own = chosen[count] = candidate;
    from[count++] = static_cast<std::uint32_t>(b);
    if (!kept) continue;
    own.pinned = true;
    own.offset = tape;
    tape += own.bytes;
  }
  out.count = count;
  out.bound = most_live<Ops>({chosen, count}, lives.uses.size() - 1);
  if (!whole) {
    out.fence = tape;
    if (out.bound < tape) out.bound = tape;
  }
  return out;
}

// Writes the place of every operand. At the root the backward pass is part of `up`, and `back` is empty.
template <std::size_t Ops, std::size_t Buffers, std::size_t Windows>
constexpr auto write_places(const lifetimes<Ops, Buffers, Windows>& lives, std::span<const op> ops,
                            const arrangement<Buffers>& up, const arrangement<Buffers>& back) {
  memory_plan<Ops, Windows> out{};
  out.at.make_room(ops.size() + 1);
  out.windows.make_room(lives.windows.size());
  plain_array<place, plus(Buffers, regions)> of_holders(regions + lives.count);
  place* const places = of_holders.items;
  const operands_of<holder>* const used = lives.uses.items;
  operands* const at = out.at.items;
  for (std::uint32_t r = 0; r < regions; ++r) places[r].where = static_cast<region>(r);
  for (const auto* way : {&up, &back}) {
    const buffer* const buffers = way->buffers.items;
    const std::uint32_t* const from = way->from.items;
    const bool fenced = way->fence != no_fence;
    for (std::size_t k = 0; k < way->count; ++k) {
      const std::size_t offset = buffers[k].offset;
      const bool in_tape = fenced && offset < way->fence;
      const std::size_t start = fenced && !in_tape ? way->fence : 0;
      places[regions + from[k]] = {in_tape ? region::tape : region::workspace,
                                   static_cast<std::uint32_t>((offset - start) / alignment)};
    }
  }
  if (lives.output_buffer != 0) places[lives.output_buffer].where = region::output;

  // A discard frees a buffer unless it lives on under another name. A buffer that a composite's loss was the last to read is
  // already gone with the workspace of the forward pass.
  const auto frees = [&](std::size_t t, holder h) {
    if (!is_own(h) || h == lives.output_buffer) return false;
    const std::uint32_t death = lives.buffers[h - regions].death;
    return death < t && (up.fence == no_fence || ops[death].kind != op_kind::loss);
  };
  for (std::size_t t = 0; t < ops.size(); ++t) {
    const operands_of<holder>& uses = used[t];
    if (!ops[t].is_discard())
      at[t] = {places[uses.input],     places[uses.output],          places[uses.tape],
               places[uses.workspace], places[uses.output_gradient], places[uses.input_gradient]};
    else if (frees(t, uses.input)) at[t].input = places[uses.input];
  }

  for (std::size_t w = 0; w < lives.windows.size(); ++w) out.windows[w] = places[lives.windows[w]];

  out.live = live_bytes<Ops>(lives.span(), ops.size());
  out.bound = 0;
  for (const std::size_t live : out.live) out.bound = live > out.bound ? live : out.bound;
  out.tape = up.fence == no_fence ? 0 : up.fence;
  out.forward_workspace = up.above_fence();
  out.backward_workspace = back.above_fence();
  out.arena = up.extent > back.extent ? up.extent : back.extent;
  return out;
}

// Lays out a schedule of `Ops` ops on a chain of `Stages` stages with `Windows` windows, whose loss is at op `loss`. The three
// are upper bounds, or at_run_time. plan_of takes the same steps, each in a constant expression of its own.
template <std::size_t Stages, std::size_t Ops, std::size_t Windows = Ops == at_run_time ? at_run_time : 0>
constexpr auto lay_out(const chain& c, std::span<const op> ops, std::size_t loss, std::size_t effort = 50'000) {
  constexpr std::size_t most = Ops == at_run_time ? at_run_time : 2 * Ops + 4 + Windows;
  const auto lives = trace<Stages, Ops, most, Windows>(c, ops);
  constexpr std::size_t capacity = decltype(lives)::capacity;
  auto up = select(lives, loss, c.lent ? part::up : part::whole);
  up.extent = arrange<capacity>({up.buffers.data(), up.count}, up.bound, up.fence, effort);
  arrangement<capacity> back{};
  if (c.lent) {
    back = select(lives, loss, part::back);
    back.extent = arrange<capacity>({back.buffers.data(), back.count}, back.bound, back.fence, effort);
  }
  return write_places(lives, ops, up, back);
}

} // namespace cairn::detail
