// SPDX-License-Identifier: MIT
#include <cairn/layer/layer.hpp>

#include <cstddef>

#include <doctest/doctest.h>

#include "several_layers.hpp"

namespace layer_tests {

using namespace cairn;

namespace {

struct without_outputs {
  static constexpr reads backward_reads = reads::nothing;
};
struct without_reads {
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
};
struct least : without_outputs, without_reads {};

} // namespace

static_assert(layer<least> && layer<testing::Split> && layer<testing::Mix>);
static_assert(!layer<without_outputs> && !layer<without_reads> && !layer<int>);

TEST_CASE("layer: calls find their tensors by the indices of the lists") {
  constexpr tensor_list list{{"weight", {2, 3}, initial::uniform(0.5)}, {"bias", {2}}};
  static_assert(list.count == 2 && list[1].name == "bias" && list.end() - list.begin() == 2);
  constexpr detail::tensor_layout at{list, detail::sizes_of<float>, 1};
  alignas(detail::alignment) float block[32] = {};
  forward_call<float> call;
  call.parameters = {reinterpret_cast<const std::byte*>(block), at.offsets.data()};
  CHECK(call.parameters[0] == block);
  CHECK(call.parameters[1] == block + 16);
  CHECK(!call.tape);
  CHECK(call.tape[0] == nullptr);
}

TEST_CASE("layer: a call says what its inputs are") {
  const tensor_list inputs{{4}, {2, 3}};
  const tensor_list constants{};
  const arguments in{inputs.items.data(), inputs.count, constants};
  backward_call<double> call;
  call.given = &in;
  CHECK(call.in(1) == tensor{2, 3});
}

} // namespace layer_tests
