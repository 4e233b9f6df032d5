// SPDX-License-Identifier: MIT
// Networks of images, whose layers have windows.
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/execute.hpp>

#include "../planned.hpp"

using namespace cairn;

namespace {

using Same = Conv2d<8, 8, 3, padding<1>>;
// Activations that a convolution applies itself, addends and branches side by side.
using Net = Sequential<Input<6, 5, 3>, Conv2d<3, 8, 3, padding<1>, no_bias>, ReLU, Residual<Same, ReLU, Same>, ReLU,
                       Repeat<2, Residual<ReLU, Conv2d<8, 8, 3, padding<1>, groups<2>>>>,
                       Concat<Conv2d<8, 4, 1>, Sequential<Same, Tanh>, Conv2d<8, 6, 3, padding<2>, dilation<2>>>,
                       Conv2d<18, 8, 3, stride<2>, padding<1>>, ReLU, Flatten, Linear<72, 4>>;

} // namespace

TEST_CASE_TEMPLATE("images: convolutions in blocks and in branches, under every policy", T, float, double) {
  testing::check_network<Net, 5, T>();
}
