// SPDX-License-Identifier: MIT
// A program that does a little of everything with a trainer, on any device, and records every number that it sees. It spoils the
// samples that it passes to the trainer as soon as the call returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>

#include "apart_ops.hpp"
#include "training.hpp"

namespace apart {

using cairn::BatchNorm1d, cairn::Dropout, cairn::LayerNorm, cairn::Linear, cairn::ReLU, cairn::Residual, cairn::Sequential;

// The numbers that the program sees, bit for bit.
struct seen {
  std::vector<std::uint64_t> bits;

  void add(double number) {
    std::uint64_t word = 0;
    std::memcpy(&word, &number, sizeof word);
    bits.push_back(word);
  }
  void add(std::uint64_t number) { bits.push_back(number); }
  template <class Numbers>
  void add_all(const Numbers& numbers) {
    for (const auto& x : numbers) add(static_cast<double>(x));
  }
  bool operator==(const seen&) const = default;
};

// Calls f with samples, and spoils them as soon as it returns.
template <class T, class F>
auto with_samples(std::size_t rows, std::uint32_t stream, F&& f) {
  testing::samples<T> given(rows, stream);
  const auto told = f(given.x, given.y);
  std::fill(given.x.begin(), given.x.end(), std::numeric_limits<T>::quiet_NaN());
  std::fill(given.y.begin(), given.y.end(), -1);
  return told;
}

// The network of these tests: every kind of state, random numbers, statistics, and a block inside a block.
using Net = Sequential<Linear<testing::features, 16>, BatchNorm1d<16>, ReLU,
                       Residual<LayerNorm<16>, Linear<16, 16>, ReLU, Dropout<cairn::percent<25>>>, Linear<16, testing::classes>>;

template <class Trainer>
void use(Trainer& t, seen& out, std::uint32_t rank) {
  using T = typename Trainer::number;
  const auto step = [&](std::size_t rows, std::uint32_t stream) {
    return with_samples<T>(rows, stream + 100 * rank, [&](const auto& x, const auto& y) { return t.step(x, y); });
  };
  // Losses are read late: that of a step while the next step is in flight.
  auto last = step(6, 1);
  for (std::uint32_t s = 2; s < 6; ++s) {
    auto next = step(s == 4 ? 2 : 6, s);
    out.add(double{last});
    last = next;
  }
  out.add(double{last});
  t.learning_rate(0.003);
  if constexpr (!Trainer::fused) {
    for (std::uint32_t s = 6; s < 8; ++s)
      out.add(double{with_samples<T>(5, s + 100 * rank, [&](const auto& x, const auto& y) { return t.accumulate(x, y); })});
    out.add(double{step(6, 8)});
    out.add(t.gradient_norm());
    t.for_each_gradient([&](const auto& q) { out.add_all(q.numbers); });
  }
  out.add(double{step(6, 9)});
  out.add(with_samples<T>(4, 10, [&](const auto& x, const auto& y) { return t.evaluate_loss(x, y); }));
  with_samples<T>(3, 11, [&](const auto& x, const auto&) { return out.add_all(t.evaluate(x)), 0; });
  with_samples<T>(3, 12, [&](const auto& x, const auto&) { return out.add_all(t.forward(x)), 0; });
  out.add(double{step(6, 13)});
  t.for_each_optimizer_state([&](std::size_t, const auto& q) { out.add_all(q.numbers); });
  t.for_each_buffer([&](const auto& q) { out.add_all(q.numbers); });
  out.add(t.checksum());
}

} // namespace apart
