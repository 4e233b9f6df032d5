// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/ops/sgd/sgd.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// Stochastic gradient descent with momentum and weight decay, as torch.optim.SGD: same names, defaults and
// formula. See ops/sgd/sgd.hpp. It has one state with momentum, and none without.
struct SGD {
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  constexpr std::size_t states() const { return momentum == 0 ? 0 : 1; }
  std::array<double, 5> settings() const { return {learning_rate, momentum, dampening, weight_decay, nesterov ? 1.0 : 0.0}; }

  static constexpr bool takes_decision = true;

  // Refuses the same numbers as torch.optim.SGD.
  void check() const {
    detail::check_number("SGD: expected a momentum of 0 or more", momentum);
    detail::check_number("SGD: expected a weight_decay of 0 or more", weight_decay);
    detail::check_number("SGD: expected a dampening from 0 to 1", dampening, 0, 1);
    if (nesterov && (momentum == 0 || dampening != 0))
      throw input_error("SGD: expected a momentum above 0 and no dampening with nesterov, found a momentum of " +
                        std::to_string(momentum) + " and a dampening of " + std::to_string(dampening));
  }

  template <class T, detail::sgd_runs_on<T> Queue>
  void update(Queue& queue, const update_call<T>& call) const {
    const auto fresh = [this](std::uint64_t step) { return static_cast<T>(step == 1 ? 1 : 1 - dampening); };
    const ops::sgd_coefficients<T> c{.scale = call.scale.number,
                                     .learning_rate = static_cast<T>(call.learning_rate),
                                     .momentum = static_cast<T>(momentum),
                                     .fresh = fresh(call.step),
                                     .weight_decay = static_cast<T>(weight_decay),
                                     .nesterov = nesterov,
                                     .factor = call.scale.factor,
                                     .decision = call.decision,
                                     .fresh_if_one_less = fresh(call.step_if_one_less())};
    sgd(queue, call.count, call.parameters, call.states[0], call.gradients, c);
  }
};

static_assert(optimizer<SGD>);

} // namespace cairn
