// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/execute.hpp>

#include "../../layer/several_layers.hpp"
#include "../layers.hpp"
#include "../planned.hpp"

namespace execute_element_types_tests {

using namespace cairn;
using testing::BatchMean;
using testing::Centered;
using testing::Lookup;
using testing::WhereEven;

namespace {

using Wide = Linear<16, 16>;

// Tokens come in and become vectors.
using Tokens = Sequential<Inputs<integers<5>>, Lookup<7, 16>, LayerNorm<16>, Repeat<2, Residual<LayerNorm<16>, Wide, ReLU, Wide>>,
                          Linear<16, 4>>;
// Tokens come beside the value, and go past layers and through blocks.
using Beside = Sequential<Inputs<dims<16>, integers<8>>, Wide, WhereEven, ReLU, Residual<Wide, Tanh>,
                          Repeat<2, checkpoint<recompute_all, Sequential<Wide, WhereEven, ReLU>>>, Residual<WhereEven, Wide>,
                          checkpoint<store_all, Sequential<WhereEven, ReLU>>, Wide>;
// A tensor that is one for all samples of a batch, with a gradient. The tape of the layer that makes it has integers and sums.
using Mean = Sequential<Linear<12, 16>, BatchMean, Wide, ReLU, Centered, Residual<BatchMean, Wide, Centered>,
                        Repeat<2, checkpoint<recompute_all, Sequential<BatchMean, Tanh, Centered, Wide>>>, BatchMean,
                        Residual<Wide, ReLU>, checkpoint<sqrt_n, Sequential<Wide, Tanh>>, Centered, Wide>;
// Constants of either kind, seen inside blocks too; nothing passes them on.
using Positions =
    Sequential<Inputs<dims<16>, batch_constant<16>, constant<16>>, Wide, Residual<testing::Shifted<0>, Wide, testing::Masked<1>>,
               checkpoint<recompute_all, Sequential<testing::Shifted<0>, Wide, ReLU>>, Wide>;

// The same of integers.
using Counts = Sequential<Inputs<dims<16>, integer_constant<>, batch_integer_constant<16>, integer_constant<16>>, Wide,
                          Residual<testing::Times<0>, Wide, testing::Times<1>>,
                          Repeat<2, checkpoint<recompute_all, Sequential<testing::Times<2>, Wide, ReLU>>>, Wide>;

} // namespace

TEST_CASE_TEMPLATE("element types: integers come in", T, float, double) { testing::check_network<Tokens, 5, T>(); }

TEST_CASE_TEMPLATE("element types: integers go past layers and through blocks", T, float, double) {
  testing::check_network<Beside, 5, T>(2);
}

TEST_CASE_TEMPLATE("element types: a tensor of the whole batch has a gradient of its own", T, float, double) {
  testing::check_network<Mean, 5, T>();
}

TEST_CASE("element types: constants of a sample and of a batch") { testing::check_network<Positions, 5, float>(); }

TEST_CASE_TEMPLATE("element types: constants of integers", T, float, double) { testing::check_network<Counts, 5, T>(); }

} // namespace execute_element_types_tests
