// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

// A layer as users write it, before any op or device is declared. Its calls are resolved when it is instantiated.
struct Twice {
  template <class Queue, class T>
  static void forward(Queue& queue, std::size_t count, T* output, const T* input) {
    copy(queue, count, output, input);
    add(queue, count, output, output, input);
  }
};

#include <cairn/ops/cpu.hpp>

TEST_CASE("every op on a cpu: what a layer calls by name is found when it runs, whatever was included first") {
  cairn::cpu device;
  const double input[3] = {1, -2, 0.5};
  double output[3] = {};
  Twice::forward(device.compute(), 3, output, input);
  CHECK(output[0] == 2);
  CHECK(output[1] == -4);
  CHECK(output[2] == 1);
}
