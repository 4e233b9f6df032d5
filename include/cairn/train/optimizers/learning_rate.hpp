// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <span>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// A schedule gives the learning rate of every step; `step` is the number of steps before it, 0 for the first. It is a value and
// a pure function, so a resumed job goes on with the right rate. A resume identifies a schedule by its settings(), all its
// numbers as a range of double, or by its bytes if it has no settings().
template <class S>
concept learning_rate_schedule = std::copyable<S> && requires(const S& s, std::uint64_t step) {
  { s.at(step) } -> std::same_as<double>;
};

// The same rate in every step.
struct constant_rate {
  double learning_rate = 1e-3;

  double at(std::uint64_t) const { return learning_rate; }
  std::array<double, 1> settings() const { return {learning_rate}; }
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
  std::array<double, 3> settings() const { return {learning_rate, static_cast<double>(step_size), gamma}; }
};

// Rises linearly from learning_rate x start_factor during the first `warm_up` steps, then falls along half a cosine
// to min_rate at step `total_steps`, where it stays. It is torch's SequentialLR of LinearLR and CosineAnnealingLR,
// with T_max = total_steps - warm_up (Loshchilov, Hutter: SGDR. arXiv:1608.03983, without restarts).
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
  std::array<double, 5> settings() const {
    return {learning_rate, static_cast<double>(total_steps), static_cast<double>(warm_up), start_factor, min_rate};
  }
};

// Moves linearly from learning_rate x start_factor to learning_rate x end_factor at step `total_steps`, where it stays, as
// torch's LinearLR: a warm-up, or with factors of 1 and 0 a decay.
struct linear_rate {
  double learning_rate = 1e-3;
  std::uint64_t total_steps = 5;
  double start_factor = 1.0 / 3;
  double end_factor = 1;

  double at(std::uint64_t step) const {
    const double done = step < total_steps ? static_cast<double>(step) / static_cast<double>(total_steps) : 1;
    return learning_rate * (start_factor + (end_factor - start_factor) * done);
  }
};

// Multiplied by gamma after every step, as torch's ExponentialLR.
struct exponential_rate {
  double learning_rate = 1e-3;
  double gamma = 0.99;

  double at(std::uint64_t step) const { return learning_rate * std::pow(gamma, static_cast<double>(step)); }
};

// Falls along half a cosine to min_rate during a period, and restarts with the next one, as torch's
// CosineAnnealingWarmRestarts (SGDR. arXiv:1608.03983). The first period is `period` steps, and each further one
// `period_factor` times as long as the one before.
struct cosine_restarts_rate {
  double learning_rate = 1e-3;
  std::uint64_t period = 1;
  std::uint64_t period_factor = 1;
  double min_rate = 0;

  double at(std::uint64_t step) const {
    std::uint64_t length = std::max<std::uint64_t>(period, 1), inside = step;
    if (period_factor < 2) inside = step % length;
    while (inside >= length) { // at most 64 times
      inside -= length;
      const bool is_endless = length > std::numeric_limits<std::uint64_t>::max() / period_factor;
      length = is_endless ? std::numeric_limits<std::uint64_t>::max() : length * period_factor;
    }
    const double done = static_cast<double>(inside) / static_cast<double>(length);
    return min_rate + (learning_rate - min_rate) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
};

// One cycle, as torch's OneCycleLR (Smith, Topin: Super-Convergence. arXiv:1708.07120): rises along half a cosine from
// max_rate / div_factor to max_rate during the first rise_fraction of `total_steps`, then falls along another one to max_rate /
// div_factor / final_div_factor in the last of them, and stays there. The optimizer's momentum does not change: torch changes it
// too unless cycle_momentum=False.
struct one_cycle_rate {
  double max_rate = 1e-2;
  std::uint64_t total_steps = 1;
  double rise_fraction = 0.3; // torch's pct_start
  double div_factor = 25;
  double final_div_factor = 1e4;

  double at(std::uint64_t step) const {
    const double first = max_rate / div_factor, last = first / final_div_factor;
    const double top = rise_fraction * static_cast<double>(total_steps) - 1, end = static_cast<double>(total_steps) - 1;
    const double now = static_cast<double>(step);
    if (now >= end) return last;
    if (now <= top) return between(first, max_rate, top > 0 ? now / top : 1);
    return between(max_rate, last, (now - top) / (end - top));
  }

private:
  static double between(double from, double to, double done) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
};

// A table of rates. Each holds from its step on, the first one also before it. With `interpolated` the rate moves linearly from
// each to the next. It is for any milestones, where torch has MultiStepLR, PolynomialLR or LambdaLR.
//
//   rate_table{{0, 0.1}, {30'000, 0.01}, {60'000, 0.001}}
//
// It holds at most 15 rates, so that it can be copied byte by byte and compared by a trainer's state. For more rates, write a
// type with at(step).
class rate_table {
public:
  struct entry {
    std::uint64_t step = 0;
    double learning_rate = 0;
  };
  static constexpr std::size_t most = 15;

  rate_table(std::initializer_list<entry> entries, bool interpolated = false)
      : rate_table(std::span(entries.begin(), entries.size()), interpolated) {}
  explicit rate_table(std::span<const entry> entries, bool interpolated = false)
      : count_(entries.size()), interpolated_(interpolated ? 1 : 0) {
    if (entries.empty() || entries.size() > most)
      throw input_error("rate_table: expected 1 to " + std::to_string(most) + " rates, found " + std::to_string(entries.size()) +
                        "; write a schedule of your own with at(step) for more");
    for (std::size_t i = 0; i < count_; ++i) {
      if (i > 0 && entries[i].step <= entries[i - 1].step)
        throw input_error("rate_table: expected steps in ascending order, found step " + std::to_string(entries[i].step) +
                          " after step " + std::to_string(entries[i - 1].step));
      detail::check_number("rate_table: expected rates of 0 or more", entries[i].learning_rate);
      entries_[i] = entries[i];
    }
  }

  std::span<const entry> entries() const { return {entries_.data(), static_cast<std::size_t>(count_)}; }

  double at(std::uint64_t step) const {
    std::size_t i = 0; // the entry that holds
    while (i + 1 < count_ && entries_[i + 1].step <= step) ++i;
    const entry& from = entries_[i];
    if (interpolated_ == 0 || i + 1 == count_ || step <= from.step) return from.learning_rate;
    const entry& to = entries_[i + 1];
    const double done = static_cast<double>(step - from.step) / static_cast<double>(to.step - from.step);
    return from.learning_rate + (to.learning_rate - from.learning_rate) * done;
  }

private:
  std::array<entry, most> entries_{};
  std::uint64_t count_ = 0, interpolated_ = 0; // 8 bytes each: there is no padding, whose bytes could differ
};

static_assert(learning_rate_schedule<constant_rate> && learning_rate_schedule<step_rate> && learning_rate_schedule<cosine_rate> &&
              learning_rate_schedule<linear_rate> && learning_rate_schedule<exponential_rate> &&
              learning_rate_schedule<cosine_restarts_rate> && learning_rate_schedule<one_cycle_rate> &&
              learning_rate_schedule<rate_table>);

} // namespace cairn
