// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>

namespace cairn::detail {

// The largest number of parameter-sized buffers that an optimizer may have.
inline constexpr std::size_t most_optimizer_states = 4;

} // namespace cairn::detail

namespace cairn::types {

// What an optimizer multiplies gradients by before anything else: it averages them over micro-batches and ranks, and clips them.
// A part of it may be in the device's memory, so on a device apart it is copied into a kernel and called there.
struct gradient_scale {
  double number = 1;
  const double* factor = nullptr; // one more, in the device's memory; null: 1

  CAIRN_HOST_DEVICE double operator()() const { return factor == nullptr ? number : number * *factor; }
};

} // namespace cairn::types

namespace cairn {

// The arguments of an optimizer: one span of the flat parameter buffer, and the same span of the other buffers. Between two
// tensors there may be padding: zeros, whose gradients are zero and whose update has no meaning.
template <class T>
struct update_call {
  std::size_t count = 0;
  T* parameters = nullptr;      // (count)
  const T* gradients = nullptr; // (count), sums over ranks and micro-batches
  std::array<T*, detail::most_optimizer_states>
      states{};                  // (count) each, the first states() of them; zeros before the first update
  types::gradient_scale scale{}; // scale() multiplies the gradients before anything else
  double learning_rate = 0;      // of this step; differs from the optimizer's own if there is a schedule
  std::uint64_t step = 1;        // 1 in the first update
  ops::skip_decision decision{}; // whether the device makes this update, and whether it is the one before: see takes_decision
  bool is_special = false;       // whether the optimizer's is_special() picked the parameters of this span: see below
  std::size_t group = 0;         // what its group_of() returned for them

  // The number of this update if decision.is_one_less() is true on the device.
  std::uint64_t step_if_one_less() const { return step > 1 ? step - 1 : 1; }
};

// An optimizer turns gradients into new parameters, element by element.
//
// A type O is an optimizer if
//   1. o.learning_rate is its learning rate unless a schedule gives another;
//   2. o.states() is the number of parameter-sized buffers that it needs, at most 4 (else the trainer throws);
//   3. o.update(queue, update_call<T>), a const member, changes parameters and states;
//   4. an element's bits depend on its own numbers, the scale, the learning rate and the step only: how the
//      buffer is cut into spans does not matter, and buckets can be updated as they arrive.
//
// It may have static bool is_special(const tensor&), which picks parameters by their metadata: each call then contains either
// picked parameters or others, and says which. For more kinds than two, by name, it may have std::size_t
// group_of(std::string_view name) const, as layer_groups has. It may have settings(), all its numbers as a range of double:
// ranks with different settings then refuse to start. It may have check(), which throws input_error about numbers that make no
// sense: the trainer calls it before it takes them.
//
// It may have takes_decision, a constant: whether update() changes nothing where call.decision.skips() is true, and makes update
// call.step_if_one_less() where call.decision.is_one_less() is. Both are asked by its ops, as they read the device's memory. A
// trainer with the option loss_scale expects it on a device whose work is done later; elsewhere the trainer skips the call.
//
// It is a value that owns no memory: copy it, save it, compare it. examples/own_optimizer.cpp defines one.
template <class O>
concept optimizer = std::copyable<O> && requires(const O& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.states() } -> std::same_as<std::size_t>;
};

} // namespace cairn

namespace cairn::detail {

template <class Optimizer>
concept takes_decision = requires { requires Optimizer::takes_decision; };

} // namespace cairn::detail
