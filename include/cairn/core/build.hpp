// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace cairn::detail {

// The compiler's settings that a header can see and that decide the bits of results. The preprocessor cannot tell the levels of
// optimisation above -O0 apart.
struct build_facts {
#if defined(__clang__)
  static constexpr std::string_view compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
  static constexpr std::string_view compiler = "g++ " __VERSION__;
#else
  static constexpr std::string_view compiler = "an unknown compiler";
#endif
#if defined(__OPTIMIZE__)
  static constexpr std::string_view optimisation = "optimised";
#else
  static constexpr std::string_view optimisation = "not optimised";
#endif
#if defined(__FAST_MATH__)
  static constexpr std::string_view arithmetic = "-ffast-math";
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0
  static constexpr std::string_view arithmetic = "-ffinite-math-only";
#else
  static constexpr std::string_view arithmetic = "exact arithmetic";
#endif
  // The instruction set that plain C++ was compiled for: with FMA a compiler may contract a product and a sum into one
  // rounding.
#if defined(__AVX512F__)
  static constexpr std::string_view target = "for AVX-512";
#elif defined(__FMA__)
  static constexpr std::string_view target = "for FMA";
#elif defined(__AVX__)
  static constexpr std::string_view target = "for AVX";
#elif defined(__aarch64__)
  static constexpr std::string_view target = "for AArch64";
#else
  static constexpr std::string_view target = "for the baseline";
#endif
};

} // namespace cairn::detail
