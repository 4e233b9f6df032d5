// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// The instruction sets that kernels are written for; each includes those before it. `avx2` includes FMA, `avx512` the parts F,
// VL, DQ and BW. `plain` is C++ that the compiler optimises, and the only one on machines other than x86-64.
enum class instruction_set : unsigned char { plain, avx2, avx512 };

// Returns the smaller of `found` and the set that CAIRN_ISA names; an empty word lowers nothing. Throws input_error for an
// unknown word.
inline instruction_set at_most(instruction_set found, const std::string& word) {
  if (word == "plain") return instruction_set::plain;
  if (word == "avx2") return std::min(found, instruction_set::avx2);
  if (word.empty() || word == "avx512") return found;
  throw input_error("CAIRN_ISA: expected plain, avx2 or avx512 in the environment, found '" + word +
                    "'; without it the widest set of this machine is taken");
}

// The widest set that this machine and its operating system support; determined once. CAIRN_ISA=plain or avx2 in the
// environment lowers it, to compare or to reproduce the results of another machine; it cannot raise it. An unknown word is an
// error, reported at the latest when a cpu queue is made.
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
