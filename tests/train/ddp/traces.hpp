// SPDX-License-Identifier: MIT
// Traces of training, which the tests of several ranks compare bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace testing {

inline constexpr int steps = 3;

// The samples of a rank in a step; rank 1 has fewer rows than the others.
inline samples<> samples_of(int step, int rank) {
  return samples<>(static_cast<std::size_t>(rank == 1 ? 4 : 6), static_cast<std::uint32_t>(10 * step + rank));
}

// The results on a rank after each step of a job; the losses are the rank's own.
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

// Trains on the same samples as micro-batches of one process, which stores all activations; the losses are those of `rank`.
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
