// SPDX-License-Identifier: MIT
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>

#include "bench.hpp"

using namespace cairn;

// 784 - 512 x 8 - 10 with ReLU.
bool bench_mlp(const request& asked) {
  using net = Sequential<Linear<784, 512>, ReLU, Repeat<7, Sequential<Linear<512, 512>, ReLU>>, Linear<512, 10>>;
  measure<net, CrossEntropyLoss, 128>(asked, "naive", 8, {.learning_rate = 1e-2, .momentum = 0.9}, [](auto&) {});
  return true;
}
