// SPDX-License-Identifier: MIT
// A small network and how it is trained, on any device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>

namespace testing {

inline constexpr std::size_t features = 12, classes = 5, most_rows = 8;

using Net = cairn::Sequential<
    cairn::Linear<features, 16>, cairn::ReLU, cairn::BatchNorm1d<16>,
    cairn::Residual<cairn::LayerNorm<16>, cairn::Linear<16, 16>, cairn::ReLU, cairn::Dropout<cairn::percent<25>>>,
    cairn::Linear<16, classes>>;

template <class Model, class Device>
using trainer_of = cairn::trainer<Model, cairn::CrossEntropyLoss, cairn::AdamW, cairn::batch<most_rows>, float, Device>;

struct samples {
  std::vector<float> x;
  std::vector<int> y;
  samples(std::size_t rows, std::uint64_t step) : x(rows * features), y(rows) {
    const cairn::types::random_key key{.seed = 11, .step = step};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * cairn::ops::random_uniform<float>(key, i) - 1;
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(cairn::ops::random_bits(key, 100'000 + r) % classes);
  }
};

// Trains for steps of full batches and a short one, then evaluates. Returns the losses and all parameters.
template <class Model, class Device>
std::vector<float> trained(std::size_t steps = 5) {
  using type = trainer_of<Model, Device>;
  typename type::options given{.seed = 5};
  if constexpr (!type::fused) given.clip.max_norm = 0.5;
  type t{cairn::AdamW{.learning_rate = 0.02}, std::move(given)};
  std::vector<float> seen;
  for (std::size_t s = 0; s < steps; ++s) {
    const samples given_now(s == 2 ? 3 : most_rows, s);
    seen.push_back(static_cast<float>(double{t.step(given_now.x, given_now.y)}));
  }
  const samples last(most_rows, 100);
  seen.push_back(static_cast<float>(t.evaluate_loss(last.x, last.y)));
  t.for_each([&](const auto& q) { seen.insert(seen.end(), q.numbers.begin(), q.numbers.end()); });
  return seen;
}

} // namespace testing
