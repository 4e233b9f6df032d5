// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <doctest/doctest.h>

namespace tensor_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("tensor: it is the network's T, one for each sample, with a gradient, unless it says otherwise") {
  constexpr tensor t{2, 3};
  static_assert(t.extents == shape{2, 3} && t.type == element::real && !t.per_batch && t.has_gradient && t.is_real());
  static_assert(t.size() == 6 && t.rank() == 2 && t.last() == 3 && t[0] == 2 && t.elements(4) == 24);
  static_assert(t.with_last(7) == tensor{2, 7});
  constexpr tensor tokens = t.of(element::int32);
  static_assert(tokens.extents == t.extents && !tokens.has_gradient && !tokens.is_real() && !(tokens == t));
  static_assert(t.of(element::accumulated).has_gradient);
  constexpr tensor once = t.once();
  static_assert(once.elements(4) == 6 && !once.is_real() && !(once == t));
  static_assert(!t.constant().has_gradient && t.constant().is_real() && !(t.constant() == t));
  CHECK(t == tensor(shape{2, 3}));
}

TEST_CASE("tensor: names and initial values are for people and the start, and do not tell tensors apart") {
  constexpr tensor weight{"weight", {3, 2}, initial::uniform(0.5)};
  static_assert(weight == tensor{3, 2} && weight.name == "weight");
  static_assert(weight.start.how == initial::law::uniform && weight.start.scale == 0.5);
  static_assert(initial::constant(2).how == initial::law::constant && initial::constant(2).scale == 2);
  static_assert(initial::normal(0.1, 3).how == initial::law::normal && initial::normal(0.1, 3).mean == 3);
  static_assert(initial::truncated_normal(0.02).how == initial::law::truncated_normal);
  static_assert(tensor{1}.start.how == initial::law::constant && tensor{1}.start.scale == 0);
  constexpr tensor turned = weight.with_channels_last();
  static_assert(turned.has_channels_last && !weight.has_channels_last && turned == weight && turned.name == "weight");
  CHECK(weight.start.mean == 0);
}

TEST_CASE("tensor_list: tensors in an order") {
  constexpr tensor_list list{{2, 3}, {5}};
  static_assert(list.size() == 2 && list[0] == tensor{2, 3} && list[1] == tensor{5});
  static_assert(list.elements() == 11 && list.elements(1) == 6);
  static_assert(list == list && !(list == tensor_list{{2, 3}}) && !(list == tensor_list{{2, 3}, {6}}));
  static_assert(tensor_list(tensor{4}) == tensor_list{{4}}); // a single tensor is a list of one
  static_assert(value_list(list, 1) == value_list{{2, 3}} && value_list(list).size() == 2);
  std::size_t seen = 0;
  for (const tensor& t : list) seen += t.size();
  CHECK(seen == 11);
}

TEST_CASE("tensor_set: bits by index") {
  using detail::contains, detail::first_tensors;
  static_assert(contains(0b101, 0) && !contains(0b101, 1) && contains(0b101, 2) && !contains(0, 3));
  static_assert(first_tensors(0) == 0 && first_tensors(2) == 0b11 && first_tensors(most_tensors) == 0b1111);
  static_assert(detail::with_gradient(tensor_list{{1}, tensor{1}.of(element::int32), {1}}) == 0b101);
  CHECK(contains(detail::all_tensors, tensor_list::most - 1));
}

TEST_CASE("tensor_layout: each tensor begins on a line of its own, and only those that are there take bytes") {
  constexpr value_list value{{4}, {1}, {2}};
  constexpr detail::tensor_layout all(value, sizes_of<float>, 5);
  static_assert(all.offsets[0] == 0 && all.offsets[1] == 128 && all.offsets[2] == 192 && all.size == 256);
  constexpr detail::tensor_layout some(value, sizes_of<float>, 5, 0b101);
  static_assert(some.offsets[2] == 128 && some.size == 192);
  // Offsets by element type, and for a whole batch.
  constexpr tensor_list mixed{tensor{4}.of(element::int32), tensor{4}.once(), {4}};
  constexpr detail::tensor_layout of_doubles(mixed, sizes_of<double>, 16);
  static_assert(of_doubles.offsets[1] == 256 && of_doubles.offsets[2] == 320 && of_doubles.size == 832);
  CHECK(detail::tensor_layout(tensor_list{}, sizes_of<float>, 5).size == 0);
}

TEST_CASE("arguments: what a layer takes, and the constants of the network") {
  static constexpr tensor_list constants{tensor{3}.constant(), tensor{3}.of(element::int32)};
  static constexpr value_list value{{3}, {5}};
  constexpr arguments in{value.items.data(), 2, constants};
  static_assert(in.size() == 2 && in[1] == tensor{5} && in.constants().size() == 2);
  static_assert(in.has_constant(0, in[0]) && !in.has_constant(0, in[1]) && !in.has_constant(1, in[0]) &&
                !in.has_constant(2, in[0]));
  CHECK(in.has_constant(1, tensor{3}.of(element::int32)));
}

} // namespace tensor_tests
