// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/batch.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/training_options.hpp>

namespace cairn {

template <class Model, class Loss, class Optimizer, class Batch, class T = float, class Device = cpu>
class trainer; // train/trainer.hpp

} // namespace cairn

namespace cairn::detail {

// Stand-ins for a loss and an optimizer after an error.
struct stand_in_loss {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape&) { return 1; }
  template <class, class>
  static constexpr bool takes = true;
  template <class Queue, class T, class Target>
  static void run(Queue&, const loss_call<T, Target>&) {}
};
struct stand_in_optimizer {
  double learning_rate = 0;
  std::size_t states() const { return 0; }
  template <class Queue, class T>
  void update(Queue&, const update_call<T>&) const {}
};
template <class T>
using stand_in_trainer = trainer<Sequential<stand_in_layer>, stand_in_loss, stand_in_optimizer, batch<1>,
                                 std::conditional_t<floating_element<T>, T, float>, cpu>;

} // namespace cairn::detail

namespace cairn {

// A trainer whose arguments do not fit together, after the error about them. It has all members of a trainer, so that no other
// error follows.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
  requires(!detail::right_training<Model, Loss, Optimizer, Batch, T, Device>) //
class trainer<Model, Loss, Optimizer, Batch, T, Device> : public detail::stand_in_trainer<T> {
public:
  using communicator_type = typename detail::distribution<Model>::communicator_type;

  using options = typename detail::stand_in_trainer<T>::options;

  explicit trainer(const Optimizer&, options = {}) : detail::stand_in_trainer<T>(detail::stand_in_optimizer{}) {}
  trainer(communicator_type&, const Optimizer&, options = {}) : detail::stand_in_trainer<T>(detail::stand_in_optimizer{}) {}
  template <class... Given>
  explicit trainer(Given&&...) : detail::stand_in_trainer<T>(detail::stand_in_optimizer{}) {}

  // The function was written for the outputs of another network, so it is not checked.
  template <class Inputs, class F>
  double step_by(const Inputs&, F&&) {
    return 0;
  }
  template <class Inputs, class F>
  double accumulate_by(const Inputs&, F&&) {
    return 0;
  }
};

} // namespace cairn
