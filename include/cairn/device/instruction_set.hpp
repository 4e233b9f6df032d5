// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <type_traits>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// The instruction sets that kernels are written for; each includes those before it. `avx2` includes FMA and F16C, `avx512` the
// parts F, VL, DQ and BW. `plain` is C++ that the compiler optimises, and the only one on machines other than x86-64.
// `avx512_bf16` and `amx_bf16` are for products of bfloat16.
enum class instruction_set : unsigned char { plain, avx2, avx512, avx512_bf16, amx_bf16 };

// As people write it.
constexpr const char* text_of(instruction_set set) {
  constexpr const char* texts[] = {"plain C++", "AVX2", "AVX-512", "AVX-512 BF16", "AMX"};
  return texts[static_cast<std::size_t>(set)];
}

// Returns the smaller of `found` and the set that CAIRN_ISA names; an empty word lowers nothing. Throws input_error for an
// unknown word.
inline instruction_set at_most(instruction_set found, const std::string& word) {
  if (word == "plain") return instruction_set::plain;
  if (word == "avx2") return std::min(found, instruction_set::avx2);
  if (word == "avx512") return std::min(found, instruction_set::avx512);
  if (word == "avx512_bf16") return std::min(found, instruction_set::avx512_bf16);
  if (word.empty() || word == "amx_bf16") return found;
  throw input_error("CAIRN_ISA: expected plain, avx2, avx512, avx512_bf16 or amx_bf16 in the environment, found '" + word +
                    "'; without it the widest set of this machine is taken");
}

// What CAIRN_ISA says.
inline std::string word_for_instruction_set() {
  const char* const word = std::getenv("CAIRN_ISA");
  return word == nullptr ? "" : word;
}

#if CAIRN_X86

// Whether the processor has F16C, the conversions of float16: clang 14 does not know it by name. Volatile, as a compiler would
// else take cpuid, which costs a virtual machine 7 microseconds, out of what is done once.
inline bool has_f16c() {
  unsigned a = 1, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (c >> 29 & 1U) != 0;
}

#endif

// The widest set that this machine and its operating system support, for all but products of bfloat16; determined once.
// CAIRN_ISA=plain or avx2 in the environment lowers it, to compare or to reproduce the results of another machine; it cannot
// raise it. An unknown word is an error, reported at the latest when a cpu queue is made.
inline instruction_set widest_instruction_set() {
  static const instruction_set widest = [] {
    instruction_set found = instruction_set::plain;
#if CAIRN_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c()) found = instruction_set::avx2;
    if (found == instruction_set::avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0)
      found = instruction_set::avx512;
#endif
    return at_most(found, word_for_instruction_set());
  }();
  return widest;
}

#if CAIRN_X86

// Whether the processor has AMX for bfloat16.
inline bool has_amx_bf16() {
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)); // bits 22 and 24: products of bfloat16, and tiles
  return (d >> 22 & 1U) != 0 && (d >> 24 & 1U) != 0;
}

// Asks the system for the use of tiles, which it grants to a process once: their 8 KiB make each of its signal frames larger.
inline bool may_use_tiles() {
#if defined(__linux__)
  constexpr long call = 158, request = 0x1023, tiles = 18; // arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  long result = call;
  __asm__ volatile("syscall" : "+a"(result) : "D"(request), "S"(tiles) : "rcx", "r11", "memory");
  return result == 0;
#else
  return false;
#endif
}

#endif

// The widest set for products of bfloat16; determined once. Processors with AMX take longer for the products of avx512_bf16 than
// for those of float (1.7 times on a Xeon of 2023), so there it is chosen by CAIRN_ISA=avx512_bf16 alone.
inline instruction_set widest_for_bfloat16() {
  static const instruction_set widest = [] {
    instruction_set found = widest_instruction_set();
#if CAIRN_X86
    const std::string word = word_for_instruction_set();
    if (found < instruction_set::avx512 || __builtin_cpu_supports("avx512bf16") == 0) return found;
    const bool has_tiles = has_amx_bf16();
    if (at_most(instruction_set::amx_bf16, word) == instruction_set::amx_bf16 && has_tiles && may_use_tiles())
      return instruction_set::amx_bf16;
    if (!has_tiles || word == "avx512_bf16") found = at_most(instruction_set::avx512_bf16, word);
#endif
    return found;
  }();
  return widest;
}

// The widest set for products of T.
template <class T>
instruction_set widest_for() {
  return std::is_same_v<T, bfloat16> ? widest_for_bfloat16() : widest_instruction_set();
}

} // namespace cairn::detail
