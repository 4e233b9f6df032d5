// SPDX-License-Identifier: MIT
#include <cairn/net/summed_layers.hpp>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace summed_layers_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Branch = Sequential<Linear<4, 3>, BatchNorm1d<3>>;
using Net =
    Sequential<BatchNorm1d<4>, frozen<Sequential<Linear<4, 4>, BatchNorm1d<4>>>, Linear<4, 4>,
               Concat<Branch, checkpoint<recompute_all, Branch>>, Linear<6, 6>, Repeat<2, Sequential<BatchNorm1d<6>, ReLU>>>;
using plan = blueprint_of<Net, 8>;
using layers = summed_layers<plan>;

constexpr bool is(std::size_t k, std::uint32_t leaf, std::size_t position, std::size_t forward, std::size_t backward) {
  const summed_layer& l = layers::of[k];
  return l.leaf == leaf && l.position == position && l.numbers == summed_numbers{forward, backward};
}
static_assert(layers::count == 6);
static_assert(is(0, 0, 0, 9, 0)); // with a weight of its own, and no input gradient
static_assert(is(1, 2, 1, 9, 8)); // frozen, in the middle of the network
static_assert(is(2, 5, 3, 7, 6) && is(3, 7, 3, 7, 6));
static_assert(is(4, 9, 5, 13, 12) && is(5, 11, 7, 13, 12));

// Backward finishes the last layer first: the gradients in front of a layer's own are complete when its backward begins.
constexpr std::size_t pair = 16; // two blocks of 6, padded
static_assert(layers::of[5].parameters_before == 0 && layers::of[4].parameters_before > 0);
static_assert(layers::of[0].parameters_before > layers::of[2].parameters_before &&
              layers::of[2].parameters_before > layers::of[3].parameters_before &&
              layers::of[3].parameters_before > layers::of[4].parameters_before);
// Frozen layers have no gradients of their own.
static_assert(layers::of[1].parameters_before == plan::parameter_begin[0]);
static_assert(layers::of[4].parameters_before == plan::parameter_begin[5] && plan::parameter_begin[5] >= pair);

static_assert(layers::begin[1] >= 10 && layers::begin[1] % 8 == 0 && layers::elements % 8 == 0);
static_assert(layers::calls == 11 && layers::bytes == (9 + 9 + 7 + 7 + 13 + 13 + 1 + 8 + 6 + 6 + 12 + 12) * sizeof(double));
static_assert(summed_layers<blueprint_of<checkpoint<recompute_all, Net>, 8>>::hash == layers::hash);
static_assert(summed_layers<blueprint_of<Sequential<Linear<4, 4>>, 8>>::count == 0);

} // namespace

TEST_CASE("summed_layers: a layer by the place that its parameters are named by, and its type") {
  const auto& code = program_of<plan, float, cpu::queue>;
  const auto place = [&](std::size_t k) { return place_of_layer(code, layers::of[k].leaf); };
  CHECK(place(0) == "0, BatchNorm1d<4>");
  CHECK(place(1) == "1.1, BatchNorm1d<4>");
  CHECK(place(2) == "3.0.1, BatchNorm1d<3>");
  CHECK(place(5) == "7, BatchNorm1d<6>");
}

} // namespace summed_layers_tests
