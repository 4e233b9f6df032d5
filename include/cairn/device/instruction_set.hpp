// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string_view>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// What kernels are written for; a later one includes those before it. `avx2` includes FMA, `avx512` the parts
// F, VL, DQ and BW. On machines that are no x86-64 everything is plain: C++ of which the compiler makes the
// best.
enum class instruction_set : unsigned char { plain, avx2, avx512 };

// The widest set that this machine has and its operating system keeps; asked once. CAIRN_ISA=plain or avx2 in
// the environment lowers it, to compare or to repeat what another machine computed; it cannot raise it.
inline instruction_set widest_instruction_set() {
  static const instruction_set widest = [] {
    instruction_set found = instruction_set::plain;
#if CAIRN_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) found = instruction_set::avx2;
    if (found == instruction_set::avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0)
      found = instruction_set::avx512;
#endif
    const char* const text = std::getenv("CAIRN_ISA");
    const std::string_view wanted = text == nullptr ? "" : text;
    if (wanted == "plain") return instruction_set::plain;
    if (wanted == "avx2" && found == instruction_set::avx512) return instruction_set::avx2;
    return found;
  }();
  return widest;
}

} // namespace cairn::detail
