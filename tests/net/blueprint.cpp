// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

template <std::size_t N, std::size_t Hidden>
using FFNet = Sequential<Linear<100, Hidden>, ReLU, Repeat<N, Sequential<Linear<Hidden, Hidden>, ReLU>>,
                         Linear<Hidden, 1>>;
using Small = Sequential<Linear<100, 10>, ReLU, Linear<10, 1>>;

// A hidden value of 4 samples is 4 x 16 floats.
constexpr std::size_t value = 4 * 16 * sizeof(float);
using Wide = Linear<16, 16>;
using Two = Sequential<Wide, ReLU, Wide>;
using Eight =
    Sequential<Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide>;

} // namespace

TEST_CASE("blueprint: the number of parameters") {
  static_assert(blueprint_of<Small, 8>::parameters == 1'021);
  static_assert(blueprint_of<FFNet<3, 100>, 8>::parameters == 40'501);
  static_assert(blueprint_of<checkpoint<sqrt_n, FFNet<3, 100>>, 8, double>::parameters == 40'501);
}

TEST_CASE("blueprint: the peak of a small network, computed by hand") {
  // The ReLU lies on the first product. At the peak the second Linear's backward has its input, the gradient of its output
  // (where the output was) and the gradient of its input.
  static_assert(peak_activation_bytes<Two, 4> == 3 * value);
  // Without a second Linear only the output lives, and its gradient lies on it.
  static_assert(peak_activation_bytes<Sequential<Wide>, 4> == value);
  // Dropout reads nothing and lies on what it is made from.
  static_assert(peak_activation_bytes<Sequential<Wide, ReLU, Dropout<>, Wide>, 4> == 4 * value);
  // Seven hidden values; at the last Linear two gradients beside them.
  static_assert(peak_activation_bytes<Eight, 4> == 9 * value);
  // Rows are rounded up to whole lines of 64 bytes: 3 x 5 floats are 60 bytes.
  static_assert(peak_activation_bytes<Sequential<Linear<5, 5>>, 3> == 64);
  static_assert(peak_activation_bytes<Sequential<Linear<5, 5>>, 3, double> == 128);
}

TEST_CASE("blueprint: a policy costs what it says") {
  // Nothing but the input is stored: the value that a backward reads, the one it is made from, or two gradients.
  static_assert(peak_activation_bytes<checkpoint<recompute_all, Eight>, 4> == 3 * value);
  static_assert(peak_activation_bytes<checkpoint<sqrt_n, Eight>, 4> < 7 * value);
  static_assert(peak_activation_bytes<checkpoint<every<1>, Eight>, 4> == 9 * value);
}

TEST_CASE("blueprint: evaluation needs two activations, however long the network is") {
  static_assert(blueprint_of<Two, 4>::evaluated::memory.arena == 2 * value);
  static_assert(blueprint_of<Eight, 4>::evaluated::memory.arena == 2 * value);
  static_assert(blueprint_of<checkpoint<sqrt_n, Eight>, 4>::evaluated::memory.arena == 2 * value);
}

TEST_CASE("blueprint: parameters lie in the order in which backward finishes them") {
  using b = blueprint_of<
      Sequential<Linear<4, 20>, ReLU, Residual<LayerNorm<20>, Linear<20, 20, false>>, Linear<20, 3>>, 2>;
  // 60 + 3 floats are 64 + 16 with the padding; 400 and 20 + 20 inside the block; 80 + 20.
  static_assert(b::parameter_begin ==
                std::array<std::size_t, 5>{80 + 400 + 64, 80 + 400 + 64, 80, 0, 80 + 400 + 64 + 80 + 32});
  static_assert(b::inner<2>::parameter_begin == std::array<std::size_t, 3>{400, 0, 464});
  static_assert(b::tensors == 7);
  constexpr auto ends = [] {
    std::array<gradient_end, b::tensors> list{};
    std::size_t leaf = 0;
    b::write_ends(list.data(), 0, leaf);
    return list;
  }();
  constexpr std::array<std::size_t, 7> expected{64, 80, 480, 512, 544, 624, 656};
  constexpr std::array<std::size_t, 7> leaves{0, 0, 1, 2, 2, 4, 4};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CHECK(ends[i].end == expected[i]);
    CHECK(ends[i].leaf == leaves[i]);
  }
}

TEST_CASE("blueprint: two chains have the same numbers only if they are the same") {
  using base = blueprint_of<FFNet<2, 16>, 8>;
  static_assert(base::network_hash == blueprint_of<FFNet<2, 16>, 8>::network_hash);
  // Not of the network: the policy around it and the batch.
  static_assert(base::network_hash == blueprint_of<checkpoint<sqrt_n, FFNet<2, 16>>, 8>::network_hash);
  static_assert(base::network_hash == blueprint_of<FFNet<2, 16>, 9>::network_hash);
  static_assert(base::schedule_hash !=
                blueprint_of<checkpoint<recompute_all, FFNet<2, 16>>, 8>::schedule_hash);
  // Of the network: depth, width, kinds, blocks.
  static_assert(base::network_hash != blueprint_of<FFNet<3, 16>, 8>::network_hash);
  static_assert(base::network_hash != blueprint_of<FFNet<2, 17>, 8>::network_hash);
  static_assert(blueprint_of<Sequential<Wide, ReLU>, 8>::network_hash !=
                blueprint_of<Sequential<Wide, Dropout<>>, 8>::network_hash);
  static_assert(blueprint_of<Sequential<Wide, ReLU>, 8>::network_hash !=
                blueprint_of<Sequential<Residual<Wide, ReLU>>, 8>::network_hash);
  // Of a block inside: its layers and its policy.
  using block = blueprint_of<Sequential<checkpoint<store_all, Sequential<Wide, ReLU, Wide>>>, 8>;
  using other = blueprint_of<Sequential<checkpoint<recompute_all, Sequential<Wide, ReLU, Wide>>>, 8>;
  static_assert(block::network_hash == other::network_hash);
  static_assert(block::schedule_hash != other::schedule_hash);
  static_assert(
      block::network_hash !=
      blueprint_of<Sequential<checkpoint<store_all, Sequential<Wide, Wide, Wide>>>, 8>::network_hash);
}
