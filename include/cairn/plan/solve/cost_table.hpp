// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/core/plain_array.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::plan {

// The costs of one stage, in any unit: FLOPs for one sample, or nanoseconds measured on this machine.
struct stage_cost {
  std::uint64_t forward = 0;
  std::uint64_t tape = 0; // a forward that leaves the output out, if it can
  std::uint64_t backward = 0;

  constexpr bool operator==(const stage_cost&) const = default;
};

} // namespace cairn::plan

namespace cairn::detail {

// One stage as a solver sees it: bytes at the chain's batch, and costs.
struct entry {
  std::size_t input = 0, output = 0;                   // values i and i + 1
  std::size_t output_gradient = 0, input_gradient = 0; // 0: borrowed, or not made
  std::size_t tape = 0;
  std::size_t tape_workspace = 0, plain_workspace = 0, backward_workspace = 0;
  std::size_t windows = 0; // of gradients that are there from a backward above to this one or one below
  stage_cost cost{};
  bool reads_input = false, reads_output = false;
  bool in_place_forward = false, in_place_backward = false;
  bool input_gradient_on_input = false; // the input gradient lies on the input, if a segment owns that; the sizes are equal
  bool tape_alone = false;              // forward can make the tape and leave the output out

  // The bytes to be kept from a forward to the backward, besides the input.
  constexpr std::size_t kept() const { return tape + (reads_output ? output : 0); }
  constexpr bool operator==(const entry&) const = default;
};

// The costs of a stage in FLOPs.
constexpr stage_cost flops_of(const stage& s, bool wants_input_gradient) {
  return {s.forward_flops, s.tape_without_output ? s.tape_flops : s.forward_flops,
          s.backward_flops - (wants_input_gradient ? 0 : s.input_gradient_flops)};
}

// The entries of a chain and, after them, one for the loss.
template <std::size_t Stages>
using cost_table = plain_array<entry, plus(Stages, 1)>;

// The loss reads the last value and makes its gradient in its place. Stages below the lowest backward have no backward:
// they keep nothing, and there are no gradients between them.
template <std::size_t Stages>
constexpr cost_table<Stages> cost_table_of(const chain& c, std::span<const stage_cost> measured = {}) {
  const std::size_t n = c.size();
  const std::size_t lowest = c.lowest_backward();
  cost_table<Stages> out(n + 1);
  entry* const entries = out.data();
  const auto value = [&](std::size_t k) { return k == n && c.lent_output ? 0 : c.value_bytes(k); };
  std::size_t ours = c.lent ? n : n + 1; // gradients below this one are our own; those above lie on the borrowed one
  while (c.lent && !c.keeps_output_gradient && ours > 0 && c.in_place_backward(ours - 1)) --ours;
  const auto gradient = [&](std::size_t k) -> std::size_t {
    if (k >= ours || (k == 0 && c.lent_input_gradient)) return 0;
    if (k == n) return c.value_bytes(n); // it comes in where the value lies
    return k > lowest || c.lent ? c.gradient_bytes(k) : 0;
  };
  // A window counts in the backwards of its stages as a workspace does, and in everything that runs between two of them.
  for (const gradient_window& w : c.windows) {
    const std::size_t bytes = align_up(w.bytes);
    for (std::size_t i = w.to; i <= w.from; ++i) entries[i].backward_workspace += bytes;
    for (std::size_t i = w.to; i < w.from; ++i) entries[i].windows += bytes;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const stage& s = c[i];
    entry& e = entries[i];
    e.input = value(i);
    e.output = value(i + 1);
    e.plain_workspace = s.evaluation_workspace.at(c.batch);
    e.in_place_forward = c.in_place_forward(i);
    e.cost = measured.empty() ? flops_of(s, i > lowest || c.gives_input_gradient()) : measured[i];
    if (i < lowest) {
      e.cost.tape = e.cost.backward = 0;
      continue;
    }
    e.output_gradient = gradient(i + 1);
    e.input_gradient = gradient(i);
    e.tape = c.tape_bytes(i);
    e.tape_workspace = s.keeps_tape() ? s.forward_workspace.at(c.batch) : e.plain_workspace;
    e.backward_workspace += s.backward_workspace.at(c.batch);
    e.reads_input = s.reads_input;
    e.reads_output = s.reads_output;
    e.in_place_backward = c.in_place_backward(i) && !(c.keeps_output_gradient && i + 1 == n);
    e.input_gradient_on_input = !e.in_place_backward && c.input_gradient_on_input(i) && e.input_gradient == e.input;
    e.tape_alone = s.tape_without_output;
  }
  entries[n].input = value(n);
  entries[n].input_gradient = gradient(n);
  entries[n].in_place_backward = true;
  return out;
}

} // namespace cairn::detail
