// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/weights_interface.hpp>

namespace cairn::types {

// Options of a session, by name: session own{net, {.threads = 2}}.
struct session_options {
  std::size_t threads = 1; // inside one operation, on a device that has a choice; 0 is one for each core
};

} // namespace cairn::types

namespace cairn::detail {

template <class Model, class Plan, class T, class Device>
std::true_type is_model(const weights_interface<Model, Plan, T, Device, false>*);
std::false_type is_model(const void*);
template <class Model>
inline constexpr bool can_have_sessions = decltype(is_model(static_cast<const Model*>(nullptr)))::value;

} // namespace cairn::detail

namespace cairn {

// Evaluates a model on one thread. The weights are the model's. The arena, the queue and its threads are the session's, made
// by the constructor. No call allocates or takes a lock, and only the weights are shared with other threads: the lowest
// latency, and the steadiest. (The first call after the weights have changed packs them, with the lock that this needs.)
//
//   const model<Net, batch<1>> net;                         // shared by all threads
//   session own{net};                                       // in each of them
//   const tensor_view<const float> outputs = own.evaluate(image);
//
// A session belongs to one thread at a time. The model must outlive it. Weights may be written while no session evaluates, and
// the next evaluation uses them. On a device other than a cpu, sessions have memory of their own but take turns on the model's
// queue, and `threads` is that of the device.
template <class Model, bool Right = detail::can_have_sessions<Model>>
class session {
  using weights_type = std::remove_cvref_t<decltype(std::declval<const Model&>().inside())>;

public:
  using number = typename Model::number; // the type of inputs and of outputs

  explicit session(const Model& net, const types::session_options& given = {})
      : weights_(&net.inside()), context_(weights_->make_context(detail::threads_for(given.threads, 1))) {
    weights_->prepare();
    if constexpr (Model::is_apart)
      here_ = std::make_unique_for_overwrite<number[]>(Model::plan::batch * Model::output_shape.size());
  }
  explicit session(const Model&&, const types::session_options& = {}) = delete; // a temporary would be gone

  // Returns the network's first output for these samples in evaluation mode: (rows, output_shape), in the session's memory and
  // valid until its next evaluation. The second overload writes it to the caller's memory.
  template <detail::step_inputs Inputs>
  tensor_view<const number> evaluate(const Inputs& inputs) {
    [[maybe_unused]] const auto turn = weights_->turn();
    const tensor_view<const number> there = weights_->evaluate_in(*context_, inputs, its_inputs);
    if constexpr (Model::is_apart) {
      context_->fetch(there.size(), here_.get(), there.data(), context_->wait());
      return {here_.get(), there.rows(), there.sample_shape()};
    } else {
      return there;
    }
  }
  template <detail::step_inputs Inputs>
  tensor_view<const number> evaluate(const Inputs& inputs, std::span<number> into) {
    [[maybe_unused]] const auto turn = weights_->turn();
    return weights_->evaluate_in(*context_, inputs, into, its_inputs);
  }

  // The number of threads inside one operation; 1 on a device that has no choice.
  std::size_t threads() const { return context_->threads(); }

private:
  static constexpr const char* its_inputs = "session::evaluate, inputs";

  const weights_type* weights_;
  std::unique_ptr<typename weights_type::context> context_;
  std::unique_ptr<number[]> here_; // outputs, where the host cannot read the device's memory
};

template <class Model>
class session<Model, false> {
  static_assert(
      detail::can_have_sessions<Model>,
      "session: expected a model<...>, found another type; a trainer evaluates in the memory of its steps, which belongs "
      "to one thread: give a session a model that took its parameters, net.copy_parameters(train)");

public:
  explicit session(const Model&, const types::session_options& = {}) {}
  void evaluate(const auto&...) {} // so that there is only one error
};

template <class Model>
session(const Model&, const types::session_options& = {}) -> session<Model>;

} // namespace cairn
