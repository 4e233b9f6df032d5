// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensor_types.hpp>

// The joint of two layers that do not fit: the most common mistake in a network, as the diagnostic of an error.
namespace cairn::detail {

// Why a layer does not accept what arrives.
enum class refusal { unexplained, no_image, channels_first, other_channels, small_image, no_constant };

template <class L>
constexpr bool accepts_shape(const shape& extents) {
  const tensor one(extents);
  const tensor_list none{};
  const arguments in{&one, 1, none};
  if constexpr (requires { L::accepts(in); }) return L::accepts(in);
  else return true;
}

// Finds the reason by asking the layer about other shapes, so that a layer need not state it. A layer that wants images,
// (height, width, channels), refuses the channels alone, which a Linear or a LayerNorm accepts.
template <class L>
constexpr refusal why_refused(const shape& found) {
  constexpr std::size_t large = 1024, most_channels = 4096;
  const bool is_image = found.rank == 3;
  if (is_image && accepts_shape<L>({found[1], found[2], found[0]}) && !accepts_shape<L>({found[0]}))
    return refusal::channels_first;
  if (is_image && accepts_shape<L>({found[0] + large, found[1] + large, found[2]})) return refusal::small_image;
  for (std::size_t channels = 1; channels <= most_channels; ++channels)
    if (accepts_shape<L>({large, large, channels})) {
      if (accepts_shape<L>({channels})) return refusal::unexplained;
      return is_image ? refusal::other_channels : refusal::no_image;
    }
  return refusal::unexplained;
}

// Does a layer refuse because it reads a constant that the network does not have? Such a layer tells so itself, by
// lacks_constant(arguments), and has a sentence about it.
template <class L, class Arriving>
constexpr bool lacks_constant() {
  using given = value_of_type<Arriving>;
  if constexpr (requires(const arguments& in) { L::lacks_constant(in); })
    return L::lacks_constant({given::tensors.items.data(), given::tensors.count, given::constants});
  else return false;
}

struct joint_message {
  template <class Joint>
  static constexpr bool right() {
    if constexpr (Joint::why == refusal::no_constant) return Joint::consumer::template right_constants<Joint>();
    static_assert(Joint::why != refusal::no_image,
                  "Sequential: the layer at this position does not accept what the layer before it produces: it takes images, "
                  "of three extents (height, width, channels); see joint<position, producer, dims<what it produces>, consumer>");
    static_assert(Joint::why != refusal::channels_first,
                  "Sequential: the layer at this position does not accept what the layer before it produces: images are "
                  "(height, width, channels), so that PyTorch's (3, 32, 32) is Input<32, 32, 3>; see "
                  "joint<position, producer, dims<what it produces>, consumer>");
    static_assert(Joint::why != refusal::other_channels,
                  "Sequential: the layer at this position does not accept what the layer before it produces: it is for "
                  "another number of channels, the last extent of (height, width, channels); see "
                  "joint<position, producer, dims<what it produces>, consumer>");
    static_assert(Joint::why != refusal::small_image,
                  "Sequential: the layer at this position does not accept what the layer before it produces: its kernel "
                  "is larger than the image, (height, width, channels), with its padding; see "
                  "joint<position, producer, dims<what it produces>, consumer>");
    static_assert(Joint::why != refusal::unexplained,
                  "Sequential: the layer at this position does not accept what the layer before it produces; see "
                  "joint<position, producer, dims<what it produces>, consumer>");
    return false;
  }
};

// The producer before the first layer of a network.
struct network_input {};

// The joint between two stages that do not fit. Inside a block, the position counts from the start of its chain.
template <std::size_t Position, class Producer, class Produces, class Consumer>
struct joint : joint_message {
  using consumer = Consumer;
  static constexpr refusal why = [] {
    if constexpr (lacks_constant<Consumer, Produces>()) return refusal::no_constant;
    else if constexpr (requires { Produces::value.rank; }) return why_refused<Consumer>(Produces::value);
    else return refusal::unexplained; // of several tensors
  }();
};

} // namespace cairn::detail
