// SPDX-License-Identifier: MIT
// What the tests of the bits of several ranks compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace testing {

inline constexpr int steps = 3;

// A rank works on these samples in a step: of different numbers of rows.
inline samples<> samples_of(int step, int rank) {
  return samples<>(static_cast<std::size_t>(rank == 1 ? 4 : 6), static_cast<std::uint32_t>(10 * step + rank));
}

// What a job leaves on a rank after each step; losses are its own.
struct trace {
  std::vector<std::vector<float>> gradients{};
  std::vector<double> losses{}, norms{};
  std::uint64_t checksum = 0;

  template <class Trainer>
  void look_at(Trainer& t, double loss) {
    gradients.emplace_back(t.gradients().begin(), t.gradients().end());
    losses.push_back(loss);
    norms.push_back(t.gradient_norm());
    checksum = t.checksum();
  }
};

// The same samples as micro-batches of one rank, which stores everything and is alone; with the losses of one of them.
inline trace run_alone(int micro_batches, cairn::clip_norm clip = {}, int rank = 0) {
  using namespace cairn;
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> t{momentum, {.seed = 3, .clip = clip}};
  trace out;
  for (int step = 0; step < steps; ++step) {
    double own = 0;
    for (int m = 0; m < micro_batches; ++m) {
      const samples<> s = samples_of(step, m);
      const double loss = m + 1 < micro_batches ? t.accumulate(s.x, s.y) : t.step(s.x, s.y);
      if (m == rank) own = loss;
    }
    out.look_at(t, own);
  }
  return out;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace testing
