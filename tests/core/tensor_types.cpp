// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/core/tensor_types.hpp>
#include <doctest/doctest.h>

namespace tensor_types_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// The description of a tensor as the type that an error message shows.
template <class Type, bool IsConstant = false>
struct shown {
  struct source {
    static constexpr tensor value = Type::value;
  };
  using type = typename tensor_type<source, IsConstant>::type;
};
template <class Type, bool IsConstant = false>
constexpr bool shown_as_typed = std::is_same_v<typename shown<Type, IsConstant>::type, Type>;

} // namespace

TEST_CASE("tensor_types: what a user types stands for a description") {
  static_assert(tensor(dims<2, 3>::value) == tensor{2, 3});
  static_assert(integers<5>::value == tensor{5}.of(element::int32));
  static_assert(constant<5>::value == tensor{5}.constant() && batch_constant<5>::value == tensor{5}.constant().once());
  static_assert(integer_constant<5>::value == integers<5>::value && integer_constant<>::value.rank() == 0);
  static_assert(integer_constant<>::value.elements(7) == 7 && batch_integer_constant<>::value.elements(7) == 1);
  static_assert(batch_integer_constant<2, 3>::value == tensor{2, 3}.of(element::int32).once());
  static_assert(!(batch_integer_constant<5>::value == integer_constant<5>::value));
  static_assert(!integer_constant<5>::value.has_gradient && !batch_integer_constant<5>::value.has_gradient);
  using other = other_tensor<element::accumulated, true, true, 4>;
  static_assert(other::value == tensor{4}.of(element::accumulated).once());
  CHECK(integers<2, 3>::value.size() == 6);
}

TEST_CASE("tensor_types: tensors in order, constants apart") {
  using value = tensors_of<dims<2, 3>, integers<5>, constant<7>>;
  static_assert(value::tensors == tensor_list{{2, 3}, integers<5>::value});
  static_assert(value::constants == tensor_list{constant<7>::value});
  static_assert(value::in_order && !tensors_of<constant<7>, dims<2>>::in_order);
  static_assert(tensors_of<dims<4>>::tensors == tensor_list{{4}} && tensors_of<dims<4>>::constants.size() == 0);
  using lengths = tensors_of<integers<5>, integer_constant<>, constant<7>, batch_integer_constant<2>>;
  static_assert(lengths::tensors == tensor_list{integers<5>::value} && lengths::in_order);
  static_assert(lengths::constants ==
                tensor_list{integer_constant<>::value, constant<7>::value, batch_integer_constant<2>::value});
  static_assert(!tensors_of<integer_constant<>, dims<2>>::in_order);
  CHECK(value::in_order);
}

TEST_CASE("tensor_types: a description becomes the type that a user would type") {
  static_assert(shown_as_typed<integers<5>> && shown_as_typed<constant<2, 3>, true>);
  static_assert(shown_as_typed<batch_constant<2>, true>);
  static_assert(shown_as_typed<integer_constant<>, true> && shown_as_typed<integer_constant<2, 3>, true>);
  static_assert(shown_as_typed<batch_integer_constant<>, true> && shown_as_typed<batch_integer_constant<4>, true>);
  static_assert(shown_as_typed<other_tensor<element::real, true, true, 4>>);
  static_assert(shown_as_typed<other_tensor<element::accumulated, false, true>>);
  // A tensor without a gradient that is not a constant of the network.
  static_assert(std::is_same_v<shown<constant<4>>::type, other_tensor<element::real, false, false, 4>>);
}

TEST_CASE("tensor_types: a value becomes a type, and back") {
  using several = tensors_of<dims<2>, integers<3>, batch_constant<4>, integer_constant<>, batch_integer_constant<3>>;
  static_assert(std::is_same_v<type_of_tensors<several>::type, several>);
  static_assert(std::is_same_v<type_of_tensors<tensors_of<dims<2, 3>>>::type, dims<2, 3>>);
  static_assert(std::is_same_v<type_of_tensors<tensors_of<dims<>>>::type, dims<>>);
  static_assert(value_of_type<dims<6>>::tensors == tensor_list{{6}});
  static_assert(value_of_type<several>::tensors == several::tensors && value_of_type<several>::constants == several::constants);
  CHECK(value_of_type<dims<6>>::constants.size() == 0);
}

} // namespace tensor_types_tests
