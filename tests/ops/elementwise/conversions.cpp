// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/conversions.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/instruction_set.hpp>

namespace elementwise_conversions_tests {

using namespace cairn;

namespace {

template <class T>
using widening = void (*)(float*, const T*, std::size_t);
template <class T>
using rounding = void (*)(T*, const float*, std::size_t);

// The numbers that do not become the same as one at a time: every 16-bit element, and floats at and around ties.
template <class T>
std::size_t wrongly_widened(widening<T> all) {
  std::vector<T> from;
  for (std::uint32_t b = 0; b < 0x10000U; ++b) from.push_back(T::from_bits(static_cast<std::uint16_t>(b)));
  std::vector<float> to(from.size());
  all(to.data(), from.data(), from.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < to.size(); ++i)
    wrong += std::bit_cast<std::uint32_t>(to[i]) != std::bit_cast<std::uint32_t>(static_cast<float>(from[i]));
  return wrong;
}
template <class T>
std::size_t wrongly_rounded(rounding<T> all) {
  std::vector<float> from;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower :
         {0x0000U, 0x0001U, 0x0FFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U, 0x2FFFU, 0x3000U, 0x3001U, 0xFFFFU})
      from.push_back(std::bit_cast<float>(upper << 16 | lower));
  std::vector<T> to(from.size());
  all(to.data(), from.data(), from.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < to.size(); ++i) wrong += to[i].bits != T(from[i]).bits;
  return wrong;
}
// Every length around a vector, from any place, with nothing written beside it.
template <class T>
std::size_t wrong_lengths(widening<T> widen, rounding<T> round) {
  std::size_t wrong = 0;
  for (std::size_t count = 0; count < 70; ++count)
    for (std::size_t first = 1; first < 4; ++first) {
      std::vector<T> narrow(80, T(7.0F)), back(80, T(9.0F));
      std::vector<float> wide(80, 8.0F);
      for (std::size_t i = 0; i < count; ++i) narrow[first + i] = T(static_cast<float>(i) + 0.5F);
      widen(wide.data() + first, narrow.data() + first, count);
      round(back.data() + first, wide.data() + first, count);
      for (std::size_t i = 0; i < 80; ++i) {
        const bool inside = i >= first && i < first + count;
        wrong += wide[i] != (inside ? static_cast<float>(narrow[i]) : 8.0F);
        wrong += back[i].bits != (inside ? narrow[i] : T(9.0F)).bits;
      }
    }
  return wrong;
}
template <class T>
void check(widening<T> widen, rounding<T> round) {
  CHECK(wrongly_widened(widen) == 0);
  CHECK(wrongly_rounded(round) == 0);
  CHECK(wrong_lengths(widen, round) == 0);
}

} // namespace

TEST_CASE_TEMPLATE("conversions: neighbours of 16 bits have the bits of one element, with any instructions", T, bfloat16,
                   float16) {
  check<T>(detail::widen<T>, detail::round_once<T>);
  check<T>(detail::widen_plain<T>, detail::round_once_plain<T>);
#if CAIRN_X86
  const detail::instruction_set set = detail::widest_instruction_set();
  if (set >= detail::instruction_set::avx2) check<T>(detail::widen_avx2<T>, detail::round_once_avx2<T>);
  if (set >= detail::instruction_set::avx512) check<T>(detail::widen_avx512<T>, detail::round_once_avx512<T>);
#endif
}

} // namespace elementwise_conversions_tests
