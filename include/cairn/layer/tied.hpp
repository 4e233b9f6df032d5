// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/layer/layer.hpp>

namespace cairn {

// Computes what Layer computes, with the first parameter of the Owner in place of its own. The Owner occurs once in the
// network's Sequential, before this layer. As torch's `decoder.weight = encoder.weight` (Press and Wolf: Using the output
// embedding to improve language models, 2017):
//
//   Sequential<Inputs<integers<32>>, Embedding<1000, 64>, ..., Tied<Linear<64, 1000>, Embedding<1000, 64>>>
//
// Both have the same shape here, (1000, 64). The parameter is in memory once and has the Owner's name and initial values. Its
// gradient is the sum of both, computed before its bucket leaves; until then this layer's share is in memory of its own, as
// large as the parameter. Other parameters of Layer, such as its bias, are its own.
template <class Layer, class Owner>
struct Tied : Layer {
  using tied_to = Owner;
  static constexpr bool skips_gradients = false;

  static_assert(
      [] {
        const tensor_list none{};
        const arguments nothing{nullptr, 0, none};
        const tensor_list own = Layer::parameters(nothing);
        const tensor_list others = Owner::parameters(nothing);
        return own.count > 0 && others.count > 0 && own[0].extents == others[0].extents;
      }(),
      "Tied: the first parameters of the layer and of its owner have different shapes; write Tied<Linear<64, 1000>, "
      "Embedding<1000, 64>>, whose weights are (1000, 64)");

  static constexpr tensor_list parameters(const arguments& in) {
    const tensor_list all = Layer::parameters(in);
    tensor_list own{};
    for (std::size_t k = 1; k < all.count; ++k) own.push_back(all[k]);
    return own;
  }

  template <class Queue, class T>
    requires requires(Queue& queue, const forward_call<T>& whole) { Layer::forward(queue, whole); }
  static void forward(Queue& queue, const forward_call<T>& call) {
    const offsets at = beside(call.tied, call.parameters);
    forward_call<T> whole = call;
    whole.parameters = {reinterpret_cast<const std::byte*>(call.tied), at.data()};
    Layer::forward(queue, whole);
  }

  template <class Queue, class T>
    requires requires(Queue& queue, const backward_call<T>& whole) { Layer::backward(queue, whole); }
  static void backward(Queue& queue, const backward_call<T>& call) {
    const offsets parameters_at = beside(call.tied, call.parameters);
    const offsets gradients_at = beside(call.tied_gradient, call.gradients);
    backward_call<T> whole = call;
    whole.parameters = {reinterpret_cast<const std::byte*>(call.tied), parameters_at.data()};
    whole.gradients = {reinterpret_cast<std::byte*>(call.tied_gradient), gradients_at.data()};
    Layer::backward(queue, whole);
  }

private:
  using offsets = std::array<std::size_t, tensor_list::most + 1>;
  // The offsets of the layer's own tensors from the parameter that is the owner's.
  template <class T, class Own>
  static offsets beside(const T* tied, const Own& own) {
    offsets at{};
    for (std::size_t k = 0; own.block != nullptr && k < tensor_list::most; ++k)
      at[k + 1] = reinterpret_cast<std::uintptr_t>(own.block) + own.offsets[k] - reinterpret_cast<std::uintptr_t>(tied);
    return at;
  }
};

} // namespace cairn
