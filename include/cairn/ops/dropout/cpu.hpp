// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

namespace cairn {

namespace detail {

struct multiply_element {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& x, T factor) const {
    x *= factor;
  }
};

// Sixteen blocks of random numbers side by side, which is 64 numbers: the rounds of core/random.hpp's
// random_block, with its counter and key, in a form that becomes vector code.
inline constexpr std::size_t random_lanes = 16;

[[gnu::always_inline]] inline void draw(std::uint32_t (&numbers)[4 * random_lanes], const random_key& key,
                                        std::uint64_t first_block) {
  std::uint32_t c[4][random_lanes];
  for (std::size_t i = 0; i < random_lanes; ++i) {
    const std::uint64_t index = first_block + i;
    c[0][i] = static_cast<std::uint32_t>(index);
    c[1][i] = static_cast<std::uint32_t>((index >> 32) & 0xFFFFU) |
              static_cast<std::uint32_t>((key.step >> 32) << 16);
    c[2][i] = key.position;
    c[3][i] = static_cast<std::uint32_t>(key.step);
  }
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < random_lanes; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0][i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2][i];
      c[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][i] ^ k0;
      c[1][i] = static_cast<std::uint32_t>(p1);
      c[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][i] ^ k1;
      c[3][i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (std::size_t i = 0; i < random_lanes; ++i)
    for (std::size_t k = 0; k < 4; ++k) numbers[4 * i + k] = c[k][i];
}

// What the elements begin, begin + 1, ... are multiplied by; begin and count are multiples of 64.
template <class T>
[[gnu::always_inline]] inline void write_factors(T* factors, std::size_t count, const random_key& key,
                                                 std::size_t begin, const dropout_rate& rate) {
  const T scale = static_cast<T>(rate.scale);
  std::uint32_t numbers[4 * random_lanes];
  for (std::size_t i = 0; i < count; i += 4 * random_lanes) {
    draw(numbers, key, (begin + i) / 4);
    for (std::size_t j = 0; j < 4 * random_lanes; ++j)
      factors[i + j] = numbers[j] < rate.threshold ? T{0} : scale;
  }
}
template <class T>
void write_factors_plain(T* factors, std::size_t count, const random_key& key, std::size_t begin,
                         const dropout_rate& rate) {
  write_factors(factors, count, key, begin, rate);
}
template <class T>
CAIRN_TARGET_AVX2 void write_factors_avx2(T* factors, std::size_t count, const random_key& key,
                                          std::size_t begin, const dropout_rate& rate) {
  write_factors(factors, count, key, begin, rate);
}
template <class T>
CAIRN_TARGET_AVX512 void write_factors_avx512(T* factors, std::size_t count, const random_key& key,
                                              std::size_t begin, const dropout_rate& rate) {
  write_factors(factors, count, key, begin, rate);
}

} // namespace detail

template <class T>
void dropout(cpu::queue& queue, std::size_t count, T* result, const T* x, const random_key& key,
             const dropout_rate& rate) {
  constexpr std::size_t piece = 2048; // factors stay in the innermost cache
  const instruction_set set = detail::widest_for_elements();
  const auto factors_of = set == instruction_set::avx512 ? detail::write_factors_avx512<T>
                          : set == instruction_set::avx2 ? detail::write_factors_avx2<T>
                                                         : detail::write_factors_plain<T>;
  queue.parallel_for((count + piece - 1) / piece, [&](std::size_t part, auto) {
    alignas(64) std::array<T, piece> factors;
    const std::size_t begin = part * piece;
    const std::size_t length = std::min(piece, count - begin);
    constexpr std::size_t group = 4 * detail::random_lanes;
    factors_of(factors.data(), (length + group - 1) / group * group, key, begin, rate);
    detail::run_elements(set, detail::multiply_element{}, length, std::array{result + begin},
                         std::array<const T*, 2>{x + begin, factors.data()});
  });
}

} // namespace cairn
