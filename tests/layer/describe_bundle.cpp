// SPDX-License-Identifier: MIT
#include <cairn/layer/describe_bundle.hpp>

#include <doctest/doctest.h>

#include "bundle_layers.hpp"

using namespace cairn;

namespace {

template <class L>
using facts = described_bundle<L>;
constexpr bundle three{{16}, {16}, {2, 3}};

} // namespace

TEST_CASE("describe_bundle: a layer takes from the front, and the rest goes past it") {
  static_assert(facts<testing::Gated>::takes(three) == 2 && facts<testing::Gated>::gives(three) == 1);
  static_assert(facts<testing::Gated>::output_shapes(three) == bundle{{16}, {2, 3}});
  static_assert(facts<testing::Split>::output_shapes(three.front(2)) == bundle{{16}, {16}, {16}});
  static_assert(facts<testing::Swap>::output_shapes(bundle{{3}, {4}}) == bundle{{4}, {3}});
  static_assert(facts<testing::Swap>::taken(three) == bundle{{16}, {16}});
}

TEST_CASE("describe_bundle: what a layer does not accept") {
  static_assert(facts<testing::Gated>::accepts(three) && !facts<testing::Gated>::accepts({{3}, {4}}));
  static_assert(!facts<testing::Gated>::accepts({{3}})); // too few: the layer itself is not asked
  static_assert(!facts<testing::Masked<>>::accepts({{3}}));
  constexpr bundle in = [] {
    bundle b{{3}, {4}};
    b.push_constant({3});
    return b;
  }();
  static_assert(facts<testing::Masked<>>::accepts(in) && !facts<testing::Masked<1>>::accepts(in));
  static_assert(facts<testing::Masked<>>::output_shapes(in) == in);
}

TEST_CASE("describe_bundle: which inputs have a gradient") {
  static_assert(facts<testing::Split>::uses(three, 0b10) == 0b1);
  static_assert(facts<testing::Gated>::uses(three, 0b1) == 0b11);
  static_assert(facts<testing::First>::uses(three, 0b1) == 0b1);
  static_assert(facts<testing::Swap>::uses(three, 0b10) == 0b1);
  static_assert(facts<testing::Mix>::uses({{4}, {4}, {4}}, 0b1) == 0b11);
  static_assert(facts<testing::Mix>::uses({{4}, {4}, {4}}, 0b100) == 0b100);
}

TEST_CASE("describe_bundle: as a stage") {
  constexpr stage split = describe_bundle<testing::Split>(three.front(2), 4);
  static_assert(split.output.per_sample == 3 * 16 * 4 && split.reads_input && !split.reads_output);
  static_assert(split.parameters == 32 && split.parameter_block == 32 && split.forward_flops == 32);
  static_assert(!split.in_place_forward && !split.fuses && split.as_activation == 0);
  constexpr stage mix = describe_bundle<testing::Mix>({{5}, {5}, {5}}, 8);
  static_assert(mix.in_place_forward && mix.in_place_backward && mix.tape.per_sample == 80 &&
                mix.forward_workspace.per_sample == 120 && mix.parameters == 5);
}
