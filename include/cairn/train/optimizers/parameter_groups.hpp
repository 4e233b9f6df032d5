// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// A type that divides the parameters of a network in two by their metadata: Rule::is_special(tensor).
template <class R>
concept parameter_rule = requires(const tensor& t) {
  { R::is_special(t) } -> std::same_as<bool>;
};

} // namespace cairn::detail

namespace cairn {

// Picks biases and the weights of normalisations, which have one extent and usually no weight decay.
struct vectors_only {
  static constexpr bool is_special(const tensor& t) { return t.rank() < 2; }
};

// Two optimizers for one network, as torch's parameter groups: `special` updates the parameters that the rule picks,
// `others` the rest. Each has its own settings. A learning rate schedule gives the rate of `others`; that of `special` keeps its
// ratio to it. If the rate of `others` is 0, their parameters do not change, and a schedule gives the rate of `special`.
//
//   using Groups = parameter_groups<vectors_only, AdamW>;
//   trainer<Net, CrossEntropyLoss, Groups, batch<64>> train{Groups{.special = {.weight_decay = 0}}};
template <detail::parameter_rule Rule, optimizer Special, optimizer Others = Special>
struct parameter_groups {
  Special special{};
  Others others{};
  double learning_rate = base_rate();

  std::size_t states() const { return special.states() > others.states() ? special.states() : others.states(); }
  std::vector<double> settings() const {
    std::vector<double> all{special.learning_rate, others.learning_rate};
    if constexpr (detail::has_settings<Special>)
      for (const double number : special.settings()) all.push_back(number);
    if constexpr (detail::has_settings<Others>)
      for (const double number : others.settings()) all.push_back(number);
    return all;
  }
  void check() const {
    detail::check_number("parameter_groups: expected a learning rate of 0 or more for the special ones", special.learning_rate);
    if constexpr (requires { special.check(); }) special.check();
    if constexpr (requires { others.check(); }) others.check();
  }
  static constexpr bool is_special(const tensor& t) { return Rule::is_special(t); }

  // Updates a span whose parameters are all of one kind: see update_call.
  template <class Queue, class T>
  void update(Queue& queue, const update_call<T>& call) const {
    update_call<T> own = call;
    own.learning_rate *= share(call.is_special ? special.learning_rate : others.learning_rate);
    if (call.is_special) special.update(queue, own);
    else others.update(queue, own);
  }

  // The rate that a schedule replaces, and the ratio of another rate to it. If both rates are 0 the ratio is 1, so that a
  // schedule can still give a rate.
  constexpr double base_rate() const { return others.learning_rate != 0 ? others.learning_rate : special.learning_rate; }
  constexpr double share(double rate) const { return base_rate() != 0 ? rate / base_rate() : 1; }
};

} // namespace cairn

namespace cairn::detail {

// Part of the flat buffer that is updated in one call.
struct update_span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_special = false;
  std::size_t group = 0;
};

template <class O>
concept has_groups = requires(const O& o, std::string_view name) {
  { o.group_of(name) } -> std::same_as<std::size_t>;
  { o.group_count() } -> std::same_as<std::size_t>;
  { o.group_path(std::size_t{}) } -> std::same_as<std::string_view>;
};
template <class O>
concept divides_parameters = has_groups<O> || requires(const tensor& t) {
  { O::is_special(t) } -> std::same_as<bool>;
};

} // namespace cairn::detail
