// SPDX-License-Identifier: MIT
// ResNet-20 on CIFAR-10 (He, Zhang, Ren, Sun: Deep residual learning for image recognition, 2015, section 4.2). Where a block has
// more channels at half the size, its shortcut is a projection: option B of the paper.
//
// long to compile
// uses: image_training
// has --device cuda
// test: --epochs 1 --samples 256 --test 128
// test: --epochs 1 --samples 128 --test 64 --policy all --communicator loopback
// test: --table 2 --samples 256 --test 64 --batch 16
// test on a GPU: --device cuda --epochs 1 --samples 128 --test 64 --policy all --communicator loopback
#include <array>
#include <cstddef>

#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/plan/policies.hpp>

#include "../image_training/image_training.hpp"
#include "../image_training/trainers.hpp"

namespace mine {

using namespace cairn;

namespace {

template <std::size_t From, std::size_t To, class... Stride>
using Conv3x3 = Sequential<Conv2d<From, To, 3, padding<1>, no_bias, Stride...>, BatchNorm2d<To>>;

template <std::size_t Channels>
using Block = Sequential<Residual<Conv3x3<Channels, Channels>, ReLU, Conv3x3<Channels, Channels>>, ReLU>;

// The first block of the next size.
template <std::size_t From, std::size_t To>
using Half = Sequential<Residual<shortcut<Conv2d<From, To, 1, stride<2>, no_bias>, BatchNorm2d<To>>, //
                                 Conv3x3<From, To, stride<2>>, ReLU, Conv3x3<To, To>>,
                        ReLU>;

// 6 N + 2 layers: N blocks at each of three sizes.
template <std::size_t N>
using ResNet = Sequential<Input<32, 32, 3>, Conv3x3<3, 16>, ReLU, Repeat<N, Block<16>>, Half<16, 32>, Repeat<N - 1, Block<32>>,
                          Half<32, 64>, Repeat<N - 1, Block<64>>, AdaptiveAvgPool2d<1>, Flatten, Linear<64, 10>>;

using Net = ResNet<3>;
static_assert(peak_activation_bytes<Net, 64> < 256_MiB);

constexpr std::array policies{image_training::make_policy<Net>("store_all"),
                              image_training::make_policy<checkpoint<recompute_cheap, Net>>("recompute_cheap"),
                              image_training::make_policy<checkpoint<sqrt_n, Net>>("sqrt_n"),
                              image_training::make_policy<checkpoint<recompute_all, Net>>("recompute_all")};
constexpr std::array networks{image_training::network{"ResNet-20", policies}};

} // namespace

int program(int count, char** words) {
  return image_training::run({.program = "resnet",
                              .purpose = "trains ResNet-20 on CIFAR-10",
                              .devices = image_training::devices_of_program,
                              .optimizer = {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-4},
                              .epochs = 10,
                              .networks = networks},
                             count, words);
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
