// SPDX-License-Identifier: MIT
#include <cairn/device/cpu.hpp>
#include <cairn/layer/checked_calls.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace checked_calls_tests {

using namespace cairn;

namespace {

// A layer for one element type only, whose backward wants more than it is given.
struct halfway {
  static void forward(cpu::queue&, const forward_call<float>&) {}
  static void backward(cpu::queue&, const backward_call<float>&, int) {}
};

struct other_queue {};

} // namespace

// The messages are in tests/compile_fail/own_layer_forward.cpp, own_layer_backward.cpp and own_layer_device.cpp.
TEST_CASE("checked_calls: what can be called on this queue with these numbers") {
  using linear = detail::checked_calls<Linear<2, 3>, cpu::queue, double>;
  static_assert(linear::forward && linear::backward && linear::right<linear>());
  static_assert(detail::checked_calls<halfway, cpu::queue, float>::forward);
  static_assert(!detail::checked_calls<halfway, cpu::queue, double>::forward);
  static_assert(!detail::checked_calls<halfway, cpu::queue, float>::backward);
}

TEST_CASE("checked_calls: a layer for the queue of a cpu is told from one that is wrong everywhere") {
  struct loops {
    static void forward(cpu::queue&, const forward_call<float>&) {}
    static void backward(cpu::queue&, const backward_call<float>&) {}
  };
  static_assert(detail::checked_calls<loops, other_queue, float>::of_a_cpu);
  static_assert(!detail::checked_calls<loops, cpu::queue, float>::of_a_cpu);
  static_assert(!detail::checked_calls<loops, other_queue, double>::of_a_cpu);
  static_assert(!detail::checked_calls<halfway, other_queue, float>::of_a_cpu);
}

} // namespace checked_calls_tests
