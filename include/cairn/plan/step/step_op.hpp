// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/fingerprint.hpp>

namespace cairn::plan {

// The kinds of ops in a training step. The first five are the schedule's ops; the others are a trainer's.
enum class step_op_kind : unsigned char {
  forward,     // of a stage
  recompute,   // a forward that ran before in this step
  loss,        // and its gradient
  backward,    // of a stage
  discard,     // marks what is not read any more: it does no work
  take_inputs, // inputs and targets are brought to where ops read them
  facts,       // what ranks compare of their steps is written down; sent with the first bucket, or at once
  statistics,  // a layer's sums over the ranks are sent and waited for: inside the op before
  reduce,      // a bucket of gradients is sent to be summed over the ranks
  wait,        // for the sums of a bucket
  compare,     // the facts of all ranks are there: they make the same step, or all of them throw
  find,        // a rank without samples sees whether the others make a step
  norm,        // of all gradients
  check,       // with loss scaling: the norm is finite, or this step's updates are skipped; then the scale of the next step
  clip,        // the factor by which the norm of the gradients is too large
  update,      // of the parameters whose gradients are in a bucket
};

// One op of a step. `index` is the position in the schedule for an op of the schedule; the layer's number among those that sum
// over the ranks for statistics; the bucket for reduce, wait and update; else 0.
struct step_op {
  step_op_kind kind = step_op_kind::forward;
  std::uint32_t index = 0;
  std::uint32_t stage = 0; // the network's stage of forward, recompute, backward; for discard the schedule op's position
  // It begins inside the schedule's op before it, as soon as `complete` elements of the flat gradient buffer are complete. (A
  // block is one op, and its layers finish their gradients one after another.)
  bool is_inside = false;
  std::size_t complete = 0;

  // Is it in the schedule?
  constexpr bool is_scheduled() const { return kind <= step_op_kind::discard; }
  // Do all ranks take part in it?
  constexpr bool is_call() const {
    return kind == step_op_kind::facts || kind == step_op_kind::statistics || kind == step_op_kind::reduce;
  }
  constexpr bool operator==(const step_op&) const = default;
};

} // namespace cairn::plan

namespace cairn::detail {

inline constexpr std::size_t step_op_kinds = static_cast<std::size_t>(step_op_kind::update) + 1;

} // namespace cairn::detail

namespace cairn::plan {

// The name of a kind: "recompute".
constexpr const char* name_of(step_op_kind kind) {
  constexpr const char* names[detail::step_op_kinds] = {"forward", "recompute",  "loss",   "backward", "discard", "take inputs",
                                                        "facts",   "statistics", "reduce", "wait",     "compare", "find",
                                                        "norm",    "check",      "clip",   "update"};
  return names[static_cast<std::size_t>(kind)];
}

// The kinds of steps, each with a list of ops of its own.
enum class step_kind : unsigned char {
  step,          // the last micro-batch, or the only one, and the update
  micro_batch,   // one whose gradients are kept for a step
  forward_alone, // the forward pass of the next micro-batch
  evaluation,
  joined, // a step of the other ranks, in which this one has no samples
};

} // namespace cairn::plan

namespace cairn::detail {

inline constexpr std::size_t step_kinds = static_cast<std::size_t>(step_kind::joined) + 1;

// The ops of a step in order. `Capacity` is an upper bound, or at_run_time.
template <std::size_t Capacity>
struct step_list {
  plain_array<step_op, Capacity> storage{};
  std::size_t count = 0;

  constexpr std::span<const step_op> ops() const { return {storage.data(), count}; }
};

// A hash of the calls in a list, in their order. Ranks whose lists have the same hash meet in every call of a step; their other
// ops, and the times at which they run, may differ.
constexpr std::uint64_t hash_of_calls(std::span<const step_op> list) {
  hash64 h;
  for (const step_op& o : list)
    if (o.is_call()) h.add(static_cast<std::uint64_t>(o.kind) | std::uint64_t{o.index} << 8);
  return h.value();
}

} // namespace cairn::detail
