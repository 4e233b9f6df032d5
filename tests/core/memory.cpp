// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/core/memory.hpp>

namespace memory_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("align_up gives the next multiple, and leaves a multiple alone") {
  static_assert(align_up(0) == 0);
  static_assert(align_up(1) == alignment);
  static_assert(align_up(alignment) == alignment);
  static_assert(align_up(alignment + 1) == 2 * alignment);
  static_assert(align_up(13, 4) == 16);
}

TEST_CASE("byte literals are powers of 1024") {
  static_assert(1_KiB == 1024);
  static_assert(3_MiB == 3 * 1024 * 1024);
  static_assert(2_GiB == std::size_t{2} * 1024 * 1024 * 1024);
}

} // namespace memory_tests
