// SPDX-License-Identifier: MIT
#include <cairn/layer/description.hpp>

#include <doctest/doctest.h>

namespace description_tests {

using namespace cairn;

TEST_CASE("scale: every tensor of a block begins at the alignment") {
  constexpr detail::scale floats{detail::sizes_of<float>, 6}, doubles{detail::sizes_of<double>, 6};
  constexpr tensor_list list{{"weight", {2, 3}}, {"bias", {2}}};
  static_assert(floats.block(list).offsets[1] == 64 && floats.block(list).size == 128);
  static_assert(doubles.block(list).offsets[1] == 64 && doubles.block({{"weight", {3, 3}}}).size == 128);
  CHECK(floats.block({}).size == 0);
}

TEST_CASE("scale: bytes of a list") {
  constexpr detail::scale to{{8, 4}, 6};
  static_assert(to.of(tensor_list{{3, 2}}).per_sample == 48 && to.of(tensor_list{{3, 2}}).per_batch == 0);
  static_assert(to.of(tensor_list{tensor{3, 2}.once()}).per_batch == 48);
  static_assert(to.of(tensor_list{tensor{3, 2}.of(element::int32)}).per_sample == 24);
  static_assert(to.of(tensor_list{tensor{3, 2}.of(element::accumulated)}).per_sample == 24);
  static_assert(to.of(tensor_list{{3, 2}, tensor{2}.once()}).at(6) == 5 * 64 + 64); // 288 bytes, then 16
  static_assert(to.of(tensor_list{{3, 2}, tensor{2}.once()}, 0b10).at(6) == 64);
  CHECK(to.of(tensor_list{}).at(6) == 0);
}

TEST_CASE("description: what goes past an element, and what has a gradient before it") {
  constexpr detail::description sum = [] { // makes one tensor of two
    detail::description d{.accepts = true, .takes = 2};
    d.after.push_back({16});
    d.depends[0] = 0b11;
    d.pass_by({{16}, {16}, {3}, {4}});
    return d;
  }();
  static_assert(sum.gives == 1 && sum.after == detail::value_list{{16}, {3}, {4}});
  static_assert(sum.uses(0b001) == 0b0011 && sum.uses(0b010) == 0b0100 && sum.uses(0b101) == 0b1011);
  CHECK(sum.uses(0) == 0);
}

TEST_CASE("element_facts: parameters end where the next one begins") {
  constexpr detail::element_facts facts = [] {
    detail::element_facts f{};
    f.learns({{"weight", {2, 3}}, {"bias", {2}}}, {detail::sizes_of<float>, 6});
    f.works({5, 7, 3});
    return f;
  }();
  static_assert(facts.parameter_count == 2 && facts.parameter_ends[0] == 16 && facts.parameter_ends[1] == 32);
  static_assert(facts.as_stage.parameters == 8 && facts.as_stage.parameter_block == 32);
  static_assert(facts.as_stage.forward_flops == 5 && facts.as_stage.tape_flops == 5);
  CHECK(facts.as_stage.input_gradient_flops == 3);
}

} // namespace description_tests
