// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/device.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/weights_on_host.hpp>

namespace cairn::detail {

// What a model and a trainer offer alike.
template <class Plan, class Net, class T, class Device, bool Trains>
class replica_owner {
public:
  using plan = Plan;
  using number = accumulated<T>; // the type of what is learnt, of inputs and of outputs
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;
  static constexpr bool is_apart = !shares_memory<Device>; // the host cannot read its numbers

  // The network's first output for these samples in evaluation mode: (rows, output_shape). The second writes it to memory of
  // the caller's, and allocates nothing.
  template <step_inputs Inputs>
  owned_tensor<number> evaluate(const Inputs& inputs) {
    return replica_.evaluate_apart(inputs, its_inputs, plain_wait<Device>{device()});
  }
  template <step_inputs Inputs>
  tensor_view<const number> evaluate(const Inputs& inputs, std::span<number> into) {
    return replica_.evaluate_into(inputs, into, its_inputs, plain_wait<Device>{device()});
  }

  // The flat buffer of all parameters, in the order in which backward finishes their gradients; and that of the buffers. Where
  // the device's memory is not the host's there is nothing to point at: for_each() works everywhere.
  std::span<number> parameters() { return shown(replica_.parameters()); }
  std::span<const number> parameters() const { return shown(replica_.parameters()); }
  std::span<number> buffers() { return shown(replica_.buffers()); }
  std::span<const number> buffers() const { return shown(replica_.buffers()); }

  // Every parameter by its name, from the first layer to the last: f(named_parameter<T>), which may change its numbers; and every
  // buffer. On a device whose memory is not the host's they are a copy, which is brought over when all were shown.
  template <class F>
  void for_each(F&& f) {
    auto all = on_host();
    all.for_each_parameter(std::forward<F>(f));
    all.give_back();
  }
  template <class F>
  void for_each_buffer(F&& f) {
    auto all = on_host();
    all.for_each_buffer(std::forward<F>(f));
    all.give_back();
  }

  // One of them by its name, as "0.weight" or "2.running_mean"; throws input_error with the names that there are. A layer's
  // number that changes while it trains is a buffer: train.buffer("3.temperature")[0] = 0.5.
  std::span<number> parameter(std::string_view name) {
    return shown(named("parameter", name, [this](auto&& f) { this->for_each(f); }));
  }
  std::span<number> buffer(std::string_view name) {
    return shown(named("buffer", name, [this](auto&& f) { this->for_each_buffer(f); }));
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

  replica_owner(held_device<Device> device, seed s, std::size_t arena_bytes, std::size_t more = 0)
      : replica_(std::move(device), s, arena_bytes, more) {}

  // Numbers of the device as the program may use them.
  template <class Numbers>
  static std::span<Numbers> shown(std::span<Numbers> there) {
    static_assert(shares_memory<Device>,
                  "trainer, model: the host cannot read this device's memory, so there are no numbers to point at; use "
                  "for_each(), for_each_buffer() and the like, which bring them, or save_weights() and save_state()");
    return there;
  }

  using replica_type = replica_of<Plan, Net, T, Device, Trains>;
  replica_type replica_;

  weights_on_host<T, Device> on_host() { return {replica_.code(), device(), replica_.parameters(), replica_.buffers()}; }

private:
  template <class ForEach>
  static std::span<number> named(const char* what, std::string_view name, ForEach&& for_each) {
    std::span<number> found;
    bool there = false;
    std::string names;
    for_each([&](const named_parameter<number>& q) {
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
