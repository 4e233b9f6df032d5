// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/optimizers/parameter_groups.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

template <class O>
concept has_learning_rate = requires(const O& o) {
  { o.learning_rate } -> std::convertible_to<double>;
};
template <class O>
concept has_states = requires(const O& o) {
  { o.states() } -> std::same_as<std::size_t>;
};
template <class O>
concept right_is_special = divides_parameters<O> || std::is_final_v<O> || requires { &with_optional_names<O>::is_special; };
template <class O, class Queue, class T>
concept has_update = requires(const O& o, Queue& queue, const update_call<T>& call) { o.update(queue, call); };

struct optimizer_message {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::steps != 0, "trainer: the third argument is no optimizer, as it cannot be copied; see "
                                       "checked_optimizer<type, queue, number>");
    static_assert(Checked::steps != 1,
                  "trainer: the third argument is no optimizer: expected double learning_rate and, beside it, "
                  "states and update; see checked_optimizer<type, queue, number>");
    static_assert(Checked::steps != 2,
                  "optimizer: states is missing or has another signature, expected std::size_t states() const; see "
                  "checked_optimizer<type, queue, number>");
    static_assert(
        Checked::steps != 3,
        "optimizer: update is missing, has another signature or is for another device, expected template <class Queue, class T> "
        "void update(Queue& queue, const update_call<T>& call) const; see "
        "checked_optimizer<type, queue, number>");
    static_assert(Checked::steps != 4, "optimizer: settings has another signature, expected settings() const with a range "
                                       "of double; see checked_optimizer<type, queue, number>");
    static_assert(Checked::steps != 5, "optimizer: is_special has another signature, expected static bool "
                                       "is_special(const tensor&); see checked_optimizer<type, queue, number>");
    return Checked::steps == 6;
  }
};

// Checks that O is an optimizer for elements of type T on a device whose queue is Queue. If it is not, this type is the
// diagnostic of the error (core/explain.hpp).
template <class O, class Queue, class T>
struct checked_optimizer : optimizer_message {
  static constexpr int steps = [] {
    if constexpr (!std::copyable<O>) return 0;
    else if constexpr (!has_learning_rate<O>) return 1;
    else if constexpr (!has_states<O>) return 2;
    else if constexpr (!has_update<O, Queue, T>) return 3;
    else if constexpr (!right_settings<O>) return 4;
    else return right_is_special<O> ? 6 : 5;
  }();
};

} // namespace cairn::detail
