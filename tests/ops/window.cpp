// SPDX-License-Identifier: MIT
#include <cairn/ops/window.hpp>

#include <doctest/doctest.h>

namespace window_tests {

using namespace cairn;

static_assert(ops::fitted({32, 0, 3, 1, 1}).out == 32 && ops::fitted({32, 0, 3, 2, 1}).out == 16 &&
              ops::fitted({7, 0, 3, 2}).out == 3);
static_assert(ops::fitted({7, 0, 3, 1, 0, 3}).out == 1 && ops::fitted({6, 0, 3, 1, 0, 3}).out == 0 &&
              ops::fitted({0, 0, 1}).out == 0);
// torch's ceil_mode: 7 inputs with windows of 2 end in half a window. 5 inputs with a padding of 1 get no window that begins
// after them.
static_assert(ops::fitted({7, 0, 2, 2}).out == 3 && ops::fitted({7, 0, 2, 2}, true).out == 4);
static_assert(ops::fitted({5, 0, 2, 3, 1}, true).out == 2 && ops::fitted({6, 0, 2, 3, 1}, true).out == 3);

TEST_CASE("window: a tap reads an input, or one that is not there") {
  const ops::window_axis a = ops::fitted({5, 0, 3, 2, 1, 2}); // padded to 7; a window spans 5
  CHECK(a.extent() == 5);
  CHECK(a.out == 2);
  CHECK(a.input(0, 0) >= a.in); // the padding in front
  CHECK(a.input(0, 1) == 1);
  CHECK(a.input(1, 0) == 1);
  CHECK(a.input(1, 2) >= a.in); // the padding behind
  const ops::window both{a, ops::fitted({4, 0, 1})};
  CHECK(both.inputs() == 20);
  CHECK(both.outputs() == 8);
  CHECK(both.taps() == 3);
}

} // namespace window_tests
