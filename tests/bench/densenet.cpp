// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/dense_transition.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/dense_block.hpp>
#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/predicted_step.hpp>

#include "bench.hpp"

using namespace cairn;

namespace {

template <std::size_t In>
using transition = Sequential<DenseTransition<In / 2>, AvgPool2d<2>>;

// DenseNet-BC of depth 100 and growth 12 for images of 32x32, as Huang et al. train it on CIFAR.
template <class Policy>
using densenet_100 = Sequential<Input<32, 32, 3>, Conv2d<3, 24, 3, padding<1>, no_bias>, DenseBlock<16, 12, Policy>,
                                transition<216>, DenseBlock<16, 12, Policy>, transition<300>, DenseBlock<16, 12, Policy>,
                                BatchNorm2d<342>, ReLU, AdaptiveAvgPool2d<1, 1>, Flatten, Linear<342, 10>>;

// `Stored` is the model without its outer policy: with what its stages cost, one by one, the time of any policy is predicted.
template <class Model, class Stored = Model>
bool run(const request& asked, const char* mode) {
  if (asked.mode != mode) return false;
  const auto times = op_times<Model, batch<64>>::of_stages(measured_costs<Stored, 64>({.threads = asked.threads}));
  double predicted = 0;
  for (const double seconds : times.ops()) predicted += 1e3 * seconds;
  measure<Model, CrossEntropyLoss, 64>(asked, mode, 100, {.learning_rate = 1e-1, .momentum = 0.9}, [](auto&) {}, predicted);
  return true;
}

} // namespace

// All bottlenecks stored, and none; and both with only every √n-th stage stored.
bool bench_densenet(const request& asked) {
  using stored = densenet_100<store_all>;
  using efficient = densenet_100<recompute_all>;
  return run<stored>(asked, "naive") || run<efficient>(asked, "efficient") ||
         run<checkpoint<sqrt_n, stored>, stored>(asked, "blocks") ||
         run<checkpoint<sqrt_n, efficient>, efficient>(asked, "efficient_blocks");
}
