// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>

#include <cairn/core/config.hpp>

namespace cairn {

// A schedule says the learning rate of every step. It is a value and a pure function, so a job that is taken
// up again goes on with the right rate; `step` is how many steps have been done before, 0 in the first.
template <class S>
concept learning_rate_schedule = std::copyable<S> && requires(const S& s, std::uint64_t step) {
  { s.at(step) } -> std::same_as<double>;
};

// The same rate all the time.
struct constant_rate {
  double learning_rate = 1e-3;

  double at(std::uint64_t) const { return learning_rate; }
};

// Multiplied by gamma every `step_size` steps, as torch's StepLR.
struct step_rate {
  double learning_rate = 1e-3;
  std::uint64_t step_size = 1;
  double gamma = 0.1;

  double at(std::uint64_t step) const {
    const std::uint64_t times = step / std::max<std::uint64_t>(step_size, 1);
    return learning_rate * std::pow(gamma, static_cast<double>(times));
  }
};

// Rises in a straight line from learning_rate x start_factor during the first `warm_up` steps, then falls
// along half a cosine to min_rate at step `total_steps`, where it stays. torch's LinearLR followed by
// CosineAnnealingLR, put together by SequentialLR, with T_max = total_steps - warm_up (Loshchilov, Hutter:
// SGDR. arXiv:1608.03983, without restarts).
struct cosine_rate {
  double learning_rate = 1e-3;
  std::uint64_t total_steps = 1;
  std::uint64_t warm_up = 0;
  double start_factor = 1.0 / 3; // torch's default
  double min_rate = 0;

  double at(std::uint64_t step) const {
    if (step < warm_up) {
      const double done = static_cast<double>(step) / static_cast<double>(warm_up);
      return learning_rate * (start_factor + (1 - start_factor) * done);
    }
    if (step >= total_steps) return min_rate;
    const double done = static_cast<double>(step - warm_up) / static_cast<double>(total_steps - warm_up);
    return min_rate + (learning_rate - min_rate) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
};

static_assert(learning_rate_schedule<constant_rate> && learning_rate_schedule<step_rate> && learning_rate_schedule<cosine_rate>);

} // namespace cairn
