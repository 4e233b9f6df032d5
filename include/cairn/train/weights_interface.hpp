// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/device.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/network_outputs.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/weights_on_host.hpp>

namespace cairn::detail {

// What a model and a trainer offer alike. Self, which derives from it, has the weights: see weights_in().
//
// Of a model, const members may be called by any number of threads at the same time, and the others by one thread while there
// is no other call: who changes weights while others evaluate holds a std::shared_mutex, as for a container. A trainer belongs
// to one thread: evaluate() works in the memory of its steps, and is not const.
template <class Self, class Plan, class T, class Device, bool Trains>
class weights_interface {
public:
  using plan = Plan;
  using number = accumulated<T>; // the type of what is learnt, of inputs and of outputs
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;
  static constexpr bool is_apart = !shares_memory<Device>; // the host cannot read its numbers
  using evaluated_outputs = typename network_outputs<plan, T>::template given<owned_tensor<number>>; // what evaluate() gives

  // The network's first output for these samples in evaluation mode: (rows, output_shape). The second writes it to memory of
  // the caller's, and allocates nothing; of a model, nothing once there have been as many calls at the same time. Of a
  // with_all_outputs<Net> the first gives an array of all outputs, each an owned_tensor.
  template <step_inputs Inputs>
  evaluated_outputs evaluate(const Inputs& inputs)
    requires Trains
  {
    return weights().evaluate(inputs, its_inputs);
  }
  template <step_inputs Inputs>
  tensor_view<const number> evaluate(const Inputs& inputs, std::span<number> into)
    requires Trains
  {
    return weights().evaluate(inputs, into, its_inputs);
  }
  template <step_inputs Inputs>
  evaluated_outputs evaluate(const Inputs& inputs) const
    requires(!Trains)
  {
    return weights().evaluate(inputs, its_inputs);
  }
  template <step_inputs Inputs>
  tensor_view<const number> evaluate(const Inputs& inputs, std::span<number> into) const
    requires(!Trains)
  {
    return weights().evaluate(inputs, into, its_inputs);
  }

  // The flat buffer of all parameters, in the order in which backward finishes their gradients; and that of the buffers. Where
  // the device's memory is not the host's there is nothing to point at: for_each() works everywhere.
  std::span<number> parameters() { return writable(weights().parameters()); }
  std::span<const number> parameters() const { return shown(weights().parameters()); }
  std::span<number> buffers() { return writable(weights().buffers()); }
  std::span<const number> buffers() const { return shown(weights().buffers()); }

  // Every parameter by its name, from the first layer to the last: f(named_parameter<T>), which may change its numbers; and every
  // buffer. On a device whose memory is not the host's they are a copy, which is brought over when all were shown.
  // Of a const owner they are const: f(named_parameter<const T>).
  template <class F>
  void for_each(F&& f) {
    auto all = on_host();
    weights().opened();
    all.for_each_parameter(std::forward<F>(f));
    all.give_back();
  }
  template <class F>
  void for_each_buffer(F&& f) {
    auto all = on_host();
    weights().opened();
    all.for_each_buffer(std::forward<F>(f));
    all.give_back();
  }
  template <class F>
  void for_each(F&& f) const {
    on_host().for_each_parameter([&f](const named_parameter<number>& q) { f(detail::read_only(q)); });
  }
  template <class F>
  void for_each_buffer(F&& f) const {
    on_host().for_each_buffer([&f](const named_parameter<number>& q) { f(detail::read_only(q)); });
  }

  // One of them by its name, as "0.weight" or "2.running_mean"; throws input_error with the names that there are. A layer's
  // number that changes while it trains is a buffer: train.buffer("3.temperature")[0] = 0.5.
  std::span<number> parameter(std::string_view name) { return writable(named(weights().on_host(), "parameter", name)); }
  std::span<number> buffer(std::string_view name) { return writable(named(weights().on_host(), "buffer", name)); }
  std::span<const number> parameter(std::string_view name) const {
    return shown(std::span<const number>(named(on_host(), "parameter", name)));
  }
  std::span<const number> buffer(std::string_view name) const {
    return shown(std::span<const number>(named(on_host(), "buffer", name)));
  }

  // Takes the parameters and buffers of a trainer or a model whose network computes the same function. Policy, ddp, batch,
  // loss and optimizer may be others: evaluate at another batch, go on under another policy. What computes something else
  // does not compile, whatever its size. An optimizer's state stays; with ddp every rank does it.
  template <class Other>
  void copy_parameters(const Other& other) {
    weights().changed();
    weights().copy_from(weights_in(other));
  }

  // A 64-bit number of all parameters' bits: see checksum().
  std::uint64_t checksum() const { return weights().checksum(); }
  Device& device() { return weights().device(); }
  // How many threads work inside one operation; 1 on a device that has no choice.
  std::size_t threads() const { return weights().threads(); }

protected:
  // Numbers of the device as the program may use them.
  template <class Numbers>
  static std::span<Numbers> shown(std::span<Numbers> there) {
    static_assert(shares_memory<Device>,
                  "trainer, model: the host cannot read this device's memory, so there are no numbers to point at; use "
                  "for_each(), for_each_buffer() and the like, which bring them, or save_weights() and save_state()");
    return there;
  }

  // The same for as long as the program likes.
  std::span<number> writable(std::span<number> there) {
    weights().opened();
    return shown(there);
  }

private:
  auto& weights() { return weights_in(static_cast<Self&>(*this)); }
  const auto& weights() const { return weights_in(static_cast<const Self&>(*this)); }
  weights_on_host<T, Device> on_host() { return detail::on_host(static_cast<Self&>(*this)); }
  weights_on_host<T, Device> on_host() const { return weights().on_host(); }

  static std::span<number> named(weights_on_host<T, Device> all, const char* what, std::string_view name) {
    std::span<number> found;
    bool there = false;
    std::string names;
    const auto look = [&](const named_parameter<number>& q) {
      if (q.name == name) found = q.numbers, there = true;
      names += (names.empty() ? "" : ", ") + q.name;
    };
    if (std::string_view(what) == "buffer") all.for_each_buffer(look);
    else all.for_each_parameter(look);
    if (!there)
      throw input_error(std::string(Trains ? "trainer" : "model") + ": expected the name of a " + what + ", found \"" +
                        std::string(name) + "\"; there " + (names.empty() ? "are none" : "are " + names));
    return found;
  }

  static constexpr const char* its_inputs = Trains ? "trainer::evaluate, inputs" : "model::evaluate, inputs";
};

} // namespace cairn::detail
