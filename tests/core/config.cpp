// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/core/config.hpp>

// A user writes `#if CAIRN_X86` and `#if CAIRN_WITH_BLAS`: both have a value in every build.
TEST_CASE("config defines every macro with a value") {
  CHECK((CAIRN_X86 == 0 || CAIRN_X86 == 1));
  CHECK((CAIRN_WITH_BLAS == 0 || CAIRN_WITH_BLAS == 1));
  CHECK(CAIRN_VERSION_MAJOR >= 0);
  CHECK(CAIRN_VERSION_MINOR >= 0);
  CHECK(CAIRN_VERSION_PATCH >= 0);
}

// A function with such an attribute may be called where the processor has not got the instructions, as long as it is
// compiled for them only: it returns here because nothing in it needs them.
CAIRN_TARGET_AVX2 static int with_avx2() { return 2; }
CAIRN_TARGET_AVX512 static int with_avx512() { return 512; }

TEST_CASE("config's targets can be put before a function") { CHECK(with_avx2() + with_avx512() == 514); }
