// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>

namespace cairn {

// Options of a model, by name: model<Net, batch<64>> net{{.seed = 7, .threads = 2}}.
struct model_options {
  std::uint64_t seed = 0; // of the initial parameters
  std::size_t threads = 1; // inside one operation, on a device that has a choice
};

// A network that computes: its parameters and buffers, and memory for an evaluation of at most Batch samples. There is no
// loss, no optimizer and no gradient. Net is a network, with or without a checkpoint<> or fused_update<> around it: they
// change nothing here.
//
//   model<Net, batch<64>> net;
//   net.copy_parameters(train);
//   const auto outputs = net.evaluate(images);
template <class Net, class Batch, class T = float, class Device = cpu>
class model {
  using network = typename detail::whole<typename detail::without_fusion<typename detail::replica<Net>::model>::type>::body;
  using replica = detail::replica_of<blueprint_of<network, Batch::size, T>, network, T, Device, false>;

public:
  using plan = typename replica::plan;
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;

  explicit model(const model_options& given = {})
      : replica_(typename Device::options{given.threads}, seed{given.seed}, 0) {}

  // The network's first output for these samples in evaluation mode: (rows, output_shape), valid until the next call.
  template <step_inputs Inputs>
  tensor_view<const T> evaluate(const Inputs& inputs) {
    return replica_.evaluate(inputs, "model::evaluate, inputs");
  }

  // The flat buffer of all parameters, in the order in which backward finishes their gradients; and that of the buffers.
  std::span<T> parameters() { return replica_.parameters(); }
  std::span<const T> parameters() const { return replica_.parameters(); }
  std::span<T> buffers() { return replica_.buffers(); }
  std::span<const T> buffers() const { return replica_.buffers(); }

  // Every parameter by its name, from the first layer to the last: f(named_parameter<T>); and every buffer.
  template <class F>
  void for_each(F&& f) {
    detail::for_each_parameter(replica_.code(), parameters(), buffers(), std::forward<F>(f));
  }
  template <class F>
  void for_each_buffer(F&& f) {
    detail::for_each_buffer(replica_.code(), parameters(), buffers(), std::forward<F>(f));
  }

  // Takes the parameters and buffers of a trainer or a model whose network computes the same function. Policy, ddp, batch,
  // loss and optimizer may be others. What computes something else does not compile.
  template <class Other>
  void copy_parameters(const Other& other) {
    replica_.copy_from(detail::replica_access::of(other));
  }

  // A 64-bit number of all parameters' bits: see checksum().
  std::uint64_t checksum() const { return replica_.checksum(); }
  Device& device() { return replica_.device(); }

private:
  friend struct detail::replica_access;

  replica replica_;
};

} // namespace cairn
