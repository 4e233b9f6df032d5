// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/ops/attention/strip.hpp>
#include <cairn/ops/dropout/cpu.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>

CAIRN_KERNELS_BEGIN

// An additive mask and dropout of probabilities, for one strip of queries: function objects as in strip.hpp.
namespace cairn::detail {

// Replaces each score s of a row by scale s + added.
template <class T>
struct added_scores {
  strip_of_numbers<T> scores;
  T scale;
  const T* added; // for the first query and key of the strip
  std::size_t keys, stride;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < scores.rows; ++i) {
      T* const row = scores.data + i * scores.stride;
      const T* const more = added + i * stride;
      std::size_t j = 0;
      for (; j + element_block <= keys; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] = row[j + k] * scale + more[j + k];
      for (; j < keys; ++j) row[j] = row[j] * scale + more[j];
    }
  }
};

// The factors of a strip's probabilities under dropout, drawn for a piece of a row at a time. A draw makes 64 factors, not 128 as
// ops::dropout does: rows of scores are short.
struct factors_of_strip {
  random_key random;
  ops::dropout_rate rate;
  std::uint64_t first, row; // the element of the first query and key, and elements from one query to the next

  static constexpr std::size_t lanes = 16, group = 4 * lanes, piece = 8 * group;
  template <class T>
  using room = T[piece + group];

  // Those of query i for the keys from j on, at most a piece.
  template <class T>
  [[gnu::always_inline]] inline const T* draw(room<T>& to, std::size_t i, std::size_t j, std::size_t count) const {
    const std::uint64_t index = first + i * row + j, skipped = index % 4;
    write_factors<lanes>(to, (skipped + count + group - 1) / group * group, random, index - skipped, rate);
    return to + skipped;
  }
};

// Multiplies each number by its factor.
template <class T>
struct dropped_numbers {
  strip_of_numbers<T> numbers;
  factors_of_strip factors;

  [[gnu::always_inline]] inline void run() const {
    alignas(64) factors_of_strip::room<T> room;
    for (std::size_t i = 0; i < numbers.rows; ++i)
      for (std::size_t begin = 0; begin < numbers.columns; begin += factors_of_strip::piece) {
        const std::size_t count = std::min(factors_of_strip::piece, numbers.columns - begin);
        const T* const m = factors.draw(room, i, begin, count);
        T* const row = numbers.data + i * numbers.stride + begin;
        for (std::size_t j = 0; j < count; j += element_block)
          for (std::size_t k = 0; k < element_block; ++k) row[j + k] *= m[j + k];
      }
  }
};

// derivatives_of_scores with dropout: with m the factor, s becomes m p, and dp becomes p (m dp - dot) slope.
template <class T>
struct dropped_derivatives_of_scores {
  derivatives_of_scores<T> of;
  factors_of_strip factors;

  [[gnu::always_inline]] inline void run() const {
    alignas(64) factors_of_strip::room<T> room;
    const strip_of_numbers<T>& scores = of.scores;
    for (std::size_t i = 0; i < scores.rows; ++i)
      for (std::size_t begin = 0; begin < scores.columns; begin += factors_of_strip::piece) {
        const std::size_t count = std::min(factors_of_strip::piece, scores.columns - begin);
        const T* const m = factors.draw(room, i, begin, count);
        const std::size_t at = i * scores.stride + begin;
        T *const row = scores.data + at, *const d = of.derivatives + at;
        const T log_sum = of.log_sums[i], dot = of.dots->data()[i];
        for (std::size_t j = 0; j < count; j += element_block) {
          T p[element_block], ds[element_block];
          for (std::size_t k = 0; k < element_block; ++k) ds[k] = d[j + k];
          for (std::size_t k = 0; k < element_block; ++k) p[k] = exponential_or_zero(row[j + k] * of.scale - log_sum);
          for (std::size_t k = 0; k < element_block; ++k) ds[k] = p[k] * (ds[k] * m[j + k] - dot) * of.slope;
          for (std::size_t k = 0; k < element_block; ++k) row[j + k] = p[k] * m[j + k];
          for (std::size_t k = 0; k < element_block; ++k) d[j + k] = ds[k];
        }
      }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
