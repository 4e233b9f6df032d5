// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>

#include "every_op.hpp"

// A device that can only move elements.
namespace outside {

struct queue {};

template <class T>
void upload(queue&, std::size_t, T*, const T*) {}
template <class T>
void download(queue&, std::size_t, T*, const T*) {}
template <class T>
void copy(queue&, std::size_t, T*, const T*) {}
template <class T>
void add(queue&, std::size_t, T*, const T*, const T*) {}
template <class T>
void copy_matrix(queue&, cairn::ops::matrix<T>, cairn::ops::matrix<const T>) {}
template <class T>
void add_matrix(queue&, cairn::ops::matrix<T>, cairn::ops::matrix<const T>, cairn::ops::matrix<const T>) {}

} // namespace outside

TEST_CASE("ops: a cpu has all of them, and a device with some of them has no more than those") {
  using namespace cairn;
  using testing::has_every_op;
  static_assert(has_every_op<cpu::queue, float> && has_every_op<cpu::queue, double>);
  static_assert(has_every_op<cpu::queue, bfloat16> && has_every_op<cpu::queue, float16>);
  static_assert(!ops::ops_for<cpu, float>); // a device is not a queue
  static_assert(detail::moves_elements<outside::queue, float>);
  static_assert(!detail::applies_functions<outside::queue, float> && !ops::ops_for<outside::queue, float>);
  static_assert(!detail::prepares_updates<outside::queue, float>);
}
