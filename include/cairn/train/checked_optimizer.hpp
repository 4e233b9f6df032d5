// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/train/optimizer.hpp>

namespace cairn {

namespace detail {

template <class O>
concept has_learning_rate = requires(const O& o) {
  { o.learning_rate } -> std::convertible_to<double>;
};
template <class O>
concept has_states = requires(const O& o) {
  { o.states() } -> std::same_as<std::size_t>;
  { O::max_states } -> std::convertible_to<std::size_t>;
  requires(O::max_states <= most_optimizer_states);
};
template <class O, class Queue, class T>
concept has_update = requires(const O& o, Queue& queue, const update_call<T>& call) {
  o.update(queue, call);
};

struct optimizer_sentences {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::steps != 0,
                  "trainer: the third argument is no optimizer, as it cannot be copied; see "
                  "checked_optimizer<type, queue, number>");
    static_assert(
        Checked::steps != 1,
        "trainer: the third argument is no optimizer: expected double learning_rate and, beside it, "
        "states, max_states and update; see checked_optimizer<type, queue, number>");
    static_assert(Checked::steps != 2,
                  "optimizer: states or max_states is missing or has another signature, expected std::size_t "
                  "states() const and static constexpr std::size_t max_states, at most 4; see "
                  "checked_optimizer<type, queue, number>");
    static_assert(
        Checked::steps != 3,
        "optimizer: update is missing or has another signature, expected template <class Queue, class T> "
        "void update(Queue& queue, const update_call<T>& call) const; see "
        "checked_optimizer<type, queue, number>");
    return Checked::steps == 4;
  }
};

} // namespace detail

// An optimizer, for numbers of type T on a device whose queue is Queue, as the culprit of an error (core/explain.hpp) if it
// is none.
template <class O, class Queue, class T>
struct checked_optimizer : detail::optimizer_sentences {
  static constexpr int steps = !std::copyable<O>                  ? 0
                               : !detail::has_learning_rate<O>    ? 1
                               : !detail::has_states<O>           ? 2
                               : !detail::has_update<O, Queue, T> ? 3
                                                                  : 4;
};

} // namespace cairn
