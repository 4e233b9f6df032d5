// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/core/config.hpp>

namespace config_tests {

// Users write `#if CAIRN_X86`, `#if CAIRN_WITH_BLAS`, `#if CAIRN_WITH_MPI` and `#if CAIRN_WITH_ONEDNN`: each has a value in every
// build.
TEST_CASE("config defines every macro with a value") {
  CHECK((CAIRN_X86 == 0 || CAIRN_X86 == 1));
  CHECK((CAIRN_WITH_BLAS == 0 || CAIRN_WITH_BLAS == 1));
  CHECK((CAIRN_WITH_MPI == 0 || CAIRN_WITH_MPI == 1));
  CHECK((CAIRN_WITH_ONEDNN == 0 || CAIRN_WITH_ONEDNN == 1));
  CHECK((CAIRN_KERNELS_OPTIMIZED == 0 || CAIRN_KERNELS_OPTIMIZED == 1));
  CHECK(CAIRN_VERSION_MAJOR >= 0);
  CHECK(CAIRN_VERSION_MINOR >= 0);
  CHECK(CAIRN_VERSION_PATCH >= 0);
}

// A function with such an attribute may be called on a processor without the instructions if nothing in it needs them, as
// here: it is only compiled for them.
CAIRN_TARGET_AVX2 static int with_avx2() { return 2; }
CAIRN_TARGET_AVX512 static int with_avx512() { return 512; }

// These functions may be called from others, be inlined into each other and belong to an instruction set.
CAIRN_KERNELS_BEGIN
namespace {
[[gnu::always_inline]] inline int twice(int x) { return 2 * x; }
template <class T>
CAIRN_TARGET_AVX2 T four_times(T x) {
  return twice(twice(x));
}
} // namespace
CAIRN_KERNELS_END

TEST_CASE("config's kernels are functions like others") { CHECK(twice(four_times(2)) == 16); }

TEST_CASE("config's targets can be put before a function") { CHECK(with_avx2() + with_avx512() == 514); }

// A host compiler ignores the mark: it is not part of a function's name or type.
CAIRN_HOST_DEVICE static int shared(int x) { return x + 1; }
TEST_CASE("config's mark for host and device can be put before a function") {
  int (*const plain)(int) = shared;
  CHECK(plain(2) == 3);
}

TEST_CASE("config's loop of four turns goes round four times") {
  int turns = 0;
  CAIRN_UNROLL_4
  for (int i = 0; i < 4; ++i) turns += i;
  CHECK(turns == 6);
}

} // namespace config_tests
