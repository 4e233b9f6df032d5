// SPDX-License-Identifier: MIT
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/execute.hpp>

#include "layers.hpp"
#include "planned.hpp"

namespace execute_tests {

using namespace cairn;

namespace {

using Mlp = Sequential<Linear<20, 24>, ReLU, Linear<24, 17>, Tanh, Linear<17, 17, false>, ReLU, Linear<17, 5>>;
using Mixed = Sequential<Input<4, 5>, Flatten, ReLU, Linear<20, 18>, LayerNorm<18>, GELU, Dropout<percent<30>>, testing::Scale,
                         ReLU, testing::Witness, Linear<18, 3>, Dropout<>>;
// The first stages leave the input where it is, also inside blocks, whose last layer may then work on the block's own input.
using Front = Sequential<Input<4, 5>, Flatten, Linear<20, 16>, ReLU, Linear<16, 16>>;
using FrontOfBlocks =
    Sequential<Input<2, 8>, Flatten, Residual<Flatten, Linear<16, 16>>, Residual<Flatten, Flatten, ReLU, Linear<16, 16>>, ReLU,
               Residual<Flatten>, Residual<Flatten, LayerNorm<16>>,
               checkpoint<recompute_all, Sequential<Flatten, Linear<16, 16>, ReLU>>,
               Residual<checkpoint<store_all, Sequential<Flatten, Linear<16, 16>>>>,
               checkpoint<every<1>, Sequential<Flatten, GELU, Flatten, Linear<16, 16>, Flatten>>, Linear<16, 3>>;
using NothingElse = Sequential<Input<3, 2>, Flatten>;

} // namespace

TEST_CASE_TEMPLATE("execute: what only reshapes has the oracle's bits at the front of a network and of blocks", T, float,
                   double) {
  testing::check_network<Front, 6, T>();
  testing::check_network<FrontOfBlocks, 6, T>();
  testing::check_network<NothingElse, 6, T>();
}

TEST_CASE_TEMPLATE("execute: a multilayer perceptron has the oracle's bits under every policy", T, float, double) {
  testing::check_network<Mlp, 7, T>();
}

TEST_CASE_TEMPLATE("execute: layers with tapes, workspaces, state and randomness have the oracle's bits", T, float, double) {
  testing::check_network<Mixed, 6, T>();
}

} // namespace execute_tests
