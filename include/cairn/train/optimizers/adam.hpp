// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <cairn/ops/adam/adam.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// Refuses the same numbers as torch.optim.Adam and AdamW.
template <class Optimizer>
void check_adam(const Optimizer& o) {
  constexpr double below_1 = 1 - std::numeric_limits<double>::epsilon() / 2;
  for (const double beta : o.betas) check_number("Adam, AdamW: expected betas of 0 or more and below 1", beta, 0, below_1);
  check_number("Adam, AdamW: expected an eps of 0 or more", o.eps);
  check_number("Adam, AdamW: expected a weight_decay of 0 or more", o.weight_decay);
}

// The update of Adam and AdamW. `shrink` multiplies the parameters first; `decay` times the parameters is added to the gradient.
template <class Queue, class T>
void update_adam(Queue& queue, const update_call<T>& call, const std::array<double, 2>& betas, double eps, double decay,
                 double shrink) {
  const auto rate = [&](std::uint64_t step) {
    return static_cast<T>(call.learning_rate / (1 - std::pow(betas[0], static_cast<double>(step))));
  };
  const auto correction = [&](std::uint64_t step) {
    return static_cast<T>(1 / std::sqrt(1 - std::pow(betas[1], static_cast<double>(step))));
  };
  const adam_coefficients<T> c{.scale = call.scale.number,
                               .keep_mean = static_cast<T>(betas[0]),
                               .fresh_mean = static_cast<T>(1 - betas[0]),
                               .keep_square = static_cast<T>(betas[1]),
                               .fresh_square = static_cast<T>(1 - betas[1]),
                               .correction = correction(call.step),
                               .eps = static_cast<T>(eps),
                               .rate = rate(call.step),
                               .weight_decay = static_cast<T>(decay),
                               .shrink = static_cast<T>(shrink),
                               .factor = call.scale.factor,
                               .decision = call.decision,
                               .correction_if_one_less = correction(call.step_if_one_less()),
                               .rate_if_one_less = rate(call.step_if_one_less())};
  adam(queue, call.count, call.parameters, call.states[0], call.states[1], call.gradients, c);
}

} // namespace cairn::detail

namespace cairn {

// Adam with weight decay added to the gradient, as torch.optim.Adam without amsgrad: same names, defaults and
// formula. See ops/adam/adam.hpp. It has two states: the running means of the gradient and of its square.
struct Adam {
  double learning_rate = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;

  constexpr std::size_t states() const { return 2; }
  std::array<double, 5> settings() const { return {learning_rate, betas[0], betas[1], eps, weight_decay}; }

  static constexpr bool takes_decision = true;

  void check() const { detail::check_adam(*this); }

  template <class T, detail::adam_runs_on<T> Queue>
  void update(Queue& queue, const update_call<T>& call) const {
    detail::update_adam(queue, call, betas, eps, weight_decay, 1);
  }
};

static_assert(optimizer<Adam>);

} // namespace cairn
