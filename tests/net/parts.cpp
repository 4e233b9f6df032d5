// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/parts.hpp>
#include <cairn/plan/policies.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

// Layers but ReLU, blocks but those that stand twice.
struct question {
  template <class Part>
  static constexpr bool layer = !std::is_same_v<Part, ReLU>;
  template <class Block>
  static constexpr bool block = true;
};
template <class Block>
constexpr bool question::block<Repeat<2, Block>> = false;

template <class Net>
constexpr bool right = detail::holds<question, Net>;
template <class Net>
using wrong = typename detail::first_wrong<question, Net>::type;
using Fine = Linear<3, 3>;

} // namespace

TEST_CASE("parts: a question is asked of every layer and block") {
  static_assert(right<Sequential<>> && right<Sequential<Fine, Repeat<3, Residual<Fine>>>>);
  static_assert(!right<ReLU> && !right<Sequential<Fine, Repeat<3, Residual<Fine, ReLU>>>>);
  static_assert(!right<Sequential<checkpoint<sqrt_n, Sequential<Fine, ReLU>>>>);
  static_assert(!right<Sequential<Residual<Repeat<2, Fine>>>>);
}

TEST_CASE("parts: the first that is wrong is named, a block before what is in it") {
  static_assert(std::is_same_v<wrong<Sequential<Fine, Repeat<3, Residual<Fine, ReLU>>, int>>, ReLU>);
  static_assert(std::is_same_v<wrong<Sequential<Fine, Repeat<2, ReLU>>>, Repeat<2, ReLU>>);
  static_assert(std::is_same_v<wrong<checkpoint<sqrt_n, Sequential<Sequential<>, Fine, ReLU>>>, ReLU>);
}
