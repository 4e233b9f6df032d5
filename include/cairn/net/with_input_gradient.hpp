// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/tensor.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/made_of.hpp>

namespace cairn {

// The same function as Model and the same training, bit for bit. Backward also computes the gradient of the loss with respect
// to the network's inputs, which the trainer returns: train.input_gradient(). It does what requires_grad does for an input in
// torch: adversarial examples, a generator that learns from its discriminator, one network before another.
//
// It wraps a whole network, as in trainer<with_input_gradient<Net>, ...> or ddp<with_input_gradient<Net>, Communicator>. It
// goes around a checkpoint of all of it, and on either side of a fused_update. It costs the input gradients of the first
// layers, down to the input even below the first parameter, and memory for one batch of inputs beside the arena. For a
// frozen<Net> they are all that backward computes.
template <class Model>
struct with_input_gradient {};

} // namespace cairn

namespace cairn::detail {

template <class Model>
struct made_of<with_input_gradient<Model>> : way_to_train<with_input_gradient, Model> {};

template <class Model>
struct whole<with_input_gradient<Model>> : whole<Model> {
  static constexpr bool gives_input_gradient = true;
};
template <class Model>
struct without_ways<with_input_gradient<Model>> : without_ways<Model> {};
template <class Model, class Body, tensor_set Used>
struct network_diagnostic<with_input_gradient<Model>, Body, Used> : network_diagnostic<Model, Body, Used> {};

} // namespace cairn::detail
