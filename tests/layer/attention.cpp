// SPDX-License-Identifier: MIT
#include <cairn/layer/attention.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "reference_check.hpp"

namespace attention_layer_tests {

using namespace cairn;
using attention::core;
using attention::key_heads;

static_assert(layer<core<2>>);
static_assert(core<2>::accepts(given{{5, 12}}) && !core<2>::accepts(given{{5, 10}}) && !core<2>::accepts(given{{12}}));
static_assert(core<4, key_heads<2>>::accepts(given{{5, 16}}) && !core<4, key_heads<2>>::accepts(given{{5, 12}}));
static_assert(!core<2>::accepts(given{{131073, 6}}) && !core<2>::accepts(given{{tensor{5, 12}.of(element::int32)}}));
static_assert(core<2>::outputs(given{{5, 12}}) == tensor{5, 4} && core<4, key_heads<1>>::outputs(given{{5, 12}}) == tensor{5, 8});
static_assert(core<3>::tape(given{{5, 18}}) == tensor_list{tensor{3, 5}.of(element::accumulated)});

// A mask of a program's own.
struct nearby {
  static constexpr ops::key_band keys{.before = 1, .after = 1};
};

// Pairs of 5 tokens, with 2 columns a head: 2 products of 2 pairs 2 operations, and 20 for softmax.
static_assert(core<1>::flops(given{{5, 6}}).forward == 25 * (2 * 2 * 2 + 20));
static_assert(core<1, attention::causal>::flops(given{{5, 6}}).forward == 15 * (2 * 2 * 2 + 20));
static_assert(core<3, attention::window<2>>::flops(given{{5, 18}}).forward == 3 * 9 * (2 * 2 * 2 + 20));
static_assert(core<1, nearby>::flops(given{{5, 6}}).backward == 13 * (5 * 2 * 2 + 25));
static_assert(core<1, attention::window<2>>::flops(given{{1, 6}}).forward == 1 * (2 * 2 * 2 + 20));

TEST_CASE("attention: gradients") {
  CHECK(gradient_fault<core<2>>({{3, 12}}) == "");
  CHECK(gradient_fault<core<1, attention::causal>>({{1, 6}}) == "");
  CHECK(gradient_fault<core<2, attention::causal>>({{5, 6}}) == "");
  CHECK(gradient_fault<core<2, attention::window<2>>>({{4, 12}}) == "");
  CHECK(gradient_fault<core<4, key_heads<2>, attention::causal>>({{3, 16}}) == "");
  CHECK(gradient_fault<core<2, key_heads<1>, nearby>>({{5, 8}}) == "");
  CHECK(gradient_fault<core<1, attention::window<3>>>({{35, 3}}) == ""); // more than a strip
}

TEST_CASE("attention: PyTorch's numbers") {
  CHECK(distance_from_torch<core<4, key_heads<2>, attention::causal>, double>("attention_core", {9, 24}) < 1e-13);
  CHECK(distance_from_torch<core<4, key_heads<2>, attention::causal>, float>("attention_core", {9, 24}) < 5e-6);
  CHECK(distance_from_torch<core<3, key_heads<1>, attention::window<5>>, double>("attention_core_window", {33, 10}) < 1e-13);
  CHECK(distance_from_torch<core<3, key_heads<1>, attention::window<5>>, float>("attention_core_window", {33, 10}) < 5e-6);
}

} // namespace attention_layer_tests
