// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>

namespace cairn::detail {

// A size that grows with the batch.
struct bytes {
  std::size_t per_sample = 0;
  std::size_t per_batch = 0;

  // For `batch` samples, rounded up to whole cache lines.
  constexpr std::size_t at(std::size_t batch) const { return align_up(counted(per_sample, batch) + per_batch); }
};

} // namespace cairn::detail

namespace cairn::plan {

// One stage as the plan sees it: sizes and costs. The plan does not know what a stage computes; it keeps the name for errors
// and for policies that choose stages by it.
//
// Stage i makes value i + 1 from value i; value 0 is the input of the chain. In backward it makes gradient i from
// gradient i + 1. A composite (a residual block, a nested checkpoint) is one stage too: its tape is what its own
// schedule stores between forward and backward, its workspaces are what its own schedule needs besides.
struct stage {
  detail::bytes output{};
  std::size_t without_gradient = 0;     // bytes of the output at this batch that have no gradient in memory
  detail::bytes tape{};                 // own bytes, stored from a forward to its backward
  detail::bytes forward_workspace{};    // own bytes during a forward that stores the tape
  detail::bytes evaluation_workspace{}; // ... during a forward that stores nothing
  detail::bytes backward_workspace{};   // ... during backward
  // Additional bytes of backward at this batch if the gradient of its output must be preserved; otherwise backward overwrites
  // it.
  std::size_t kept_gradient_workspace = 0;
  bool reads_input = false;       // backward reads value i
  bool reads_output = false;      // backward reads value i + 1
  bool in_place_forward = false;  // value i + 1 may lie on value i, if the sizes are equal
  bool in_place_backward = false; // gradient i may lie on gradient i + 1, if the sizes are equal
  // Gradient i may lie on value i, if the sizes are equal and nothing reads the value later: backward reads all of the value
  // before it writes the gradient, unless it also takes the derivative of an activation.
  bool input_gradient_on_input = false;
  bool reshapes = false;            // value i + 1 is value i under other extents: in place its forward does nothing
  bool tape_without_output = false; // forward can make the tape and leave the output out

  // Can it apply an activation to its result, and the derivative of one to its input gradient?
  bool fuses = false;
  // The activation that a preceding stage can fuse; 0 if none. Such a stage has no tape and no parameters.
  unsigned char as_activation = 0;

  const char* type = "";           // spelling of what was typed; see core/explain.hpp
  std::size_t leaves = 1;          // layers inside
  std::size_t parameters = 0;      // elements, padding left out
  std::size_t parameter_block = 0; // elements, each tensor padded to the alignment
  // The same for buffers: written once a step, in the first forward.
  std::size_t state_block = 0;

  // Floating-point operations for one sample.
  std::uint64_t forward_flops = 0;
  std::uint64_t tape_flops = 0; // forward without its output, if tape_without_output
  std::uint64_t backward_flops = 0;
  std::uint64_t input_gradient_flops = 0; // the part of backward that only the input gradient needs

  constexpr bool keeps_tape() const { return tape.per_sample + tape.per_batch != 0; }
};

} // namespace cairn::plan

namespace cairn::detail {

// Memory for gradients inside the arena, if training uses them up during the backward pass. It lives from the backward of stage
// `from`, which writes the first of them, to that of stage `to`, in which the last of them are used.
struct gradient_window {
  std::size_t bytes = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0; // at most `from`: the backward pass goes down

  constexpr bool operator==(const gradient_window&) const = default;
};

} // namespace cairn::detail

namespace cairn::plan {

// A chain of stages at one batch. The root owns everything but its input. A composite's chain borrows its ends from the
// enclosing chain: always the input and the output's gradient, and the other two unless it has to add to them.
struct chain {
  std::span<const stage> stages{};
  std::size_t batch = 1;
  detail::bytes input{};
  std::size_t input_without_gradient = 0;
  bool lent = false;        // it is a composite's chain: the gradient of its input may be read outside
  bool lent_output = false; // the last value is the composite's output itself
  // Gradient 0 is the composite's input gradient itself. At the root: it is wanted, and others own it.
  bool lent_input_gradient = false;
  bool keeps_output_gradient = false; // the last gradient is read once more at the end: nothing may lie on it
  // At the root, if its arena holds the gradients; in the order of `from`.
  std::span<const detail::gradient_window> windows{};

  constexpr std::size_t size() const { return stages.size(); }
  // Is it a chain inside a network? Then other stages run between its forward pass and its backward pass, and all that it
  // stores meanwhile adds to what they need: a policy that recomputes does so for its last segment too. Around a whole network
  // the backward pass follows at once, and the last segment is still there.
  constexpr bool is_inside() const { return lent; }
  constexpr const stage& operator[](std::size_t position) const { return stages[position]; }

  // Bytes of value k at this batch: of the input for k == 0, else of the output of stage k - 1.
  constexpr std::size_t value_bytes(std::size_t k) const {
    return k == 0 ? input.at(batch) : stages.data()[k - 1].output.at(batch);
  }
  // Bytes of the gradient of value k: less than the value's if one of its tensors has none.
  constexpr std::size_t gradient_bytes(std::size_t k) const {
    return value_bytes(k) - (k == 0 ? input_without_gradient : stages.data()[k - 1].without_gradient);
  }
  constexpr std::size_t tape_bytes(std::size_t position) const { return stages[position].tape.at(batch); }

  // May the result of this stage lie on its input?
  constexpr bool in_place_forward(std::size_t position) const {
    return stages[position].in_place_forward && value_bytes(position) == value_bytes(position + 1);
  }
  // The number of stages at the front that only reshape the chain's input: it stays in place, and is read there. The last value
  // is always the chain's own.
  constexpr std::size_t reshaped_inputs() const {
    std::size_t position = 0;
    while (position + 1 < size() && stages[position].reshapes && in_place_forward(position)) ++position;
    return position;
  }
  constexpr bool in_place_backward(std::size_t position) const {
    return stages[position].in_place_backward && gradient_bytes(position) == gradient_bytes(position + 1);
  }
  // May gradient `position` lie on the value, if that is the chain's own and no longer needed? In long chains gradients have
  // memory of their own: their many buffers are arranged by few attempts, which one that lives through both passes would spoil.
  static constexpr std::size_t most_stages_with_gradients_on_inputs = 128;
  constexpr bool input_gradient_on_input(std::size_t position) const {
    const stage& s = stages[position];
    return size() <= most_stages_with_gradients_on_inputs && s.input_gradient_on_input && s.reads_input &&
           gradient_bytes(position) == value_bytes(position);
  }

  // May the gradient of the chain's input be read by others?
  constexpr bool gives_input_gradient() const { return lent || lent_input_gradient; }

  // The lowest stage whose backward does anything: below the first parameter no gradient is read, unless that of the input
  // is.
  constexpr std::size_t lowest_backward() const {
    if (gives_input_gradient()) return 0;
    std::size_t position = 0;
    while (position < size() && stages[position].parameters == 0) ++position;
    return position;
  }
};

} // namespace cairn::plan
