// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/device/cpu.hpp>
#include <cairn/layer/layer.hpp>

namespace cairn::detail {

template <class L, class Queue, class T>
concept has_forward = requires(Queue& queue, const forward_call<T>& call) { L::forward(queue, call); };
template <class L, class Queue, class T>
concept has_backward = requires(Queue& queue, const backward_call<T>& call) { L::backward(queue, call); };

struct calls_message {
  template <class Checked>
  static constexpr bool right() {
    static_assert(
        !Checked::of_a_cpu,
        "layer: this device cannot run it with these elements, and a cpu can: the device lacks an op that the `requires` "
        "of its forward asks for, or forward and backward are written for the queue of a cpu; write the op for the "
        "device, or write them for any Queue& and call ops, elementwise(queue, count, f, to, from...) for one, in place "
        "of loops over elements; see checked_calls<layer, queue, number>");
    static_assert(Checked::forward || Checked::of_a_cpu,
                  "layer: forward is missing or has another signature, expected template <class Queue, class T> "
                  "static void forward(Queue& queue, const forward_call<T>& call); see checked_calls<layer, queue, "
                  "number>");
    static_assert(Checked::backward || !Checked::forward || Checked::of_a_cpu,
                  "layer: backward is missing or has another signature, expected template <class Queue, class T> "
                  "static void backward(Queue& queue, const backward_call<T>& call); see checked_calls<layer, queue, "
                  "number>");
    return Checked::forward && Checked::backward;
  }
};

// The two functions of a layer, for numbers of type T on a device whose queue is Queue, as the diagnostic of an error
// (core/explain.hpp) if one cannot be called.
template <class L, class Queue, class T>
struct checked_calls : calls_message {
  static constexpr bool forward = has_forward<L, Queue, T>;
  static constexpr bool backward = has_backward<L, Queue, T>;
  // Its loops may access tensors on a cpu only; on another device the host may not be able to reach their memory.
  static constexpr bool of_a_cpu = !(forward && backward) && has_forward<L, cpu::queue, T> && has_backward<L, cpu::queue, T>;
};

} // namespace cairn::detail
