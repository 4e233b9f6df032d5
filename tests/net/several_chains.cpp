// SPDX-License-Identifier: MIT
#include <cairn/net/several_chains.hpp>

#include <array>
#include <cstddef>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/residual.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace several_chains_tests {

using namespace cairn;

namespace {

// Describes a chain that makes this tensor.
constexpr detail::description chain_that_makes(const tensor& made, unsigned depends = 1) {
  detail::description out{};
  out.accepts = true;
  out.after.push_back(made);
  out.gives = 1;
  out.depends[0] = static_cast<detail::tensor_set>(depends);
  return out;
}

constexpr detail::description joined(const std::array<detail::description, 2>& chains) {
  detail::description out{};
  detail::join_alike({tensor{4}, tensor{7}}, chains, out);
  return out;
}

} // namespace

TEST_CASE("several_chains: tensors of one shape become one, and what is behind the first tensor goes past") {
  constexpr detail::description right = joined({chain_that_makes({5}), chain_that_makes({5})});
  static_assert(right.accepts && right.takes == 1 && right.gives == 1 && right.depends[0] == 1);
  static_assert(right.after == detail::value_list{{5}, {7}});
  static_assert(!joined({chain_that_makes({5}), chain_that_makes({6})}).accepts);
  static_assert(!joined({chain_that_makes({5}), chain_that_makes({5}, 0)}).accepts); // no derivative by the first tensor
  static_assert(!joined({chain_that_makes({5}), chain_that_makes(tensor({5}).once())}).accepts);
}

TEST_CASE("several_chains: the gradient of the input is summed, by a first layer that adds or by the block") {
  testing::check_step<Sequential<Linear<6, 8>, Residual<shortcut<Linear<8, 5>>, Linear<8, 5>>, Linear<5, 3>>, 5, float>();
  testing::check_step<Sequential<Linear<6, 8>, Residual<shortcut<ReLU>, Linear<8, 8>>, Linear<8, 3>>, 5, float>();
}

} // namespace several_chains_tests
