// SPDX-License-Identifier: MIT
#include <cairn/device/instruction_set.hpp>

#include <doctest/doctest.h>

using namespace cairn;

static_assert(instruction_set::plain < instruction_set::avx2 &&
              instruction_set::avx2 < instruction_set::avx512);

TEST_CASE("instruction_set: the same answer each time, and one that this build can run") {
  CHECK(widest_instruction_set() == widest_instruction_set());
#if !CAIRN_X86
  CHECK(widest_instruction_set() == instruction_set::plain);
#elif defined(__AVX2__) && defined(__FMA__)
  CHECK(widest_instruction_set() >= instruction_set::avx2); // the build itself relies on it
#endif
}
