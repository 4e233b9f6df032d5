// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/net/checkpoint.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <doctest/doctest.h>

namespace elements_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

struct A {};
struct B {};
struct C {};
template <std::size_t>
struct Numbered {};

template <class T>
using elements = typename flattened<T>::elements;

template <class Body, std::uint32_t... Expected>
constexpr bool runs() { // one number is appended, so that the order is never empty
  constexpr std::array<std::uint32_t, sizeof...(Expected)> expected{Expected...};
  constexpr auto order = order_of<Body>();
  if (order.size() != expected.size() + 1) return false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (order[i] != expected[i]) return false;
  return true;
}

template <std::size_t... I>
auto many(std::index_sequence<I...>) -> Sequential<Numbered<I>...>;

} // namespace

TEST_CASE("elements: a sequential in a sequential is flat") {
  static_assert(std::is_same_v<elements<Sequential<A, B>>, pack<A, B>>);
  static_assert(std::is_same_v<elements<Sequential<A, Sequential<B, Sequential<C, A>>, B>>, pack<A, B, C, A, B>>);
  static_assert(runs<Sequential<A, Sequential<B, Sequential<C, A>>, B>, 0, 1, 2, 3, 4>());
  static_assert(std::is_same_v<elements<Sequential<>>, pack<>>);
  static_assert(std::is_same_v<elements<Sequential<Sequential<>, A, Sequential<>>>, pack<A>>);
}

TEST_CASE("elements: a repeat runs the same elements again") {
  using Net = Sequential<A, Repeat<2, Sequential<B, Repeat<3, C>>>, A>;
  static_assert(std::is_same_v<elements<Net>, pack<A, B, C, A>>);
  static_assert(flattened<Net>::stages == 10);
  static_assert(runs<Net, 0, 1, 2, 2, 2, 1, 2, 2, 2, 3>());
  static_assert(runs<Repeat<3, A>, 0, 0, 0>());
}

TEST_CASE("elements: a block is one element, whatever it has inside") {
  using Inner = Residual<A, Repeat<2, B>>;
  using Checked = checkpoint<sqrt_n, Sequential<A, B>>;
  static_assert(std::is_same_v<elements<Sequential<Inner, Checked, A>>, pack<Inner, Checked, A>>);
  static_assert(runs<Repeat<2, Inner>, 0, 0>());
}

TEST_CASE("elements: more layers than a compiler has brackets") {
  using Long = decltype(many(std::make_index_sequence<600>{}));
  static_assert(flattened<Long>::stages == 600);
  static_assert(std::is_same_v<pack_element<599, elements<Long>>, Numbered<599>>);
  static_assert(std::is_same_v<pack_element<600, elements<Sequential<A, Long>>>, Numbered<599>>);
}

} // namespace elements_tests
