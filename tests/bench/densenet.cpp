// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/comm/threads/threads.hpp>
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
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/predicted_step.hpp>

#include "ranks.hpp"

using namespace cairn;

namespace {

template <std::size_t In>
using transition = Sequential<DenseTransition<In / 2>, AvgPool2d<2>>;

// DenseNet-BC of depth 100 and growth 12 for images of 32x32, as Huang et al. train it on CIFAR. `First` is the policy of the
// first block, which has most of the memory.
template <class Policy, class First = Policy>
using densenet_100 = Sequential<Input<32, 32, 3>, Conv2d<3, 24, 3, padding<1>, no_bias>, DenseBlock<16, 12, First>,
                                transition<216>, DenseBlock<16, 12, Policy>, transition<300>, DenseBlock<16, 12, Policy>,
                                BatchNorm2d<342>, ReLU, AdaptiveAvgPool2d<1, 1>, Flatten, Linear<342, 10>>;

constexpr std::size_t samples_of_rank = 64;
constexpr SGD optimizer{.learning_rate = 1e-1, .momentum = 0.9};

// `Stored` is the model without its outer policy: the measured costs of its stages predict the time of any policy.
template <class Model, class Stored = Model>
bool run(const request& asked, const char* mode) {
  if (asked.mode != mode || asked.world != 1) return false;
  const auto times = plan::op_times<Model, batch<samples_of_rank>>::of_stages(
      plan::measured_costs<Stored, samples_of_rank>({.threads = asked.threads}));
  double predicted = 0;
  for (const double seconds : times.ops()) predicted += 1e3 * seconds;
  measure<Model, CrossEntropyLoss, samples_of_rank>(asked, mode, 100, optimizer, [](auto&) {}, predicted);
  return true;
}
template <class Model>
bool run_ranks(const request& asked, const char* mode) {
  if (asked.mode != mode || asked.world == 1 || asked.communicator != "threads") return false;
  threads group(static_cast<int>(asked.world));
  step_on_ranks<ddp<Model, timed<threads::rank>>, samples_of_rank>(asked, group, describe_step<Model, samples_of_rank>(mode, 100),
                                                                   optimizer);
  return true;
}

} // namespace

// Bottlenecks: all stored, all but the first block's, or none. Stages: all stored, within a budget, or only every √n-th one.
bool bench_densenet(const request& asked) {
  using stored = densenet_100<store_all>;
  using efficient = densenet_100<recompute_all>;
  return run<stored>(asked, "naive") || run<densenet_100<store_all, recompute_all>>(asked, "first_block") ||
         run<efficient>(asked, "efficient") || run<checkpoint<budget<140_MiB>, efficient>, efficient>(asked, "within_140") ||
         run<checkpoint<sqrt_n, stored>, stored>(asked, "blocks") ||
         run<checkpoint<sqrt_n, efficient>, efficient>(asked, "efficient_blocks") || run_ranks<stored>(asked, "naive") ||
         run_ranks<efficient>(asked, "efficient");
}
