// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/replica_owner.hpp>

namespace cairn {

// Options of a model, by name: model<Net, batch<64>> net{{.seed = 7, .threads = 2}}. A model knows no ranks: where each of
// several has one, a number of threads is better given.
struct model_options {
  std::uint64_t seed = 0;  // of the initial parameters
  std::size_t threads = 0; // inside one operation, on a device that has a choice [one for each core]
  int ordinal = 0;         // which device, where the machine has several
};

namespace detail {

// A network as written, without ddp, policy and fused update.
template <class Net>
using bare_network = typename whole<typename without_ways<typename replica<Net>::model>::type>::body;

template <class Net, class Batch, class T, class Device>
using evaluated_replica = replica_owner<blueprint_of<bare_network<Net>, Batch::size, T>, bare_network<Net>, T, Device, false>;

} // namespace detail

// A network that computes: its parameters and buffers, and memory for an evaluation of at most Batch samples. There is no
// loss, no optimizer and no gradient. Net is a network, with or without a checkpoint<> or fused_update<> around it: they
// change nothing here.
//
//   model<Net, batch<64>> net;
//   net.copy_parameters(train);
//   const auto outputs = net.evaluate(images);
template <class Net, class Batch, class T = float, class Device = cpu>
class model : public detail::evaluated_replica<Net, Batch, T, Device> {
public:
  explicit model(const model_options& given = {})
      : model(detail::held_device<Device>(
                  device_options{.threads = detail::threads_for(given.threads, 1), .ordinal = given.ordinal}),
              given) {}
  // On a device that another model or a trainer uses too; it has to live longer. `threads` and `ordinal` are the device's.
  explicit model(Device& shared, const model_options& given = {}) : model(detail::held_device<Device>(shared), given) {}

private:
  model(detail::held_device<Device> device, const model_options& given)
      : detail::evaluated_replica<Net, Batch, T, Device>(std::move(device), seed{given.seed}, 0) {}
};

} // namespace cairn
