// SPDX-License-Identifier: MIT
#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <bit>
#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/narrow_registers.hpp>

namespace matmul_narrow_registers_tests {

using namespace cairn;

namespace {

template <class T>
CAIRN_TARGET_AVX2 void widen(float* to, const T* from) {
  *reinterpret_cast<detail::simd<float, 32>::loose*>(to) = detail::eight_of<T>::widened(detail::eight_words::load(from));
}
template <class T>
CAIRN_TARGET_AVX2 void round(T* to, const float* from) {
  detail::eight_words::store(to, detail::eight_of<T>::rounded(*reinterpret_cast<const detail::simd<float, 32>::loose*>(from)));
}

// The number of 16-bit elements that do not become the same float as one at a time.
template <class T>
std::size_t wrongly_widened() {
  std::size_t count = 0;
  for (std::uint32_t first = 0; first < 0x10000U; first += 8) {
    T from[8];
    float to[8];
    for (std::uint32_t i = 0; i < 8; ++i) from[i] = T::from_bits(static_cast<std::uint16_t>(first + i));
    widen(to, from);
    for (std::uint32_t i = 0; i < 8; ++i)
      count += std::bit_cast<std::uint32_t>(to[i]) != std::bit_cast<std::uint32_t>(static_cast<float>(from[i]));
  }
  return count;
}

// The same for floats: every upper half with lower halves at and around ties.
template <class T>
std::size_t wrongly_rounded() {
  std::size_t count = 0;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0FF8U, 0x1000U, 0x7FF8U, 0x8000U, 0x2FF8U, 0x3000U, 0xFFF8U}) {
      float from[8];
      T to[8];
      for (std::uint32_t i = 0; i < 8; ++i) from[i] = std::bit_cast<float>(upper << 16 | (lower + i));
      round(to, from);
      for (std::uint32_t i = 0; i < 8; ++i) count += to[i].bits != T(from[i]).bits;
    }
  return count;
}

} // namespace

TEST_CASE("matmul: eight 16-bit elements are converted as one is") {
  if (detail::widest_instruction_set() < detail::instruction_set::avx2) return;
  CHECK(wrongly_widened<bfloat16>() == 0);
  CHECK(wrongly_widened<float16>() == 0);
  CHECK(wrongly_rounded<bfloat16>() == 0);
  CHECK(wrongly_rounded<float16>() == 0);
}

} // namespace matmul_narrow_registers_tests

#endif
