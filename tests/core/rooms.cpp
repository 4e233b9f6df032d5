// SPDX-License-Identifier: MIT
// Tests the namespaces of the library, as a program sees them.
#include <type_traits>

#include <doctest/doctest.h>

#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/cpu.hpp>

namespace rooms_tests {

using namespace cairn;

namespace {

struct Linear { // as if Cairn had added a layer of this name after the program was written
  static constexpr int own = 1;
};
int copy(int x) { return x; }

} // namespace

TEST_CASE("a program's own name, in its own namespace, is found before one of Cairn's") {
  static_assert(Linear::own == 1);
  static_assert(cairn::Linear<2, 3>::inputs[0].extents[0] == 2);
  CHECK(copy(3) == 3);
}

TEST_CASE("an op is found through its queue, by code that does not name its namespace") {
  static_assert(std::is_base_of_v<ops::queue, cpu::queue>);
  cpu device{types::device_options{}};
  const float from[2] = {1, 2};
  float to[2] = {0, 0};
  copy(device.compute(), 2, to, from);
  CHECK(to[0] == 1);
  CHECK(to[1] == 2);
}

} // namespace rooms_tests
