// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>

namespace cairn::detail {

// What a model and a trainer offer alike.
template <class Plan, class Net, class T, class Device, bool Trains>
class replica_owner {
public:
  using plan = Plan;
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;

  // The network's first output for these samples in evaluation mode: (rows, output_shape). The second writes it to memory of
  // the caller's, and allocates nothing.
  template <step_inputs Inputs>
  owned_tensor<T> evaluate(const Inputs& inputs) {
    return replica_.evaluate_apart(inputs, its_inputs);
  }
  template <step_inputs Inputs>
  tensor_view<const T> evaluate(const Inputs& inputs, std::span<T> into) {
    return replica_.evaluate_into(inputs, into, its_inputs);
  }

  // The flat buffer of all parameters, in the order in which backward finishes their gradients; and that of the buffers.
  std::span<T> parameters() { return replica_.parameters(); }
  std::span<const T> parameters() const { return replica_.parameters(); }
  std::span<T> buffers() { return replica_.buffers(); }
  std::span<const T> buffers() const { return replica_.buffers(); }

  // Every parameter by its name, from the first layer to the last: f(named_parameter<T>); and every buffer.
  template <class F>
  void for_each(F&& f) {
    for_each_parameter(replica_.code(), parameters(), buffers(), std::forward<F>(f));
  }
  template <class F>
  void for_each_buffer(F&& f) {
    detail::for_each_buffer(replica_.code(), parameters(), buffers(), std::forward<F>(f));
  }

  // One of them by its name, as "0.weight" or "2.running_mean"; throws input_error with the names that there are. A layer's
  // number that changes while it trains is a buffer: train.buffer("3.temperature")[0] = 0.5.
  std::span<T> parameter(std::string_view name) {
    return named("parameter", name, [this](auto&& f) { this->for_each(f); });
  }
  std::span<T> buffer(std::string_view name) {
    return named("buffer", name, [this](auto&& f) { this->for_each_buffer(f); });
  }

  // Takes the parameters and buffers of a trainer or a model whose network computes the same function. Policy, ddp, batch,
  // loss and optimizer may be others: evaluate at another batch, go on under another policy. What computes something else
  // does not compile, whatever its size. An optimizer's state stays; with ddp every rank does it.
  template <class Other>
  void copy_parameters(const Other& other) {
    replica_.copy_from(replica_access::of(other));
  }

  // A 64-bit number of all parameters' bits: see checksum().
  std::uint64_t checksum() const { return replica_.checksum(); }
  Device& device() { return replica_.device(); }
  // How many threads work inside one operation; 1 on a device that has no choice.
  std::size_t threads() { return replica_.threads(); }

protected:
  friend struct replica_access;

  replica_owner(typename Device::options options, seed s, std::size_t arena_bytes) : replica_(options, s, arena_bytes) {}

  replica_of<Plan, Net, T, Device, Trains> replica_;

private:
  template <class ForEach>
  static std::span<T> named(const char* what, std::string_view name, ForEach&& for_each) {
    std::span<T> found;
    bool there = false;
    std::string names;
    for_each([&](const named_parameter<T>& q) {
      if (q.name == name) found = q.numbers, there = true;
      names += (names.empty() ? "" : ", ") + q.name;
    });
    if (!there)
      throw input_error(std::string(Trains ? "trainer" : "model") + ": expected the name of a " + what + ", found \"" +
                        std::string(name) + "\"; there " + (names.empty() ? "are none" : "are " + names));
    return found;
  }

  static constexpr const char* its_inputs = Trains ? "trainer::evaluate, inputs" : "model::evaluate, inputs";
};

} // namespace cairn::detail
