// SPDX-License-Identifier: MIT
#include <cstddef>
#include <type_traits>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/bundle_shapes.hpp>
#include <doctest/doctest.h>

#include "../layer/bundle_layers.hpp"

using namespace cairn;
using testing::First;
using testing::Gated;
using testing::Masked;
using testing::Mix;
using testing::Split;
using testing::Swap;

namespace {

template <class Body>
constexpr auto walk(const bundle& in, tensor_set used = 1) {
  return detail::bundle_walk<Body, typename detail::flattened<Body>::elements>::from(in, used);
}
constexpr std::size_t none = static_cast<std::size_t>(-1);
constexpr bundle with_mask = bundle_of<dims<4>, constant<4>>::value;

} // namespace

TEST_CASE("bundle_shapes: a network of several tensors is known by its layers, at any depth") {
  static_assert(detail::works_on_bundles<Sequential<Linear<4, 4>, Split, Gated>>());
  static_assert(detail::works_on_bundles<
                Sequential<ReLU, Repeat<2, Residual<checkpoint<sqrt_n, Sequential<Masked<>>>>>>>());
  static_assert(!detail::works_on_bundles<Sequential<ReLU, Repeat<2, Residual<Linear<4, 4>>>>>());
  static_assert(!detail::works_on_bundles<Repeat<2, ReLU>>() && !detail::works_on_bundles<Sequential<>>());
}

TEST_CASE("bundle_shapes: tensors go past layers of one, and constants past all") {
  using Net = Sequential<Linear<4, 6>, Split, Linear<6, 5>, Residual<Linear<5, 5>>, Swap, ReLU>;
  constexpr auto w = walk<Net>(with_mask, 0b11);
  static_assert(w.fault == none && w.idle == none);
  static_assert(w.input[1] == bundle_of<dims<6>, constant<4>>::value);
  static_assert(w.input[2] == bundle_of<dims<6>, dims<6>, constant<4>>::value);
  static_assert(w.input[4] == bundle_of<dims<5>, dims<6>, constant<4>>::value);
  static_assert(w.output == bundle_of<dims<6>, dims<5>, constant<4>>::value);
}

TEST_CASE("bundle_shapes: the joint that does not fit") {
  constexpr auto no_mask = walk<Sequential<Linear<4, 4>, Masked<>>>(bundle{{4}});
  static_assert(no_mask.fault == 1 && no_mask.fault_element == 1 && no_mask.before_element == 0);
  static_assert(no_mask.produced == bundle{{4}});
  static_assert(walk<Sequential<Linear<4, 5>, Masked<>>>(with_mask).fault == 1); // a mask of another shape
  static_assert(walk<Sequential<Gated>>(bundle{{4}}).fault == 0);                // one tensor too few
  static_assert(walk<Repeat<2, Split>>(bundle{{4}}).fault == 1); // two of it are not the same element
  static_assert(walk<Repeat<2, Residual<Swap>>>(bundle{{4}, {4}}).fault == none);
}

TEST_CASE("bundle_shapes: gradients are where somebody uses the tensor") {
  // The gate is used by nobody: First drops it.
  constexpr auto dropped = walk<Sequential<Linear<4, 4>, Split, ReLU, First>>(bundle{{4}});
  static_assert(dropped.gradients[0] == 1 && dropped.gradients[1] == 1 && dropped.gradients[2] == 1 &&
                dropped.gradients[3] == 1 && dropped.gradients[4] == 1);
  constexpr auto kept = walk<Sequential<Linear<4, 4>, Split, ReLU, Gated>>(bundle{{4}});
  static_assert(kept.gradients[2] == 0b11 && kept.gradients[3] == 0b11);
  // Each Mix needs one tensor more than the one after it.
  constexpr auto mixed = walk<Sequential<Mix, Mix, Mix>>(bundle{{4}, {4}, {4}});
  static_assert(mixed.gradients[3] == 0b1 && mixed.gradients[2] == 0b11 && mixed.gradients[1] == 0b111);
  // A repeated block has room for what it needs wherever it stands.
  constexpr auto repeated = walk<Repeat<3, Residual<Mix>>>(bundle{{4}, {4}, {4}});
  static_assert(repeated.gradients[2] == 0b11 && repeated.used[0] == 0b111);
  constexpr auto turned = walk<Repeat<2, checkpoint<sqrt_n, Sequential<Swap>>>>(bundle{{4}, {4}});
  static_assert(turned.gradients[1] == 0b10 && turned.used[0] == 0b11);
  // A residual block adds its first tensor, whatever its layers do with it.
  static_assert(walk<Residual<Swap>>(bundle{{4}, {4}}, 1).gradients[0] == 0b11);
  static_assert(walk<checkpoint<sqrt_n, Sequential<Swap>>>(bundle{{4}, {4}}, 1).gradients[0] == 0b10);
}

TEST_CASE("bundle_shapes: a stage that works for nobody") {
  static_assert(walk<Sequential<Linear<4, 4>, Swap>>(bundle{{4}, {4}}).idle == 0);
  static_assert(walk<Sequential<Linear<4, 4>, Swap>>(bundle{{4}, {4}}, 0b11).idle == none);
  // Also inside a block.
  static_assert(
      walk<Sequential<Split, checkpoint<sqrt_n, Sequential<Linear<4, 4>, Swap>>>>(bundle{{4}}).idle == 1);
}

TEST_CASE("bundle_shapes: what a network takes") {
  static_assert(detail::natural_bundle<Sequential<Inputs<dims<2>, dims<3>, constant<4>>, ReLU>>() ==
                bundle_of<dims<2>, dims<3>, constant<4>>::value);
  static_assert(detail::natural_bundle<Sequential<Linear<7, 2>, Split, Gated>>() == bundle{{7}});
  static_assert(std::is_same_v<detail::input_ends<Sequential<Linear<7, 2>>>::type, dims<7>>);
  using several = detail::input_ends<Sequential<Inputs<dims<2>, constant<4, 5>>, ReLU>>::type;
  static_assert(std::is_same_v<several, detail::bundle_input<bundle_of<dims<2>, constant<4, 5>>, 1>>);
}
