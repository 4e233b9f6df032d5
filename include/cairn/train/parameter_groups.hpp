// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/train/optimizer.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// A rule that divides the parameters of a network in two, when the program is compiled: Rule::is_special(tensor) of the
// parameter's description.
template <class R>
concept parameter_rule = requires(const tensor& t) {
  { R::is_special(t) } -> std::same_as<bool>;
};

// Biases and the weights of normalisations, which have one extent: those that are usually not decayed.
struct vectors_only {
  static constexpr bool is_special(const tensor& t) { return t.rank() < 2; }
};

// Two optimizers for one network, as torch's parameter groups: `special` updates the parameters that the rule picks,
// `others` the rest. Each keeps its own numbers; a learning rate schedule speaks of `others`, and the rate of `special`
// keeps its ratio to that.
//
//   using Groups = parameter_groups<vectors_only, AdamW>;
//   trainer<Net, CrossEntropyLoss, Groups, batch<64>> train{Groups{.special = {.weight_decay = 0}}};
template <parameter_rule Rule, optimizer Special, optimizer Others = Special>
struct parameter_groups {
  Special special{};
  Others others{};
  double learning_rate = others.learning_rate;

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

  // Of a span whose parameters are all of one kind: see update_call.
  template <class Queue, class T>
  void update(Queue& queue, const update_call<T>& call) const {
    if (!call.is_special) return others.update(queue, call);
    update_call<T> own = call;
    if (others.learning_rate != 0) own.learning_rate *= special.learning_rate / others.learning_rate;
    special.update(queue, own);
  }
};

namespace detail {

// Part of the flat buffer that is updated in one call.
struct update_span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_special = false;
};

template <class O>
concept divides_parameters = requires(const tensor& t) {
  { O::is_special(t) } -> std::same_as<bool>;
};

} // namespace detail

} // namespace cairn
