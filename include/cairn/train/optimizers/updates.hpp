// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/optimizers/parameter_groups.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// An optimizer with its states, for the flat buffer of a trainer's parameters. It knows which parts of the buffer belong to
// different groups of the optimizer.
template <class Optimizer, class T, class Device>
class updates {
public:
  // The numbers of an update, which are the same for all spans.
  struct step {
    types::gradient_scale scale{};
    double learning_rate = 0;
    std::uint64_t number = 1;
    ops::skip_decision decision{};
  };

  updates(const Optimizer& chosen, Device& device, std::size_t elements) : optimizer_(chosen), states_(chosen.states()) {
    check(chosen);
    if (states_ > most_optimizer_states)
      throw input_error("trainer: expected an optimizer of at most " + std::to_string(most_optimizer_states) + " states, found " +
                        std::to_string(states_));
    for (std::size_t i = 0; i < states_; ++i) state_[i] = device.allocate(elements * sizeof(T));
  }

  const Optimizer& optimizer() const { return optimizer_; }
  // Replaces the optimizer from the next update on. Throws input_error if the number of states or the paths of groups differ.
  void change(const Optimizer& other) {
    check(other);
    if (other.states() != states_)
      throw input_error("trainer: expected an optimizer of " + std::to_string(states_) + " states, as before, found one of " +
                        std::to_string(other.states()) + "; give the trainer one with that many from the start");
    if constexpr (has_groups<Optimizer>) {
      bool alike = other.group_count() == optimizer_.group_count();
      for (std::size_t g = 0; alike && g < other.group_count(); ++g) alike = other.group_path(g) == optimizer_.group_path(g);
      if (!alike) throw input_error("trainer: expected an optimizer whose groups have the paths of the one before, found others");
    }
    optimizer_ = other;
  }

  std::size_t states() const { return states_; }
  std::span<T> state(std::size_t i) const { return {reinterpret_cast<T*>(state_[i].data()), state_[i].size() / sizeof(T)}; }

  // Adds the span of a parameter, with the padding after it, for an optimizer that divides parameters. A parameter never lies in
  // two buckets.
  void add(const named_parameter<T>& q) {
    const std::size_t size = align_up(q.numbers.size() * sizeof(T)) / sizeof(T);
    spans_.push_back({q.place, q.place + size, is_special(*q.facts), group(q.name)});
    std::sort(spans_.begin(), spans_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  // Call this when all have been added. Throws input_error for a group without parameters: there is a mistake in its path.
  void check_groups() const {
    if constexpr (has_groups<Optimizer>)
      for (std::size_t g = 0; g < optimizer_.group_count(); ++g)
        if (std::none_of(spans_.begin(), spans_.end(), [g](const update_span& s) { return s.group == g; }))
          throw input_error("trainer: expected a parameter that is learnt under the path '" +
                            std::string(optimizer_.group_path(g)) +
                            "' of a group of the optimizer, found none; parameters have names such as '0.weight'");
  }

  // Updates the elements [begin, end) of the buffer; their gradients begin at `gradients`. Parameters may be cut.
  template <class Queue>
  void apply(Queue& queue, const step& now, T* parameters, const T* gradients, std::size_t begin, std::size_t end) const {
    if constexpr (!divides_parameters<Optimizer>) {
      apply_to(queue, now, parameters, gradients, {.begin = begin, .end = end});
    } else {
      for (update_span s : spans_) {
        s.begin = std::max(s.begin, begin);
        s.end = std::min(s.end, end);
        if (s.begin < s.end) apply_to(queue, now, parameters, gradients + (s.begin - begin), s);
      }
    }
  }

private:
  static void check(const Optimizer& o) {
    check_number("trainer: expected an optimizer with a learning rate of 0 or more", o.learning_rate);
    if constexpr (requires { o.check(); }) o.check();
  }
  static bool is_special([[maybe_unused]] const tensor& t) {
    if constexpr (requires { Optimizer::is_special(t); }) return Optimizer::is_special(t);
    else return false;
  }
  std::size_t group([[maybe_unused]] std::string_view name) const {
    if constexpr (has_groups<Optimizer>) return optimizer_.group_of(name);
    else return 0;
  }

  template <class Queue>
  void apply_to(Queue& queue, const step& now, T* parameters, const T* gradients, const update_span& s) const {
    update_call<T> call{};
    call.count = s.end - s.begin;
    call.parameters = parameters + s.begin;
    call.gradients = gradients;
    for (std::size_t i = 0; i < states_; ++i) call.states[i] = state(i).data() + s.begin;
    call.is_special = s.is_special;
    call.group = s.group;
    call.scale = now.scale;
    call.learning_rate = now.learning_rate;
    call.step = now.number;
    call.decision = now.decision;
    optimizer_.update(queue, call);
  }

  Optimizer optimizer_;
  std::size_t states_;
  std::array<typename Device::memory, most_optimizer_states> state_;
  std::vector<update_span> spans_; // only for an optimizer that divides parameters
};

} // namespace cairn::detail
