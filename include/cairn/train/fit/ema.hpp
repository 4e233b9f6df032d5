// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/config.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/optimizers/parameter_groups.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// average + fresh (parameter - average)
template <class T>
struct moved_average {
  T fresh;
  CAIRN_HOST_DEVICE T operator()(T average, T parameter) const { return average + fresh * (parameter - average); }
};

// Passes on is_special() of an optimizer that divides parameters to the optimizer that wraps it.
template <class Optimizer>
struct division_of {};
template <divides_parameters Optimizer>
  requires(!has_groups<Optimizer>)
struct division_of<Optimizer> {
  static constexpr bool is_special(const tensor& t) { return Optimizer::is_special(t); }
};

} // namespace cairn::detail

namespace cairn {

// An optimizer that also keeps a moving average of every parameter, as torch's AveragedModel with get_ema_multi_avg_fn(decay):
// after the first update the average is the parameter, after each later one it is decay x average + (1 - decay) x parameter.
// Training gives the same bits as with `optimizer` alone. The averages are one more state of the optimizer: they are part of a
// saved state, are equal on all ranks, and work with a fused update and on every device:
//
//   trainer<Net, CrossEntropyLoss, ema<AdamW>, batch<64>> train{ema{AdamW{.learning_rate = 1e-3}, 0.999}};
//   ...
//   model<Net, batch<256>> net;
//   copy_averages(train, net); // to evaluate, and to save
template <class Optimizer>
struct ema : detail::division_of<Optimizer> {
  Optimizer optimizer{};
  double decay = 0.999;
  double learning_rate = optimizer.learning_rate;

  ema() = default;
  ema(const Optimizer& averaged, double its_decay = 0.999) : optimizer(averaged), decay(its_decay) {}

  std::size_t states() const { return optimizer.states() + 1; } // the last one holds the averages

  // The groups of an optimizer that divides parameters by name.
  std::size_t group_of(std::string_view name) const
    requires detail::has_groups<Optimizer>
  {
    return optimizer.group_of(name);
  }
  std::size_t group_count() const
    requires detail::has_groups<Optimizer>
  {
    return optimizer.group_count();
  }
  std::string_view group_path(std::size_t i) const
    requires detail::has_groups<Optimizer>
  {
    return optimizer.group_path(i);
  }

  std::vector<double> settings() const {
    std::vector<double> all{decay};
    if constexpr (detail::has_settings<Optimizer>)
      for (const double number : optimizer.settings()) all.push_back(number);
    return all;
  }
  void check() const {
    detail::check_number("ema: expected a decay from 0 to 1", decay, 0, 1);
    if constexpr (requires { optimizer.check(); }) optimizer.check();
  }

  template <class Queue, class T>
  void update(Queue& queue, const update_call<T>& call) const {
    optimizer.update(queue, call);
    T* const averages = call.states[optimizer.states()];
    const T* const parameters = call.parameters;
    if (call.step == 1) return copy(queue, call.count, averages, parameters);
    elementwise(queue, call.count, detail::moved_average<T>{static_cast<T>(1 - decay)}, averages, static_cast<const T*>(averages),
                parameters);
  }
};

} // namespace cairn

namespace cairn::detail {

template <class Optimizer>
inline constexpr bool keeps_averages = false;
template <class Optimizer>
inline constexpr bool keeps_averages<ema<Optimizer>> = true;

} // namespace cairn::detail

namespace cairn {

// Copies the averages and the buffers of a trainer whose optimizer is an ema to a model or a trainer of the same function.
// Running means are the latest ones, as torch's without use_buffers. Before the first step the averages are the parameters.
// `train` itself is not changed and can go on.
template <class Trainer, class Model>
void copy_averages(Trainer& train, Model& to) {
  static_assert(detail::keeps_averages<typename Trainer::optimizer_type>,
                "copy_averages: this trainer keeps no averages of its parameters; write trainer<Net, Loss, ema<Optimizer>, ...>");
  to.copy_parameters(train);
  if constexpr (detail::keeps_averages<typename Trainer::optimizer_type>) {
    if (train.steps() == 0) return;
    using number = typename Trainer::number;
    std::map<std::string, std::vector<number>> averages;
    const std::size_t last = train.optimizer().states() - 1;
    train.for_each_optimizer_state([&](std::size_t state, const types::named_parameter<number>& q) {
      if (state == last) averages[q.name].assign(q.numbers.begin(), q.numbers.end());
    });
    to.for_each([&](const types::named_parameter<number>& q) {
      if (const auto found = averages.find(q.name); found != averages.end())
        std::copy(found->second.begin(), found->second.end(), q.numbers.begin());
    });
  }
}

} // namespace cairn
