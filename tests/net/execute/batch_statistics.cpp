// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/execute.hpp>

#include "../planned.hpp"

namespace execute_batch_statistics_tests {

using namespace cairn;

namespace {

// The last layer is the largest: where a BatchNorm1d is, an evaluation leaves its workspace untouched.
//
// Running statistics in blocks whose first layer normalizes, and in blocks whose last layer does.
using First = Residual<BatchNorm1d<16>, ReLU, Linear<16, 16>>;
using Last = Residual<Linear<16, 16>, BatchNorm1d<16>>;
using Tokens =
    Sequential<Inputs<integers<5>>, Embedding<16, 16>, BatchNorm1d<16>, Repeat<2, Sequential<First, ReLU, Last>>, Linear<16, 64>>;
// A forward of a block for its tape alone, and one that keeps no tape: neither updates a statistic again.
using Inner = checkpoint<recompute_all, Sequential<BatchNorm1d<16>, Tanh, BatchNorm1d<16>, Linear<16, 16>>>;
using Deep = Sequential<Linear<12, 16>, Inner, checkpoint<sqrt_n, Repeat<3, Sequential<First, checkpoint<every<2>, Last>>>>,
                        BatchNorm1d<16>>;
using Beside = Sequential<Linear<12, 16>, Concat<Sequential<BatchNorm1d<16>, Linear<16, 6>>, Sequential<First, Linear<16, 10>>>,
                          BatchNorm1d<16>, ReLU, Linear<16, 64>>;
// Statistics of the pixels of images, beside a convolution without a bias.
using Pixels = Conv2d<8, 8, 3, padding<1>, no_bias>;
using Images =
    Sequential<Input<4, 5, 3>, Conv2d<3, 8, 3, no_bias>, BatchNorm2d<8>, ReLU,
               Repeat<2, Residual<BatchNorm2d<8>, ReLU, Pixels, checkpoint<recompute_all, Sequential<BatchNorm2d<8>, Tanh>>>>,
               BatchNorm2d<8>, Flatten, Linear<48, 200>>;

} // namespace

TEST_CASE_TEMPLATE("batch statistics: with tokens, under every policy", T, float, double) {
  testing::check_network<Tokens, 5, T>();
}

TEST_CASE("batch statistics: in checkpoints inside checkpoints") { testing::check_network<Deep, 5, float>(); }

TEST_CASE("batch statistics: in branches") { testing::check_network<Beside, 4, float>(); }

TEST_CASE("batch statistics: of the pixels of images") { testing::check_network<Images, 5, float>(); }

} // namespace execute_batch_statistics_tests
