// SPDX-License-Identifier: MIT
// Networks of images, whose layers have windows.
//
// long to compile
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/group_norm.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/execute.hpp>

#include "../planned.hpp"

namespace execute_image_layers_tests {

using namespace cairn;

namespace {

using Same = Conv2d<8, 8, 3, padding<1>>;
// Activations that a convolution applies itself, addends and branches side by side.
using Net = Sequential<Input<6, 5, 3>, Conv2d<3, 8, 3, padding<1>, no_bias>, ReLU, Residual<Same, ReLU, Same>, ReLU,
                       Repeat<2, Residual<ReLU, Conv2d<8, 8, 3, padding<1>, groups<2>>>>,
                       Concat<Conv2d<8, 4, 1>, Sequential<Same, Tanh>, Conv2d<8, 6, 3, padding<2>, dilation<2>>>,
                       Conv2d<18, 8, 3, stride<2>, padding<1>>, ReLU, Flatten, Linear<72, 4>>;

// Pools read their input or nothing, and groups are normalized in place, also inside blocks.
using Pooled = Sequential<Input<8, 6, 3>, Conv2d<3, 8, 3, padding<1>>, ReLU, MaxPool2d<2>, GroupNorm<2, 8>,
                          Repeat<2, Residual<GroupNorm<4, 8>, ReLU, MaxPool2d<3, stride<1>, padding<1>>, Same>>,
                          Concat<MaxPool2d<2>, AvgPool2d<2>, Sequential<AdaptiveAvgPool2d<2, 1>, GroupNorm<8, 8>>>,
                          checkpoint<recompute_all, Sequential<AvgPool2d<2, stride<1>, padding<1>>, GroupNorm<3, 24>, Tanh>>,
                          AdaptiveAvgPool2d<1>, Flatten, Linear<24, 100>>;

} // namespace

TEST_CASE_TEMPLATE("images: convolutions in blocks and in branches, under every policy", T, float, double) {
  testing::check_network<Net, 5, T>();
}

TEST_CASE_TEMPLATE("images: pools and groups in blocks and in branches, under every policy", T, float, double) {
  testing::check_network<Pooled, 5, T>();
}

} // namespace execute_image_layers_tests
