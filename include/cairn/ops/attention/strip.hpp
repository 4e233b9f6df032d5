// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include <cairn/core/config.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

// A strip of queries: a few neighbouring rows of the scores of one head, over all keys that any of them may look at.
namespace cairn::detail {

// The most queries of a strip. Strips of 16 or 64 are up to a tenth slower; a strip of 32 rows over 1024 keys takes 128 KiB.
inline constexpr std::size_t strip_queries = 32;

// A number for each query of a strip.
template <class T>
using per_query = std::array<T, strip_queries>;

// The scores of a strip over its keys [begin, end), of which begin is a multiple of a chain's length: the chains of a sum over keys
// begin at the same keys wherever the strip begins. The columns are filled up to whole blocks.
struct strip_of_queries {
  std::size_t first = 0, rows = 0; // queries
  std::size_t begin = 0, end = 0;  // keys

  constexpr strip_of_queries(const attention_extents& of, std::size_t query, std::size_t most)
      : first(query), rows(std::min(most, of.queries - query)),
        begin(of.band.begin(of.first_place + query, of.keys) / reduction_chain * reduction_chain),
        end(of.band.end(of.first_place + query + rows - 1, of.keys)) {}

  constexpr std::size_t keys() const { return end - begin; }
  constexpr std::size_t columns() const { return (keys() + element_block - 1) / element_block * element_block; }
};

// Sets the scores that a query may not look at, and the columns after the last key, to minus infinity.
template <class T>
void mask_scores(const attention_extents& of, const strip_of_queries& s, T* scores) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  const std::size_t columns = s.columns();
  for (std::size_t i = 0; i < s.rows; ++i) {
    T* const row = scores + i * columns;
    const std::size_t place = of.first_place + s.first + i;
    std::fill(row, row + (of.band.begin(place, of.keys) - s.begin), none);
    std::fill(row + (of.band.end(place, of.keys) - s.begin), row + columns, none);
  }
}

// Replaces each score s of a row by e^(scale s - shift), where shift is the greatest of the scaled scores, and leaves the row's sum
// and shift. A row that is masked as a whole has a sum of 0.
template <class T>
struct exponentials_of_scores {
  T* scores;
  std::size_t rows, columns;
  T scale;
  per_query<double>* sums;
  per_query<T>* shifts;

  [[gnu::always_inline]] inline void run() const {
    constexpr T none = -std::numeric_limits<T>::infinity();
    for (std::size_t i = 0; i < rows; ++i) {
      T* const row = scores + i * columns;
      T most[element_block];
      for (std::size_t k = 0; k < element_block; ++k) most[k] = none;
      for (std::size_t j = 0; j < columns; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) most[k] = blend(row[j + k] > most[k], row[j + k], most[k]);
      for (std::size_t half = element_block / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) most[k] = most[k + half] > most[k] ? most[k + half] : most[k];
      const T shift = most[0] > none ? most[0] * scale : T{0};
      double sum[element_block] = {};
      for (std::size_t j = 0; j < columns; j += element_block) {
        T v[element_block];
        for (std::size_t k = 0; k < element_block; ++k) v[k] = exponential(row[j + k] * scale - shift);
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] = v[k];
        for (std::size_t k = 0; k < element_block; ++k) sum[k] += static_cast<double>(v[k]);
      }
      for (std::size_t half = element_block / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) sum[k] += sum[k + half];
      (*sums)[i] = sum[0];
      (*shifts)[i] = shift;
    }
  }
};

// Replaces each score s by its probability p = e^(scale s - log sum), and the derivative dp by p by ds = p (dp - dot) scale.
template <class T>
struct derivatives_of_scores {
  T *scores, *derivatives;
  std::size_t rows, columns;
  T scale;
  const T* log_sums;
  const per_query<T>* dots;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < rows; ++i) {
      T *const row = scores + i * columns, *const d = derivatives + i * columns;
      const T log_sum = log_sums[i], dot = (*dots)[i];
      for (std::size_t j = 0; j < columns; j += element_block) {
        T p[element_block], ds[element_block];
        for (std::size_t k = 0; k < element_block; ++k) ds[k] = d[j + k];
        for (std::size_t k = 0; k < element_block; ++k) p[k] = exponential(row[j + k] * scale - log_sum);
        for (std::size_t k = 0; k < element_block; ++k) ds[k] = p[k] * (ds[k] - dot) * scale;
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] = p[k];
        for (std::size_t k = 0; k < element_block; ++k) d[j + k] = ds[k];
      }
    }
  }
};

// The dot product of each row of x with the same row of y.
template <class T>
struct dots_of_rows {
  matrix<const T> x, y;
  per_query<T>* dots;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < x.rows; ++i) {
      const T *const a = x.data + i * x.stride, *const b = y.data + i * y.stride;
      double sum[element_block] = {};
      std::size_t j = 0;
      for (; j + element_block <= x.columns; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) sum[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
      for (std::size_t k = 0; j + k < x.columns; ++k) sum[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
      for (std::size_t half = element_block / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) sum[k] += sum[k + half];
      (*dots)[i] = static_cast<T>(sum[0]);
    }
  }
};

// Multiplies each row by its factor.
template <class T>
struct scaled_rows {
  matrix<T> x;
  const per_query<T>* factors;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < x.rows; ++i) {
      T* const row = x.data + i * x.stride;
      const T factor = (*factors)[i];
      std::size_t j = 0;
      for (; j + element_block <= x.columns; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] *= factor;
      for (; j < x.columns; ++j) row[j] *= factor;
    }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
