// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// What kernels are written for; a later one includes those before it. `avx2` includes FMA, `avx512` the parts
// F, VL, DQ and BW. On machines that are no x86-64 everything is plain: C++ of which the compiler makes the
// best.
enum class instruction_set : unsigned char { plain, avx2, avx512 };

// A set that is at most `found` and the one that CAIRN_ISA names. No word, and none at all, lowers nothing.
inline instruction_set at_most(instruction_set found, const std::string& word) {
  if (word == "plain") return instruction_set::plain;
  if (word == "avx2") return std::min(found, instruction_set::avx2);
  if (word.empty() || word == "avx512") return found;
  throw input_error("CAIRN_ISA: expected plain, avx2 or avx512 in the environment, found '" + word +
                    "'; without it the widest set of this machine is taken");
}

// The widest set that this machine has and its operating system keeps; asked once. CAIRN_ISA=plain or avx2 in
// the environment lowers it, to compare or to repeat what another machine computed; it cannot raise it. Another word is an
// error, at the latest when a queue of a cpu is made.
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
    const char* const word = std::getenv("CAIRN_ISA");
    return at_most(found, word == nullptr ? "" : word);
  }();
  return widest;
}

} // namespace cairn::detail
