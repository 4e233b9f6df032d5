// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct multiply_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T factor) const {
    x *= factor;
  }
};

// The random_block of core/random.hpp for the blocks first, first + 1, ..., word by word, in a form that compilers vectorise:
// each 32-bit number occupies 64 bits, as a loop that changes widths is not vectorised, and the ten rounds are written out, as
// a loop inside the loop would prevent it too.
inline constexpr std::size_t random_lanes = 32;
template <std::size_t Lanes>
using random_words = std::uint64_t[4][Lanes];

template <std::size_t Lanes, std::size_t... Round>
[[gnu::always_inline]] inline void draw(random_words<Lanes>& words, const random_key& key, std::uint64_t first,
                                        std::index_sequence<Round...>) {
  constexpr std::uint64_t low = 0xFFFFFFFFU;
  const std::uint64_t step_high = (key.step >> 32 << 16) & low, step_low = key.step & low;
  const std::uint64_t position = key.position;
  const std::uint64_t k0 = key.seed & low, k1 = key.seed >> 32;
  for (std::size_t i = 0; i < Lanes; ++i) {
    std::uint64_t a = (first + i) & low, b = (((first + i) >> 32) & 0xFFFFU) | step_high, c = position, d = step_low;
    (
        [&]() __attribute__((always_inline)) {
          const std::uint64_t p0 = 0xD2511F53U * a, p1 = 0xCD9E8D57U * c;
          a = (p1 >> 32) ^ b ^ ((k0 + Round * 0x9E3779B9U) & low);
          b = p1 & low;
          c = (p0 >> 32) ^ d ^ ((k1 + Round * 0xBB67AE85U) & low);
          d = p0 & low;
        }(),
        ...);
    words[0][i] = a;
    words[1][i] = b;
    words[2][i] = c;
    words[3][i] = d;
  }
}

// Writes the factors of the elements begin, begin + 1, ...; begin is a multiple of 4, and count of 4 Lanes.
template <std::size_t Lanes = random_lanes, class T>
[[gnu::always_inline]] inline void write_factors(T* factors, std::size_t count, const random_key& key, std::size_t begin,
                                                 const dropout_rate& rate) {
  const T scale = static_cast<T>(rate.scale);
  random_words<Lanes> words;
  for (std::size_t i = 0; i < count; i += 4 * Lanes) {
    draw<Lanes>(words, key, (begin + i) / 4, std::make_index_sequence<10>());
    for (std::size_t j = 0; j < Lanes; ++j)
      for (std::size_t k = 0; k < 4; ++k) factors[i + 4 * j + k] = words[k][j] < rate.threshold ? T{0} : scale;
  }
}
template <class T>
void write_factors_plain(T* factors, std::size_t count, const random_key& key, std::size_t begin, const dropout_rate& rate) {
  write_factors(factors, count, key, begin, rate);
}
template <class T>
CAIRN_TARGET_AVX2 void write_factors_avx2(T* factors, std::size_t count, const random_key& key, std::size_t begin,
                                          const dropout_rate& rate) {
  write_factors(factors, count, key, begin, rate);
}
template <class T>
CAIRN_TARGET_AVX512 void write_factors_avx512(T* factors, std::size_t count, const random_key& key, std::size_t begin,
                                              const dropout_rate& rate) {
  write_factors(factors, count, key, begin, rate);
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void dropout(cpu::queue& queue, std::size_t count, T* result, const T* x, const types::random_key& key,
             const dropout_rate& rate) {
  using wide = accumulated<T>;
  constexpr std::size_t piece = 2048; // factors stay in the innermost cache
  const detail::instruction_set set = detail::widest_for_elements();
  const auto factors_of = set == detail::instruction_set::avx512 ? detail::write_factors_avx512<wide>
                          : set == detail::instruction_set::avx2 ? detail::write_factors_avx2<wide>
                                                                 : detail::write_factors_plain<wide>;
  queue.parallel_for((count + piece - 1) / piece, [&](std::size_t part, auto) {
    alignas(64) wide factors[piece];
    const std::size_t begin = part * piece;
    const std::size_t length = std::min(piece, count - begin);
    constexpr std::size_t group = 4 * detail::random_lanes;
    factors_of(factors, (length + group - 1) / group * group, key, begin, rate);
    detail::run_mixed<T>(set, detail::multiply_element{}, length, detail::written{result + begin},
                         detail::taken{x + begin, &factors[0]});
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
