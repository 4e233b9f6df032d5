// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/shared_weights.hpp>
#include <cairn/train/weights_interface.hpp>

namespace cairn {

// Options of a model, by name: model<Net, batch<64>> net{{.seed = 7, .threads = 2}}. A model knows no ranks: where each of
// several has one, a number of threads is better given.
struct model_options {
  std::uint64_t seed = 0;  // of the initial parameters
  std::size_t threads = 0; // of an evaluation that runs alone, on a device that has a choice [one for each core]
  int ordinal = 0;         // which device, where the machine has several
};

namespace detail {

// A network as written, without ddp, policy and ways to train it, but with all of its outputs.
template <class Net, class Model = typename distribution<Net>::model, class Body = typename whole<Model>::body>
using bare_network = std::conditional_t<whole<Model>::used_outputs == all_tensors, with_all_outputs<Body>, Body>;

template <class Net, class Batch, class T>
using blueprint_of_model = blueprint_of<bare_network<Net>, Batch::size, T>;

} // namespace detail

// A network that computes: its parameters and buffers, and memory for an evaluation of at most Batch samples. There is no
// loss, no optimizer and no gradient. Net is a network, with or without a checkpoint<> or fused_update<> around it: they
// change nothing here.
//
//   model<Net, batch<64>> net;
//   net.copy_parameters(train);
//   const auto outputs = net.evaluate(images);
//
// Any number of threads may evaluate one model at the same time, and do whatever else a const model allows; the bits are those
// of one thread. Each evaluation that goes on writes to memory of its own, made when it is first needed and kept: a model has
// as many arenas as there were calls at once. An evaluation alone has all of the model's threads, and one that begins while
// others go on has one. session.hpp has the same for a thread that keeps its memory to itself.
//
// What is not const, as copy_parameters(), load_weights(), and parameters() that are written to, needs the model for itself:
// hold a std::shared_mutex where others evaluate meanwhile.
//
// On a device other than a cpu, calls at the same time take turns: its queue is for one thread, and whether a second one
// could reach the same memory is the device's secret.
template <class Net, class Batch, class T = float, class Device = cpu>
class model : public detail::weights_interface<model<Net, Batch, T, Device>, detail::blueprint_of_model<Net, Batch, T>, T, Device,
                                               false> {
  using weights_type = detail::shared_weights<detail::blueprint_of_model<Net, Batch, T>, detail::bare_network<Net>, T, Device>;

public:
  explicit model(const model_options& given = {})
      : model(detail::held_device<Device>(
                  device_options{.threads = detail::threads_for(given.threads, 1), .ordinal = given.ordinal}),
              given) {}
  // On a device that another model or a trainer uses too, on the same thread: only the calls of one model take turns. It has to
  // live longer; `threads` and `ordinal` are the device's.
  explicit model(Device& shared, const model_options& given = {}) : model(detail::held_device<Device>(shared), given) {}

  // For what reads or writes weights as a whole, as files and sessions do: its parts, which may change from version to version.
  weights_type& inside() { return weights_; }
  const weights_type& inside() const { return weights_; }

private:
  model(detail::held_device<Device> device, const model_options& given)
      : weights_(std::move(device), seed{given.seed}, given.ordinal) {}

  weights_type weights_;
};

} // namespace cairn
