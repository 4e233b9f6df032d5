// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/tensor.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/made_of.hpp>

namespace cairn {

// The same function as Model, for a network whose last value has several tensors: all of them are outputs, not the first alone.
// multi::losses<...> is a loss for each, trainer::step_by() computes one from all, and evaluate() returns an array of them. So
// one body can have several heads (multi::Heads), each with a loss of its own.
//
// It wraps a whole network, as in trainer<with_all_outputs<Net>, ...>, model<with_all_outputs<Net>, batch<64>> or
// ddp<with_all_outputs<Net>, Communicator>. It goes around a checkpoint of all of it, and on either side of a fused_update or
// with_input_gradient. Every tensor of the last value must be real and have a gradient, one for each sample.
template <class Model>
struct with_all_outputs {};

} // namespace cairn

namespace cairn::detail {

template <class Model>
struct made_of<with_all_outputs<Model>> : way_to_train<with_all_outputs, Model> {};

template <class Model>
struct whole<with_all_outputs<Model>> : whole<Model> {
  static constexpr tensor_set used_outputs = all_tensors;
};
template <class Model>
struct without_ways<with_all_outputs<Model>> : without_ways<Model> {};
template <class Model, class Body, tensor_set Used>
struct network_diagnostic<with_all_outputs<Model>, Body, Used> : network_diagnostic<Model, Body, Used> {};

} // namespace cairn::detail
