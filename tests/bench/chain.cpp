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

template <class Policy, std::size_t Depth>
bool run(const request& asked, const char* mode) {
  if (asked.depth != Depth || asked.mode != mode) return false;
  // The second product of each block begins small, so that the sum of many stays near the input.
  const auto prepare = [](auto& train) {
    train.for_each([](const auto& p) {
      if (p.name.ends_with(".2.weight"))
        for (float& w : p.numbers) w /= static_cast<float>(Depth);
    });
  };
  measure<checkpoint<Policy, chain_net<Depth>>, CrossEntropyLoss, 1024>(
      asked, mode, Depth, {.learning_rate = 1e-3, .momentum = 0.9}, prepare);
  return true;
}

template <std::size_t Depth>
bool any_policy(const request& asked) {
  return run<store_all, Depth>(asked, "naive") || run<sqrt_n, Depth>(asked, "sqrt");
}

} // namespace

bool bench_chain(const request& asked) {
  return any_policy<10>(asked) || any_policy<30>(asked) || any_policy<100>(asked) || any_policy<300>(asked);
}
