// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/bundle_facts.hpp>
#include <doctest/doctest.h>

#include "../layer/bundle_layers.hpp"

using namespace cairn;
using testing::First;
using testing::Gated;
using testing::Mix;
using testing::Split;

namespace {

using Wide = Linear<16, 16>;
constexpr std::size_t value = 4 * 16 * sizeof(float); // of 4 samples

// The same function, but it says that it depends on both tensors.
struct SaysBoth : First {
  static constexpr bool depends(std::size_t, std::size_t) { return true; }
};

} // namespace

TEST_CASE("bundle_facts: a stage's output has all tensors, also those that went past") {
  using b =
      blueprint_of<Sequential<Wide, Split, Linear<16, 8>, Residual<Linear<8, 8>, ReLU>, Linear<8, 16>, Gated>,
                   4>;
  static_assert(b::several && b::stages[1].output.per_sample == 128 && b::stages[2].output.per_sample == 96);
  static_assert(b::stages[3].output.per_sample == 96 && b::stages[3].in_place_backward);
  static_assert(b::whole.value_bytes(3) == value + value / 2);
  // An ordinary network knows nothing of this, and a block of single tensors in a network of several neither.
  static_assert(!blueprint_of<Sequential<Wide, Residual<Wide>>, 4>::several);
  static_assert(!b::inner<3>::several && b::inner<3>::values.empty());
}

TEST_CASE("bundle_facts: the gradient of an output that nobody uses has no bytes") {
  using dropped = blueprint_of<Sequential<Wide, Split, Wide, Wide, First, Wide>, 4>;
  using used = blueprint_of<Sequential<Wide, Split, Wide, Wide, SaysBoth, Wide>, 4>;
  static_assert(dropped::whole.value_bytes(2) == 2 * value && dropped::whole.gradient_bytes(2) == value);
  static_assert(used::whole.gradient_bytes(2) == 2 * value);
  // Three values stay, two of them of two tensors. The most there is at once: the forward that makes the last value but
  // one, beside the two tensors that it is made from; or, if the second has a gradient, the backward of the last Linear
  // but one, with a gradient of two tensors on either side.
  static_assert(dropped::trained::memory.arena == 5 * value + 2 * value + value);
  static_assert(used::trained::memory.arena == 5 * value + 4 * value);
  CHECK(dropped::trained::memory.bound < used::trained::memory.bound);
}

TEST_CASE("bundle_facts: a mask costs no bytes") {
  using with = blueprint_of<Sequential<Inputs<dims<16>, constant<16>>, Wide, testing::Masked<>, Wide>, 4>;
  using without = blueprint_of<Sequential<Inputs<dims<16>>, Wide, Wide>, 4>;
  static_assert(with::trained::memory.arena == without::trained::memory.arena);
  static_assert(with::network_hash != without::network_hash);
}

TEST_CASE("bundle_facts: at run time") {
  constexpr auto mix = detail::bundle_facts_of<Mix>(bundle{{4}, {4}, {4}, {5}});
  static_assert(mix.arrives == 4 && mix.takes == 3 && mix.gives == 3 && mix.past[0] == 5);
  static_assert(mix.uses[0b0001] == 0b0011 && mix.uses[0b1001] == 0b1011 && mix.uses[0b1111] == 0b1111);
  constexpr auto gated = detail::bundle_facts_of<Gated>(bundle{{4}, {4}, {5}});
  static_assert(gated.takes == 2 && gated.gives == 1 && gated.uses[0b01] == 0b011 &&
                gated.uses[0b11] == 0b111);
  constexpr auto relu = detail::bundle_facts_of<ReLU>(bundle{{4}, {6}});
  static_assert(relu.takes == 1 && relu.past[0] == 6 && relu.uses[0b11] == 0b11 && relu.uses[0b01] == 0b01);
  CHECK(relu.arrives == 2);
}
