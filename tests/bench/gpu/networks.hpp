// SPDX-License-Identifier: MIT
// The networks whose steps are measured, those of tests/bench, and their batches.
#pragma once

#include <cstddef>
#include <vector>

#include <cairn/cairn.hpp>

namespace gpu_bench {

// 784 - 512 x 8 - 10 with ReLU, and residual blocks of two products.
using mlp = cairn::Sequential<cairn::Linear<784, 512>, cairn::ReLU,
                              cairn::Repeat<7, cairn::Sequential<cairn::Linear<512, 512>, cairn::ReLU>>, cairn::Linear<512, 10>>;
template <std::size_t Depth>
using chain =
    cairn::Sequential<cairn::Repeat<Depth, cairn::Residual<cairn::Linear<256, 256>, cairn::ReLU, cairn::Linear<256, 256>>>,
                      cairn::Linear<256, 10>>;

inline constexpr cairn::SGD sgd_of_steps{.learning_rate = 1e-4, .momentum = 0.9};

// Samples between -1 and 1, of ten classes.
struct random_batch {
  std::vector<float> x;
  std::vector<int> y;

  random_batch(std::size_t rows, std::size_t features) : x(rows * features), y(rows) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * cairn::ops::random_uniform<float>({.seed = 1}, i) - 1;
    for (std::size_t i = 0; i < rows; ++i) y[i] = static_cast<int>(cairn::ops::random_bits({.seed = 2}, i) % 10);
  }
};

} // namespace gpu_bench
