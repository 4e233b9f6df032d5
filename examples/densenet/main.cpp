// SPDX-License-Identifier: MIT
// DenseNet-BC on CIFAR-10, with depth and growth as template parameters (Huang, Liu, van der Maaten, Weinberger: Densely
// connected convolutional networks, 2017). It is known for the memory that it needs if each layer's input is concatenated and
// normalised anew: Pleiss and others (Memory-efficient implementation of DenseNets, 2017) traded that memory for time. Here all
// channels lie in one buffer that grows, and only the bottlenecks are left to be stored or recomputed.
//
// long to compile
// uses: image_training
// has --device cuda
// test: --epochs 1 --samples 256 --test 128
// test: --epochs 1 --samples 128 --test 64 --policy all --communicator loopback
// test: --network DenseNet-BC-100 --table 1 --samples 64 --test 16 --batch 4
// test on a GPU: --device cuda --epochs 1 --samples 128 --test 64 --policy all --communicator loopback
#include <array>
#include <cstddef>

#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/dense/dense_transition.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/plan/policies.hpp>

#include "../image_training/image_training.hpp"
#include "../image_training/trainers.hpp"

namespace mine {

using namespace cairn;

namespace {

// Half of the channels, at half the size.
template <std::size_t Channels>
using Transition = Sequential<DenseTransition<Channels / 2>, AvgPool2d<2>>;

template <std::size_t Depth, std::size_t Growth, class Policy>
struct densenet_bc {
  static constexpr std::size_t layers = (Depth - 4) / 6, grown = layers * Growth; // in each of three blocks
  static constexpr std::size_t first = 2 * Growth + grown, second = first / 2 + grown, third = second / 2 + grown;
  using block = DenseBlock<layers, Growth, Policy>;
  using type = Sequential<Input<32, 32, 3>, Conv2d<3, 2 * Growth, 3, padding<1>, no_bias>, block, Transition<first>, block,
                          Transition<second>, block, BatchNorm2d<third>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<third, 10>>;
};
template <std::size_t Depth, std::size_t Growth, class Policy = store_all>
using DenseNetBC = typename densenet_bc<Depth, Growth, Policy>::type;

static_assert(peak_activation_bytes<DenseNetBC<100, 12, recompute_all>, 64> < 200_MiB);

constexpr std::array small{image_training::make_policy<DenseNetBC<22, 12>>("store_all"),
                           image_training::make_policy<DenseNetBC<22, 12, recompute_all>>("recompute_all")};
constexpr std::array large{image_training::make_policy<DenseNetBC<100, 12>>("store_all"),
                           image_training::make_policy<DenseNetBC<100, 12, store_last<8>>>("store_last<8>"),
                           image_training::make_policy<DenseNetBC<100, 12, recompute_all>>("recompute_all")};
constexpr std::array networks{image_training::network{"DenseNet-BC-22", small},
                              image_training::network{"DenseNet-BC-100", large}};

} // namespace

int program(int count, char** words) {
  return image_training::run({.program = "densenet",
                              .purpose = "trains DenseNet-BC of growth 12 on CIFAR-10",
                              .devices = image_training::devices_of_program,
                              .optimizer = {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-4, .nesterov = true},
                              .epochs = 11,
                              .batch = 32,
                              .networks = networks},
                             count, words);
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
