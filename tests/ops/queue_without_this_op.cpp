// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/matmul/matmul.hpp>

// Three queues in a namespace of their own: the first has no op, the second has copy as a template, the third as an ordinary
// function.
namespace outside {

struct bare {};
struct templated {
  int copies = 0;
};
struct ordinary {
  int copies = 0;
};

template <class T>
void copy(templated& queue, std::size_t, T*, const T*) {
  ++queue.copies;
}
void copy(ordinary& queue, std::size_t, float*, const float*) { ++queue.copies; }

} // namespace outside

namespace cairn {

// Calls an op as a layer does: by its name, from a template for any queue.
template <class Queue>
void call_copy(Queue& queue) {
  float to = 0;
  const float from = 1;
  copy(queue, std::size_t{1}, &to, &from);
}

template <class Queue>
concept copies = requires(Queue& queue, float* to) { copy(queue, std::size_t{1}, to, to); };
template <class Queue>
concept multiplies = requires(Queue& queue, ops::matrix<float> c) { matmul(queue, c, c, c, ops::transpose::none); };

} // namespace cairn

TEST_CASE("queue_without_this_op: a device's own op is called, and an op that it lacks is no op at all") {
  outside::templated templated;
  cairn::call_copy(templated);
  outside::ordinary ordinary;
  cairn::call_copy(ordinary);
  CHECK((templated.copies == 1 && ordinary.copies == 1));
  static_assert(cairn::copies<outside::templated>);
  static_assert(!cairn::copies<outside::bare> && !cairn::multiplies<outside::templated>);
}
