// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/cairn_cuda.cuh>

#include "parts.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

constexpr std::size_t steps = 20, samples = 32;

// The loss of each step of a small network with a product, a norm, an activation and dropout.
template <class Device>
std::vector<double> losses() {
  using net = Sequential<Linear<64, 128>, LayerNorm<128>, GELU, Dropout<cairn::percent<10>>, Residual<Linear<128, 128>, ReLU>,
                         Linear<128, 10>>;
  trainer<checkpoint<sqrt_n, net>, CrossEntropyLoss, AdamW, batch<samples>, float, Device> train{AdamW{.learning_rate = 1e-3}};
  std::vector<float> x(samples * 64);
  std::vector<int> y(samples);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>({.seed = 1}, i) - 1;
  for (std::size_t i = 0; i < samples; ++i) y[i] = static_cast<int>(ops::random_bits({.seed = 2}, i) % 10);
  std::vector<double> found;
  for (std::size_t i = 0; i < steps; ++i) found.push_back(train.step(x, y));
  return found;
}

} // namespace

bool smokes() {
  const std::vector<double> gpu = losses<cairn::cuda>(), processor = losses<cpu>();
  table rows({"step", "loss on the GPU", "loss on the processor"}, 0);
  double apart = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    char at[2][32];
    std::snprintf(at[0], sizeof at[0], "%.6f", gpu[i]);
    std::snprintf(at[1], sizeof at[1], "%.6f", processor[i]);
    if (i % 5 == 0 || i + 1 == steps) rows.row({std::to_string(i + 1), at[0], at[1]});
    const double one = std::abs(gpu[i] - processor[i]);
    apart = std::isnan(one) || std::isnan(apart) ? std::nan("") : std::max(apart, one);
  }
  const bool learns = gpu.back() < 0.8 * gpu.front(), agrees = apart <= 1e-4;
  std::printf("\n%zu steps: losses are at most %.1e apart%s%s.\n", steps, apart, agrees ? "" : ", expected 1e-4",
              learns ? "" : "; the network does not learn");
  return learns && agrees;
}

} // namespace gpu_bench
