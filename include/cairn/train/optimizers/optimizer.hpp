// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn {

// How many buffers like the parameters an optimizer may have.
inline constexpr std::size_t most_optimizer_states = 4;

// Everything that an optimizer works on: one span of the flat parameter buffer, and what lies at the same place of the
// others. Between two tensors there may be padding: zeros, whose gradients are zero and whose update has no meaning.
template <class T>
struct update_call {
  std::size_t count = 0;
  T* parameters = nullptr;                        // (count)
  const T* gradients = nullptr;                   // (count), sums over ranks and micro-batches
  std::array<T*, most_optimizer_states> states{}; // (count) each, the first states() of them; zeros before the first update
  double scale = 1;               // the gradients are multiplied by it before anything else: makes means of them, and clips
  const double* factor = nullptr; // on a device whose memory is not the host's: one number there, by which they are multiplied
                                  // too, as it makes means of several ranks, and clips; null: 1
  double learning_rate = 0;       // of this step: not the optimizer's own, if there is a schedule
  std::uint64_t step = 1;         // 1 in the first update
  bool is_special = false;        // the parameters of this span are those that the optimizer picked: see is_special below
  std::size_t group = 0;          // and what its group_of() said of them
};

// An optimizer turns gradients into new parameters, element by element.
//
// A type O is an optimizer if
//   1. o.learning_rate is its learning rate where no schedule gives another;
//   2. o.states() is how many buffers like the parameters it needs, at most 4 (else the trainer throws);
//   3. o.update(queue, update_call<T>) of a const O changes parameters and states;
//   4. an element's bits depend on its own numbers, the scale, the learning rate and the step only: how the
//      buffer is cut into spans does not matter, and buckets can be updated as they arrive.
//
// It may have static bool is_special(const tensor&), which picks parameters by their description: then each call is about
// picked parameters or about others, and says which. For more kinds than two, by name, it may have std::size_t
// group_of(std::string_view name) const, as layer_groups has. It may have settings(), all its numbers as a range of double: then
// ranks that were given others refuse to start. It may have check(), which throws input_error about numbers that make no
// sense: the trainer calls it before it takes them.
//
// It owns nothing and is a value: copy it, write it down, compare it. examples/own_optimizer.cpp is one of one's own.
template <class O>
concept optimizer = std::copyable<O> && requires(const O& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.states() } -> std::same_as<std::size_t>;
};

} // namespace cairn
