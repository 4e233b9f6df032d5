// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/packed_weights.hpp>
#include <cairn/train/shared_weights.hpp>
#include <cairn/train/weights_interface.hpp>

namespace cairn::types {

// Options of a model, by name: model<Net, batch<64>> net{{.seed = 7, .threads = 2}}. A model does not know about ranks: if
// each of several ranks has a model, it is better to set the number of threads.
struct model_options {
  std::uint64_t seed = 0;    // of the initial parameters
  std::size_t threads = 0;   // of an evaluation that runs alone, on a device that has a choice [one for each core]
  int ordinal = 0;           // which device, where the machine has several
  bool packs_weights = true; // for quick answers to few samples, in as many bytes again as the parameters have
  // The numbers in which the weights of Linear and of attention are packed, for a model of float on a cpu; see inference.md.
  ops::weight_format weights = ops::weight_format::own;
};

} // namespace cairn::types

namespace cairn::detail {

// The network alone: without ddp, policy and the ways to train it, but with all outputs if it is a with_all_outputs.
template <class Net, class Model = typename distribution<Net>::model, class Body = typename whole<Model>::body>
using bare_network = std::conditional_t<whole<Model>::used_outputs == all_tensors, with_all_outputs<Body>, Body>;

template <class Net, class Batch, class T>
using blueprint_of_model = blueprint_of<bare_network<Net>, Batch::size, T>;

} // namespace cairn::detail

namespace cairn {

// A network for evaluation: its parameters and buffers, and memory for an evaluation of at most Batch samples. It has no loss,
// optimizer or gradients. Net is a network, with or without a checkpoint<> or fused_update<> around it, which change nothing.
//
//   model<Net, batch<64>> net;
//   net.copy_parameters(train);
//   const auto outputs = net.evaluate(images);
//
// Any number of threads may evaluate one model at the same time, and use all other const members. The results are the same as
// with one thread, bit for bit. Each concurrent evaluation writes to memory of its own, made when it is first needed and kept:
// a model has as many arenas as there were calls at once. An evaluation that begins alone has all of the model's threads, and
// one that begins while others run has one thread. session.hpp has the same for a thread that keeps its memory to itself.
//
// Everything that is not const, such as copy_parameters(), load_weights() and writes to parameters(), needs the model for
// itself: hold a std::shared_mutex where others evaluate meanwhile.
//
// With float or double on a cpu, a model keeps the weights of its products and convolutions packed as well, in the order in which
// the kernels of the machine read them. They are packed by the first evaluation of few samples after the weights have changed. A
// program that has asked for a span that it can write to may write at any time: from then on the weights are read as they are,
// more slowly.
//
// On a device other than a cpu, concurrent calls take turns: its queue is for one thread, and the device does not say whether
// a second queue could access the same memory.
template <class Net, class Batch, class T = float, class Device = cpu>
class model : public detail::weights_interface<model<Net, Batch, T, Device>, detail::blueprint_of_model<Net, Batch, T>, T, Device,
                                               false> {
  using weights_type = detail::shared_weights<detail::blueprint_of_model<Net, Batch, T>, detail::bare_network<Net>, T, Device>;

public:
  explicit model(const types::model_options& given = {})
      : model(detail::held_device<Device>(
                  types::device_options{.threads = detail::threads_for(given.threads, 1), .ordinal = given.ordinal}),
              given) {}
  // Uses a device that another model or a trainer uses too. All of them must be used by the same thread, because only the
  // calls of one model take turns. The device must outlive the model; `threads` and `ordinal` are those of the device.
  explicit model(Device& shared, const types::model_options& given = {}) : model(detail::held_device<Device>(shared), given) {}

  // The bytes of the device's memory that this model has allocated: parameters and buffers, the packed weights or a working copy
  // of 16 bits, and an arena for each evaluation that has been at work at once. Sessions have arenas of their own, and kernels'
  // scratch memory belongs to the device.
  std::size_t device_bytes() const { return weights_.device_bytes(); }

  // The parts of the model, for code that reads or writes weights as a whole, such as files and sessions. They may change from
  // version to version.
  weights_type& inside() { return weights_; }
  const weights_type& inside() const { return weights_; }

private:
  model(detail::held_device<Device> device, const types::model_options& given)
      : weights_(std::move(device), seed{given.seed}, given.ordinal, checked(given)) {}

  static detail::packing checked(const types::model_options& given) {
    const bool is_own = given.weights == ops::weight_format::own;
    if (!is_own && !(std::is_same_v<T, float> && std::is_same_v<Device, cpu>))
      throw input_error(
          "model: expected weights of the network's own type, which only a model of float on a cpu may have otherwise, "
          "found .weights of bfloat16 or int8");
    if (!is_own && !given.packs_weights)
      throw input_error(
          "model: expected .packs_weights with .weights of bfloat16 or int8, which are packed, found that it is false");
    return {given.packs_weights, given.weights};
  }

  weights_type weights_;
};

} // namespace cairn
