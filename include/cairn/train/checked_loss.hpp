// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/train/loss.hpp>

namespace cairn {

namespace detail {

template <class L, class T>
concept says_what_it_takes = requires {
  { L::template takes<T, int> } -> std::convertible_to<bool>;
};

// Can it be run on targets of the type that it says it takes? It may take class numbers or numbers like the output's.
template <class L, class Queue, class T, class Target>
concept runs_on = !L::template takes<T, Target> || requires(const L& l, Queue& queue, const loss_call<T, Target>& call) {
  l.run(queue, call);
};

struct loss_sentences {
  template <class Checked>
  static constexpr bool right() {
    static_assert(
        Checked::answers,
        "trainer: the second argument is no loss: expected static constexpr bool accepts(const shape&) and "
        "static constexpr std::size_t targets_per_sample(const shape&); see checked_loss<type, queue, "
        "number>");
    static_assert(Checked::names || !Checked::answers, "loss: takes is missing, expected template <class T, "
                                                       "class Target> static constexpr bool takes = ...; "
                                                       "see checked_loss<type, queue, number>");
    static_assert(
        Checked::runs || !Checked::names,
        "loss: run is missing or has another signature, expected template <class Queue, class T, class "
        "Target> static void run(Queue& queue, const loss_call<T, Target>& call); see checked_loss<type, "
        "queue, number>");
    return Checked::runs;
  }
};
struct loss_joint_sentence {
  template <class Joint>
  static constexpr bool right() {
    static_assert(is_right<Joint>, "trainer: this loss does not accept what the last layer produces; see "
                                   "loss_joint<loss, last layer, dims<what it produces>>");
    return false;
  }
};

} // namespace detail

// A loss, for outputs of type T on a device whose queue is Queue, as the culprit of an error (core/explain.hpp) if it is
// none.
template <class L, class Queue, class T>
struct checked_loss : detail::loss_sentences {
  static constexpr bool answers = loss<L>;
  static constexpr bool names = [] {
    if constexpr (answers) return detail::says_what_it_takes<L, T>;
    else return false;
  }();
  static constexpr bool runs = [] {
    if constexpr (names) return detail::runs_on<L, Queue, T, int> && detail::runs_on<L, Queue, T, T>;
    else return false;
  }();
};

// A loss and the end of a network that do not fit.
template <class Loss, class Layer, class Output>
struct loss_joint : detail::loss_joint_sentence {};

} // namespace cairn
