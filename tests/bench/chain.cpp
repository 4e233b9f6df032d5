// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/cross_entropy_loss.hpp>

#include "bench.hpp"

using namespace cairn;

namespace {

template <std::size_t Depth>
using chain_net =
    Sequential<Repeat<Depth, Residual<Linear<256, 256>, ReLU, Linear<256, 256>>>, Linear<256, 10>>;

// The most bytes of a step beyond parameters, optimizer state and batch. PyTorch has 202 MiB and, in segments, 67.
using deep = chain_net<100>;
static_assert(peak_activation_bytes<fused_update<deep>, 1024> <= 204_MiB);
static_assert(peak_activation_bytes<fused_update<checkpoint<sqrt_n, deep>>, 1024> <= 34_MiB);

template <class Model, std::size_t Depth>
bool run(const request& asked, const char* mode) {
  if (asked.depth != Depth || asked.mode != mode) return false;
  // The second product of each block begins small, so that the sum of many stays near the input.
  const auto prepare = [](auto& train) {
    train.for_each([](const auto& p) {
      if (p.name.ends_with(".2.weight"))
        for (float& w : p.numbers) w /= static_cast<float>(Depth);
    });
  };
  measure<Model, CrossEntropyLoss, 1024>(asked, mode, Depth, {.learning_rate = 1e-3, .momentum = 0.9},
                                         prepare);
  return true;
}

template <std::size_t Depth>
bool any_policy(const request& asked) {
  using net = chain_net<Depth>;
  using rooted = checkpoint<sqrt_n, net>;
  return run<net, Depth>(asked, "naive") || run<rooted, Depth>(asked, "sqrt") ||
         run<fused_update<net>, Depth>(asked, "fused") ||
         run<fused_update<rooted>, Depth>(asked, "fused_sqrt");
}

} // namespace

bool bench_chain(const request& asked) {
  return any_policy<10>(asked) || any_policy<30>(asked) || any_policy<100>(asked) || any_policy<300>(asked);
}
