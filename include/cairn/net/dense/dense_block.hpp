// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cairn/layer/dense/dense_bottleneck.hpp>
#include <cairn/layer/dense/dense_growth.hpp>
#include <cairn/net/dense/dense_policies.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/several_chains.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// A block of DenseNet-BC (Huang, Liu, van der Maaten, Weinberger: Densely connected convolutional networks, 2017), as
// torchvision's _DenseBlock. Each of the Layers layers takes all channels so far and appends Growth. Images are (height, width,
// channels). A layer is:
//
//   BatchNorm2d, ReLU, Conv2d to 4 x Growth channels (1x1) | BatchNorm2d, ReLU, Conv2d to Growth channels (3x3, padding 1)
//
// without biases. The parameters are named as there: denselayer1.norm1.weight, ...; convolutions are initialised with He's
// normal values.
//
// All channels lie in one buffer, the block's output, to which each layer writes its own, so that nothing is concatenated. The
// statistics of a channel are computed once for all norms that read it, and normalised maps are never in memory. This leaves
// the outputs to be stored and, between the halves of each layer, a bottleneck of 4 x Growth channels. Policy decides on the
// bottlenecks:
//
//   DenseBlock<16, 12>                 stores all of them
//   DenseBlock<16, 12, recompute_all>  stores none: each is recomputed by one product in the backward pass
//   DenseBlock<16, 12, store_last<5>>  stores those of the last 5 layers, whose products are the largest
//
// The results are the same, bit for bit. A policy around the block may recompute all of it.
//
// Under ddp<> each rank has the statistics of its own samples; sync_batch_norm is refused.
template <std::size_t Layers, std::size_t Growth, class Policy = store_all>
struct DenseBlock {};

} // namespace cairn

namespace cairn::detail {

struct dense_block_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>, "DenseBlock: it has at least one layer and a growth of 1 to 1024 channels, and its policy is "
                                   "store_all, recompute_all or store_last<Layers>; write DenseBlock<16, 12>; see "
                                   "wrong_dense_block<type>");
    return false;
  }
};

// A DenseBlock with invalid template arguments.
template <class Block, class Takes = void>
struct wrong_dense_block : dense_block_message {};

// sizeof...(C) chains, of which the last `Stored` store their bottlenecks.
template <class Layer, std::size_t Stored, class Indices>
struct dense_layers;
template <class Layer, std::size_t Stored, std::size_t... C>
struct dense_layers<Layer, Stored, std::index_sequence<C...>> {
  template <std::size_t I>
  struct at {
    using part = Layer;
    using policy = std::conditional_t<I + Stored >= sizeof...(C), store_all, recompute_bottleneck>;
  };
  using parts = pack<typename at<C>::part...>;
  using policies = pack<typename at<C>::policy...>;
};

template <std::size_t Layers, std::size_t Growth, class Policy>
struct made_of<DenseBlock<Layers, Growth, Policy>> {
  static constexpr part_kind as = part_kind::block;
  static constexpr std::string_view name = "DenseBlock";
  static constexpr std::string_view part_name = "denselayer";
  static constexpr std::size_t layers = Layers, growth = Growth;
  static constexpr bool is_right = layers > 0 && growth > 0 && growth <= 1024 && stored_bottlenecks<Policy> != no_bottlenecks;
  using wrong = wrong_dense_block<DenseBlock<Layers, Growth, Policy>>;
  using empty = wrong;
  template <class Takes, class...>
  using wrong_ends = wrong_dense_block<DenseBlock<Layers, Growth, Policy>, Takes>;

  // One chain for each layer, all of one type: a layer reads its number of channels from its input.
  using all = dense_layers<Sequential<dense_bottleneck<4 * Growth>, dense_growth<Growth>>, stored_bottlenecks<Policy>,
                           std::make_index_sequence<is_right ? Layers : 0>>;
  using parts = typename all::parts;
  using policies = typename all::policies;
  // Ways for a budget (net/block_ways.hpp): a third of the bottlenecks are recomputed, two thirds, or all; a policy that was
  // typed stays.
  static constexpr bool offers_ways = is_right && std::is_same_v<Policy, store_all>;
  template <std::size_t Way>
  using policies_in_way = typename dense_layers < void,
        Way<3 ? layers * (3 - Way) / 3 : 0, std::make_index_sequence<Layers>>::policies;
  template <class...>
  using with = DenseBlock<Layers, Growth>; // the policy does not change the function

  // A layer takes the channels so far, and their statistics.
  static constexpr value_list enters(const value_list& value, std::size_t chain) {
    if (value.count == 0 || !value.items[0].is_real() || value.items[0].rank() != 3) return value;
    const std::size_t channels = value.items[0].last() + chain * growth;
    return {value.items[0].with_last(channels), dense_half::statistics_of(channels)};
  }
  static constexpr void join(const value_list& value, const description*, description& out) {
    describe_one_tensor(value, value.items[0].with_last(value.items[0].last() + layers * growth), out);
  }
  static constexpr chain_ends ends(const element_facts&, const element_facts&) { return {}; }

  static constexpr stage as_stage(const chain_facts* chains) {
    const chain_facts& last = chains[layers - 1];
    const std::size_t pixels = last.output_elements / growth, channels = last.input_elements / pixels + growth;
    const std::size_t sums = room_of_sums(channels);
    stage s = sum_of_chains({chains, layers});
    s.reads_input = s.tape_without_output = false; // its layers read its output, which begins with a copy of the input
    s.reads_output = true;
    s.tape_flops = s.forward_flops;
    s.input_gradient_flops = chains[0].input_gradient_flops;
    s.tape.per_batch += sums;
    s.evaluation_workspace.per_batch += sums;
    s.backward_workspace.per_batch += 2 * sums;
    s.kept_gradient_workspace = layers > 1 ? last.input_bytes : 0;
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool) {
    const places of(chains, block);
    std::byte* const memory = tape ? block.tape : block.workspace;
    sum_of<Frame>* const statistics = reinterpret_cast<sum_of<Frame>*>(memory);
    copy_matrix(queue, of.input(block.outputs[0], of.width), of.input(block.inputs[0], of.first));
    if (block.why != pass::evaluate) channel_statistics(queue, of.input(block.inputs[0], of.first), statistics);
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const std::size_t before = of.first + c * growth;
      const dense_strides strides{.input = of.width};
      Frame inside = enter(chains[c], block, of, strides);
      if (!tape) inside.workspace += of.sums;
      const value in(block.outputs[0], statistics), out(block.outputs[0] + before, statistics + 2 * before);
      inside.inputs = in.template as<const typename Frame::element>();
      inside.outputs = out.template as<typename Frame::element>();
      forward_chain(queue, chains[c], inside, tape, true);
    }
  }

  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    using T = typename Frame::element;
    const places of(chains, block);
    auto* const statistics = reinterpret_cast<sum_of<Frame>*>(block.tape);
    auto* const all = reinterpret_cast<sum_of<Frame>*>(block.workspace); // gradients with respect to the statistics
    auto* const part = reinterpret_cast<sum_of<Frame>*>(block.workspace + of.sums);
    // Gradients of all channels: added to in place, unless they are read again after this backward.
    const bool in_place = block.may_overwrite_output_gradients;
    const std::size_t own = in_place ? of.width : of.width - growth;
    T* const gradients = in_place ? const_cast<T*>(block.output_gradients[0]) : block.in_workspace(2 * of.sums);
    const std::size_t room = in_place || chains.size() == 1 ? 0 : chains.back().input_bytes();
    for (std::size_t c = chains.size(); c-- > 0;) {
      const bool is_last = c + 1 == chains.size();
      const std::size_t before = of.first + c * growth;
      const T* const from = is_last ? block.output_gradients[0] : gradients;
      const std::size_t stride = is_last ? of.width : own;
      const dense_strides strides{
          .input = of.width, .input_gradient = c == 0 ? of.first : own, .addend = stride, .output_gradient = stride};
      Frame inside = enter(chains[c], block, of, strides);
      inside.workspace += 2 * of.sums + room;
      const value in(block.outputs[0], statistics), out(block.outputs[0] + before, statistics + 2 * before);
      inside.inputs = in.template as<const T>();
      inside.outputs = out.template as<T>();
      const value above(from + before, all + 2 * before, is_last ? 1 : 2); // the last layer's statistics are not read
      inside.output_gradients = above.template as<const T>();
      inside.gradient_addend = from;
      const value below(c == 0 ? block.input_gradients[0] : gradients, is_last ? all : part);
      inside.input_gradients = {};
      if (c > 0 || block.input_gradients) inside.input_gradients = below.template as<T>();
      backward_chain(queue, chains[c], inside);
      if (!is_last && inside.input_gradients) add(queue, 2 * before, all, all, part);
    }
    if (block.input_gradients)
      channel_statistics_backward(queue, of.input(block.input_gradients[0], of.first),
                                  of.input(static_cast<const T*>(block.input_gradients[0]), of.first),
                                  of.input(static_cast<const T*>(block.outputs[0]), of.width), statistics, all);
  }

private:
  template <class Frame>
  using sum_of = typename Frame::sum;

  // Bytes for two numbers of any type for each channel.
  static constexpr std::size_t room_of_sums(std::size_t channels) { return align_up(2 * channels * sizeof(double)); }

  // A map, or its gradient, and its statistics, which may lie anywhere in memory.
  struct value {
    const void* map;
    std::array<std::size_t, most_tensors> offsets;
    std::size_t count;

    value(const void* first, const void* sums, std::size_t there = 2)
        : map(first), offsets{0, reinterpret_cast<std::uintptr_t>(sums) - reinterpret_cast<std::uintptr_t>(first)}, count(there) {
    }
    template <class T>
    tensors<T> as() const {
      using byte = typename tensors<T>::byte;
      return {const_cast<byte*>(static_cast<const std::byte*>(map)), offsets.data(), first_tensors(count)};
    }
  };

  struct places {
    std::size_t rows = 0, first = 0, width = 0, sums = 0; // pixels, channels of the input and of the output, bytes

    template <class Chains, class Frame>
    places(const Chains& chains, const Frame& block) {
      const tensor& in = (*chains[0].code->inputs)[0];
      first = in.last();
      rows = block.rows * (in.size() / first);
      width = first + chains.size() * growth;
      sums = room_of_sums(width);
    }
    // The block's input, in rows `stride` elements apart.
    template <class T>
    matrix<T> input(T* at, std::size_t stride) const {
      return {at, rows, first, stride};
    }
  };
  template <class Chain, class Frame>
  static Frame enter(const Chain& chain, const Frame& block, const places& of, const dense_strides& strides) {
    Frame inside = chain.enter(block, of.sums);
    inside.output_stride = of.width;
    inside.dense = &strides;
    return inside;
  }
};

} // namespace cairn::detail
