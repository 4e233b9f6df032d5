// SPDX-License-Identifier: MIT
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>

#include "bench.hpp"

using namespace cairn;

// VGG-11 (Simonyan and Zisserman 2015) for images of 32x32, with one Linear.
bool bench_vgg(const request& asked) {
  using net = Sequential<Input<32, 32, 3>, Conv2d<3, 64, 3, padding<1>>, ReLU, MaxPool2d<2>,                         //
                         Conv2d<64, 128, 3, padding<1>>, ReLU, MaxPool2d<2>,                                         //
                         Conv2d<128, 256, 3, padding<1>>, ReLU, Conv2d<256, 256, 3, padding<1>>, ReLU, MaxPool2d<2>, //
                         Conv2d<256, 512, 3, padding<1>>, ReLU, Conv2d<512, 512, 3, padding<1>>, ReLU, MaxPool2d<2>, //
                         Conv2d<512, 512, 3, padding<1>>, ReLU, Conv2d<512, 512, 3, padding<1>>, ReLU, MaxPool2d<2>, //
                         Flatten, Linear<512, 10>>;
  measure<net, CrossEntropyLoss, 32>(asked, "naive", 11, {.learning_rate = 1e-2, .momentum = 0.9}, [](auto&) {});
  return true;
}
