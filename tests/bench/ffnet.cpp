// SPDX-License-Identifier: MIT
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/losses/mse_loss.hpp>

#include "bench.hpp"

using namespace cairn;

namespace {

// FFNet(100, num_hl, hl_size) -> 1 of the tutorial. A Repeat runs at least once, so num_hl = 0 is a type of its own.
template <std::size_t Layers, std::size_t Width>
struct ffnet {
  using type = Sequential<Linear<100, Width>, ReLU, Repeat<Layers, Sequential<Linear<Width, Width>, ReLU>>, Linear<Width, 1>>;
};
template <std::size_t Width>
struct ffnet<0, Width> {
  using type = Sequential<Linear<100, Width>, ReLU, Linear<Width, 1>>;
};
static_assert(blueprint_of<ffnet<0, 10>::type, 32>::parameters == 1'021);
static_assert(blueprint_of<ffnet<3, 100>::type, 32>::parameters == 40'501);

template <std::size_t Layers, std::size_t Width>
bool run(const request& asked) {
  if (asked.num_hl != Layers || asked.hl_size != Width) return false;
  measure<typename ffnet<Layers, Width>::type, MSELoss, 32>(asked, "naive", Layers, {.learning_rate = 1e-3, .momentum = 0.9},
                                                            [](auto&) {});
  return true;
}

} // namespace

bool bench_ffnet(const request& asked) { return run<0, 10>(asked) || run<3, 100>(asked); }
