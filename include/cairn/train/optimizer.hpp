// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace cairn {

// How many buffers like the parameters an optimizer may have.
inline constexpr std::size_t most_optimizer_states = 4;

// Everything an optimizer is lent to update one span of the flat parameter buffer.
template <class T>
struct update_call {
  std::size_t count = 0;
  T* parameters = nullptr;
  const T* gradients = nullptr;
  std::array<T*, most_optimizer_states> states{}; // the first states() of them; zeros before the first update
  double scale = 1;           // the gradients are multiplied by it before anything else
  double learning_rate = 0;
  std::uint64_t step = 1; // 1 in the first update
  bool is_special = false; // the parameters of this span are those that the optimizer picked: see is_special below
};

// An optimizer turns gradients into new parameters, element by element.
//
// A type O is an optimizer if
//   1. o.learning_rate is its learning rate where no schedule gives another;
//   2. o.states(), at most O::max_states, is how many buffers like the parameters it needs, at most 4;
//   3. o.update(queue, update_call<T>) changes parameters and states;
//   4. an element's bits depend on its own numbers, the scale, the learning rate and the step only: how the
//      buffer is cut into spans does not matter, and buckets can be updated as they arrive.
//
// It may have is_special(tensor), a constant expression that picks parameters by their description: then each call is about
// picked parameters or about others, and says which. It may have settings(), all its numbers as a range of double: then
// ranks that were given others refuse to start.
//
// It owns nothing and is a value: copy it, write it down, compare it.
template <class O>
concept optimizer = std::copyable<O> && requires(const O& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.states() } -> std::same_as<std::size_t>;
  { O::max_states } -> std::convertible_to<std::size_t>;
};

} // namespace cairn
