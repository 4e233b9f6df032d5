// SPDX-License-Identifier: MIT
// A whole DenseNet-BC in training: all stored, and under a policy that recomputes bottlenecks and blocks.
//
// long to compile
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/dense/dense_transition.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/train/trainer.hpp>

#include "../image_training.hpp"

namespace trainer_densenet_tests {

using namespace cairn;

namespace {

template <std::size_t Channels>
using Transition = Sequential<BatchNorm2d<Channels>, ReLU, Conv2d<Channels, Channels / 2, 1, no_bias>, AvgPool2d<2>>;
template <std::size_t Channels>
using Fused = Sequential<DenseTransition<Channels / 2>, AvgPool2d<2>>;
template <class Policy, template <std::size_t> class Transition>
using Net = Sequential<Input<8, 8, 3>, Conv2d<3, 4, 3, padding<1>, no_bias>, DenseBlock<2, 2, Policy>, Transition<8>,
                       DenseBlock<1, 2, Policy>, Transition<6>, DenseBlock<1, 2, Policy>, BatchNorm2d<5>, ReLU,
                       AdaptiveAvgPool2d<1>, Flatten, Linear<5, 4>>;

} // namespace

TEST_CASE("trainer: a DenseNet has PyTorch's losses, gradients, parameters and running statistics, stored or made again") {
  CHECK(testing::distance_of_images<Net<store_all, Fused>, double>("densenet", 35, "2.0.norm") < 1e-10);
  CHECK(testing::distance_of_images<checkpoint<sqrt_n, Net<recompute_all, Transition>>, float>("densenet", 35, "2.0") < 1e-4);
}

} // namespace trainer_densenet_tests
