// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/policies.hpp>
#include <doctest/doctest.h>

namespace function_of_tests {

using namespace cairn;

namespace {

using A = Linear<4, 4>;
using B = ReLU;
template <class One, class Other>
constexpr bool same = std::is_same_v<detail::function_of<One>, detail::function_of<Other>>;

} // namespace

TEST_CASE("function_of: schedules and the way a chain was written do not count") {
  static_assert(same<Sequential<A, B, A>, checkpoint<sqrt_n, Sequential<A, Sequential<B, Sequential<A>>>>>);
  static_assert(same<Sequential<A, checkpoint<store_all, Sequential<B, A>>>, Sequential<A, B, A>>);
  static_assert(same<Sequential<Repeat<3, checkpoint<sqrt_n, A>>>, Sequential<Repeat<3, Sequential<A>>>>);
  static_assert(same<Sequential<Residual<checkpoint<sqrt_n, Sequential<A, B>>>>, Sequential<Residual<A, B>>>);
  static_assert(same<A, Sequential<A>>);
}

TEST_CASE("function_of: the same layers for sequences of another length") {
  using detail::same_layers;
  using Long = Sequential<Inputs<integers<64>>, Embedding<9, 4>, LearnedPositions<64, 4>, Residual<A, B>>;
  using Short = Sequential<Inputs<integers<16>>, Embedding<9, 4>, LearnedPositions<16, 4>, Residual<A, B>>;
  static_assert(!same<Long, Short> && same_layers<Long, Short> && same_layers<checkpoint<sqrt_n, Long>, Short>);
  static_assert(same_layers<Sequential<Input<8, 4>, A>, Sequential<Input<2, 4>, A>>);
  static_assert(!same_layers<Sequential<Input<8, 4>, A>, Sequential<Inputs<dims<8, 4>, constant<8>>, A>>);
  static_assert(!same_layers<Long, Sequential<Inputs<integers<16>>, Embedding<9, 4>, LearnedPositions<16, 4>, Residual<B, A>>>);
  static_assert(!same_layers<Long, Sequential<Inputs<integers<16>>, Embedding<9, 4>, LearnedPositions<16, 5>, Residual<A, B>>>);
  static_assert(!same_layers<Sequential<Linear<4, 8>>, Sequential<Linear<4, 9>>>);
}

TEST_CASE("function_of: layers, their order, counts and residuals do") {
  static_assert(!same<Sequential<A, B>, Sequential<B, A>> && !same<Sequential<A>, Sequential<A, B>>);
  static_assert(!same<Repeat<2, A>, Repeat<3, A>> && !same<Residual<A, B>, Sequential<A, B>>);
  static_assert(!same<Sequential<Linear<4, 8>>, Sequential<Linear<8, 4>>>);
}

} // namespace function_of_tests
