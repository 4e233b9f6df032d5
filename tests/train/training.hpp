// SPDX-License-Identifier: MIT
// Common parts of the tests of training: a network with everything in it, and samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../net/layers.hpp"

namespace testing {

inline constexpr std::size_t features = 10, classes = 4;

// The last Linear inside the block reads the output of Dropout, so the block's forward really runs again.
using Net = cairn::Sequential<cairn::Linear<features, 16>, cairn::ReLU,
                              cairn::Repeat<2, cairn::Residual<cairn::LayerNorm<16>, cairn::Linear<16, 16>, cairn::ReLU>>,
                              cairn::checkpoint<cairn::recompute_all, cairn::Sequential<cairn::Linear<16, 16>, Witness,
                                                                                        cairn::Dropout<>, cairn::Linear<16, 16>>>,
                              cairn::Linear<16, classes>>;

inline constexpr cairn::SGD momentum{.learning_rate = 0.1, .momentum = 0.9};

// Rows of numbers in [-1, 1) with a class each; another stream has other samples.
template <class T = float>
struct samples {
  std::vector<T> x;
  std::vector<int> y;

  samples(std::size_t rows, std::uint32_t stream) : x(rows * features), y(rows) {
    const cairn::types::random_key key{.seed = 11, .step = 0, .position = stream};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * cairn::ops::random_uniform<T>(key, i) - 1;
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(cairn::ops::random_bits(key, (1U << 20) + r) % classes);
  }
};

// A copy of the elements of a view, whose memory may be overwritten later.
template <class View>
std::vector<float> copy_of(const View& view) {
  return {view.begin(), view.end()};
}

// The text of the cairn::error that f throws; empty if it throws none.
template <class F>
std::string text_of(F&& f) {
  try {
    f();
  } catch (const cairn::error& thrown) {
    return thrown.what();
  }
  return {};
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace testing
