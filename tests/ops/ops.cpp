// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>

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
void copy_matrix(queue&, cairn::matrix<T>, cairn::matrix<const T>) {}
template <class T>
void add_matrix(queue&, cairn::matrix<T>, cairn::matrix<const T>, cairn::matrix<const T>) {}

} // namespace outside

TEST_CASE("ops: a cpu has all of them, and a device with some of them has no more than those") {
  using namespace cairn;
  static_assert(ops_for<cpu::queue, float> && ops_for<cpu::queue, double>);
  static_assert(ops_for<cpu::queue, bfloat16> && ops_for<cpu::queue, float16>);
  static_assert(!ops_for<cpu, float>); // a device is not a queue
  static_assert(detail::moves_elements<outside::queue, float>);
  static_assert(!detail::computes_layers<outside::queue, float> && !ops_for<outside::queue, float>);
  static_assert(!detail::computes_losses<outside::queue, float>);
  static_assert(!detail::computes_updates<outside::queue, float>);
}
