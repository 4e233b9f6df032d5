// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/in_registers.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/conversions.hpp>

#include "../narrow.hpp"

namespace elementwise_in_registers_tests {

using namespace cairn;

namespace {

struct keep {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T&) const {}
};
// The first two parameters become a sum and a product.
struct combine {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& a, T& b, T c) const {
    const T sum = a + c;
    b = b * c;
    a = sum;
  }
};
struct multiply_add {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& a, T b, T c) const {
    a = a * b + c;
  }
};

// Every 16-bit element becomes a float, and floats at and around ties become 16-bit elements. run(count, to, from) runs keep.
template <class T, class Run>
void check_conversions(const Run& run) {
  std::vector<T> narrow;
  std::vector<float> wide;
  for (std::uint32_t b = 0; b < 0x10000U; ++b) {
    narrow.push_back(T::from_bits(static_cast<std::uint16_t>(b)));
    for (const std::uint32_t lower :
         {0x0000U, 0x0001U, 0x0FFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U, 0x2FFFU, 0x3000U, 0x3001U, 0xFFFFU})
      wide.push_back(std::bit_cast<float>(b << 16 | lower));
  }
  std::vector<float> widened(narrow.size());
  std::vector<T> rounded(wide.size());
  run(narrow.size(), detail::written{widened.data()}, detail::taken{narrow.data()});
  run(wide.size(), detail::written{rounded.data()}, detail::taken{wide.data()});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < narrow.size(); ++i)
    wrong += std::bit_cast<std::uint32_t>(widened[i]) != std::bit_cast<std::uint32_t>(static_cast<float>(narrow[i]));
  CHECK(wrong == 0);
  for (std::size_t i = 0; i < wide.size(); ++i) wrong += rounded[i].bits != T(wide[i]).bits;
  CHECK(wrong == 0);
}

// Every length around a block, from any place, on arrays of both types, with results on operands and nothing written beside them.
template <class T, class Set>
void check_lengths(Set set) {
  std::size_t wrong = 0;
  for (std::size_t count = 0; count < 50; ++count)
    for (std::size_t first = 1; first < 4; ++first) {
      std::vector<T> a(60, T(7.0F)), c(60, T(5.0F));
      std::vector<float> b(60, 8.0F);
      for (std::size_t i = 0; i < count; ++i) {
        a[first + i] = T(static_cast<float>(i));
        b[first + i] = static_cast<float>(i) * 0.5F;
        c[first + i] = T(static_cast<float>(i % 4) + 1.0F);
      }
      const std::vector<T> a_before = a;
      const std::vector<float> b_before = b;
      detail::run_narrow(set, combine{}, count, detail::written{a.data() + first, b.data() + first},
                         detail::taken{a.data() + first, b.data() + first, c.data() + first});
      for (std::size_t i = 0; i < 60; ++i) {
        const bool inside = i >= first && i < first + count;
        const float x = static_cast<float>(c[i]);
        wrong += a[i].bits != (inside ? T(static_cast<float>(a_before[i]) + x) : a_before[i]).bits;
        wrong += b[i] != (inside ? b_before[i] * x : b_before[i]);
      }
    }
  CHECK(wrong == 0);
}

// The result of one element is that of every length and place. Returns the results of whole blocks.
template <class T, class Set>
std::vector<float> products(Set set) {
  constexpr std::size_t count = 4096;
  const auto a = narrow::normal<T>(count, 1), b = narrow::normal<T>(count, 2);
  std::vector<float> c(count);
  for (std::size_t i = 0; i < count; ++i) c[i] = a.wide[count - 1 - i] * 1.001F;
  std::vector<float> all(count), one(count);
  const auto run = [&](float* to, std::size_t begin, std::size_t length) {
    detail::run_narrow(set, multiply_add{}, length, detail::written{to + begin},
                       detail::taken{a.own.data() + begin, c.data() + begin, b.own.data() + begin});
  };
  run(all.data(), 0, count);
  for (std::size_t i = 0, length = 1; i < count; i += length, length = length % 37 + 1)
    run(one.data(), i, std::min(length, count - i));
  CHECK(all == one);
  return all;
}

template <class T, class Set>
void check(Set set) {
  check_conversions<T>(
      [set](std::size_t count, const auto& to, const auto& from) { detail::run_narrow(set, keep{}, count, to, from); });
  check_lengths<T>(set);
}

} // namespace

TEST_CASE_TEMPLATE("elementwise: 16-bit elements in registers have the bits of one element, with any instructions", T, bfloat16,
                   float16) {
  using detail::instruction_set;
  using detail::uncontracted_set;
  for (const instruction_set set : {instruction_set::plain, instruction_set::avx2, instruction_set::avx512})
    if (set <= detail::widest_for_elements()) {
      check<T>(set);
      products<T>(set);
    }
  const std::vector<float> plain = products<T>(uncontracted_set::plain);
  for (const uncontracted_set set : {uncontracted_set::plain, uncontracted_set::avx2})
    if (set <= detail::widest_uncontracted()) {
      check<T>(set);
      CHECK(products<T>(set) == plain); // a product is rounded before it is added
    }
#if CAIRN_X86
  if (detail::widest_instruction_set() >= instruction_set::avx2) { // which is not taken where there is AVX-512
    const auto a = narrow::normal<T>(plain.size(), 1), b = narrow::normal<T>(plain.size(), 2);
    std::vector<float> c(a.wide.rbegin(), a.wide.rend());
    for (float& x : c) x *= 1.001F;
    std::vector<float> made(plain.size());
    detail::run_narrow_uncontracted(multiply_add{}, made.size(), detail::written{made.data()},
                                    detail::taken{a.own.data(), c.data(), b.own.data()}, std::index_sequence<0>(),
                                    std::index_sequence<0, 1, 2>());
    CHECK(made == plain);
  }
  if (detail::widest_instruction_set() >= instruction_set::avx512) // which is not taken where there is AVX512-BF16
    check_conversions<T>([](std::size_t count, const auto& to, const auto& from) {
      detail::run_narrow_avx512<false>(keep{}, count, to, from, std::index_sequence<0>(), std::index_sequence<0>());
    });
#endif
}

} // namespace elementwise_in_registers_tests
