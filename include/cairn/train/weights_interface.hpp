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

// The common interface of a model and a trainer. Self, which derives from it, has the weights: see weights_in().
//
// Any number of threads may call const members of a model at the same time, and one thread may call the others while there is
// no other call: hold a std::shared_mutex to change weights where others evaluate, as for a container. A trainer belongs to
// one thread: its evaluate() works in the memory of its steps, and is not const.
template <class Self, class Plan, class T, class Device, bool Trains>
class weights_interface {
public:
  using plan = Plan;
  using number = accumulated<T>; // the type of parameters, inputs and outputs
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;
  static constexpr bool is_apart = !shares_memory<Device>; // the host cannot read its numbers
  using evaluated_outputs = typename network_outputs<plan, T>::template given<owned_tensor<number>>; // what evaluate() returns

  // Returns the network's first output for these samples in evaluation mode: (rows, output_shape). With a
  // with_all_outputs<Net> the first overload returns an array of all outputs, each an owned_tensor. The second overload writes
  // the first output to the caller's memory. It allocates nothing; a model does so only when more calls run at the same time
  // than ever before.
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

  // The flat buffer of all parameters, in the order in which backward finishes their gradients; and that of the buffers. Both
  // are an error where the device's memory is not the host's: for_each() works everywhere.
  std::span<number> parameters() { return writable(weights().parameters()); }
  std::span<const number> parameters() const { return shown(weights().parameters()); }
  std::span<number> buffers() { return writable(weights().buffers()); }
  std::span<const number> buffers() const { return shown(weights().buffers()); }

  // Calls f(named_parameter<T>) with every parameter, or with every buffer, from the first layer to the last. f may change the
  // numbers. On a device whose memory is not the host's they are a copy, which is written back after the last call. A const
  // owner passes const numbers: f(named_parameter<const T>).
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

  // One parameter or buffer by its name, such as "0.weight" or "2.running_mean"; for an unknown name throws input_error with
  // all names. A number of a layer that changes during training is a buffer: train.buffer("3.temperature")[0] = 0.5.
  std::span<number> parameter(std::string_view name) { return writable(named(weights().on_host(), "parameter", name)); }
  std::span<number> buffer(std::string_view name) { return writable(named(weights().on_host(), "buffer", name)); }
  std::span<const number> parameter(std::string_view name) const {
    return shown(std::span<const number>(named(on_host(), "parameter", name)));
  }
  std::span<const number> buffer(std::string_view name) const {
    return shown(std::span<const number>(named(on_host(), "buffer", name)));
  }

  // Copies the parameters and buffers of a trainer or a model whose network computes the same function. Policy, ddp, batch,
  // loss and optimizer may differ: evaluate with another batch, go on with another policy. A network that computes something
  // else does not compile, whatever its size. The optimizer's state does not change. With ddp every rank must call it.
  //
  // The extents of Inputs may differ, as of the same layers for sequences of another length, if all parameters have equal
  // shapes; else input_error is thrown and nothing is copied. LearnedPositions takes the first rows of a longer one.
  template <class Other>
  void copy_parameters(const Other& other) {
    weights().changed();
    weights().copy_from(weights_in(other));
  }

  // A 64-bit hash of all parameters' bits: see parameters.hpp.
  std::uint64_t checksum() const { return weights().checksum(); }
  Device& device() { return weights().device(); }
  // The number of threads inside one operation; 1 on a device that has no choice.
  std::size_t threads() const { return weights().threads(); }

protected:
  // Returns numbers of the device to the program; an error if the host cannot read them.
  template <class Numbers>
  static std::span<Numbers> shown(std::span<Numbers> there) {
    static_assert(shares_memory<Device>,
                  "trainer, model: the host cannot read this device's memory, so there are no numbers to point at; use "
                  "for_each(), for_each_buffer() and the like, which bring them, or save_weights() and save_state()");
    return there;
  }

  // The same, for writing at any later time.
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
