// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/optimizer.hpp>

namespace cairn {

// Adam with decoupled weight decay: each step first multiplies the parameters by 1 - learning_rate x weight_decay.
// It is torch.optim.AdamW without amsgrad: same names, defaults and formula.
struct AdamW {
  double learning_rate = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;

  constexpr std::size_t states() const { return 2; }
  std::array<double, 5> settings() const { return {learning_rate, betas[0], betas[1], eps, weight_decay}; }

  static constexpr bool takes_decision = true;

  void check() const { detail::check_adam(*this); }

  template <class T, detail::adam_runs_on<T> Queue>
  void update(Queue& queue, const update_call<T>& call) const {
    detail::update_adam(queue, call, betas, eps, 0, 1 - call.learning_rate * weight_decay);
  }
};

static_assert(optimizer<AdamW>);

} // namespace cairn
