// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

template <class L>
concept answers_for_shapes = requires(const shape& s) {
  { L::accepts(s) } -> std::convertible_to<bool>;
  { L::targets_per_sample(s) } -> std::convertible_to<std::size_t>;
};
template <class L, class T>
concept says_what_it_takes = requires {
  { L::template takes<T, int> } -> std::convertible_to<bool>;
};

// Whether run() accepts targets of type Target, if `takes` says so. A loss may take class numbers (int stands for them), or
// targets of type accumulated<T>.
template <class L, class Queue, class T, class Target>
concept runs_on =
    !L::template takes<T, Target> || requires(const L& l, Queue& queue, const loss_call<T, Target>& call) { l.run(queue, call); };

// Whether accepts() and targets_per_sample() are constant expressions for the output of a planned network.
template <class L, class Plan>
concept answers_in_constants = requires {
  typename std::bool_constant<static_cast<bool>(L::accepts(Plan::output_shape))>;
  requires !L::accepts(Plan::output_shape) ||
               requires { typename std::integral_constant<std::size_t, L::targets_per_sample(Plan::output_shape)>; };
};

struct loss_message {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::steps != 0,
                  "trainer: the second argument is no loss: expected static constexpr bool accepts(const shape&) and "
                  "static constexpr std::size_t targets_per_sample(const shape&); see checked_loss<type, queue, "
                  "number>");
    static_assert(Checked::steps != 1, "loss: it is no value, expected a type that can be copied and has a default; see "
                                       "checked_loss<type, queue, number>");
    static_assert(Checked::steps != 2, "loss: takes is missing, expected template <class T, "
                                       "class Target> static constexpr bool takes = ...; "
                                       "see checked_loss<type, queue, number>");
    static_assert(
        Checked::steps != 3,
        "loss: run is missing, has another signature or is for another device, expected template <class Queue, class T, class "
        "Target> static void run(Queue& queue, const loss_call<T, Target>& call); see checked_loss<type, "
        "queue, number>");
    static_assert(Checked::steps != 4, "loss: settings has another signature, expected settings() const with a range of "
                                       "double; see checked_loss<type, queue, number>");
    return Checked::steps == 5;
  }
};
struct loss_at_run_time_message {
  template <class Loss>
  static constexpr bool right() {
    static_assert(is_right<Loss>, "loss: accepts or targets_per_sample is no constant expression for what the last layer "
                                  "produces; see loss_at_run_time<loss, dims<what it produces>>");
    return false;
  }
};
struct loss_joint_message {
  template <class Joint>
  static constexpr bool right() {
    static_assert(is_right<Joint>, "trainer: this loss does not accept what the last layer produces; see "
                                   "loss_joint<loss, last layer, dims<what it produces>>");
    return false;
  }
};

struct loss_of_head_message {
  template <class Joint>
  static constexpr bool right() {
    static_assert(is_right<Joint>,
                  "trainer: the network ends with a head_in_strips, and this loss cannot be computed in strips on this device; "
                  "take CrossEntropyLoss on a cpu, or write the layer alone; see loss_of_head<loss, last layer, queue>");
    return false;
  }
};

// Can a loss be computed strip by strip, for elements of type T on a device whose queue is Queue?
template <class Loss, class Queue, class T>
constexpr bool runs_in_strips() {
  if constexpr (requires { Loss::template runs_in_strips<Queue, T>; }) return Loss::template runs_in_strips<Queue, T>;
  else return false;
}

// Checks that L is a loss for outputs of type T on a device whose queue is Queue. If it is not, this type is the diagnostic of
// the error (core/explain.hpp).
template <class L, class Queue, class T>
struct checked_loss : loss_message {
  static constexpr int steps = [] {
    if constexpr (!answers_for_shapes<L>) return 0;
    else if constexpr (!loss<L>) return 1;
    else if constexpr (!says_what_it_takes<L, T>) return 2;
    else if constexpr (!runs_on<L, Queue, T, int> || !runs_on<L, Queue, T, accumulated<T>>) return 3;
    else return right_settings<L> ? 5 : 4;
  }();
};

// A loss that does not fit the last layer of a network.
template <class Loss, class Layer, class Output>
struct loss_joint : loss_joint_message {};
// One that cannot be computed in strips, for a layer that makes its output in them.
template <class Loss, class Layer, class Queue>
struct loss_of_head : loss_of_head_message {};
template <class Loss, class Output>
struct loss_at_run_time : loss_at_run_time_message {};

} // namespace cairn::detail
