// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/strip.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The probabilities that stored_attention_forward() writes for stored_attention_backward(): (samples, heads, queries, keys).
template <class T>
struct kept_probabilities {
  T* data = nullptr;

  T* of_query(const attention_extents& of, std::size_t sample, std::size_t head, std::size_t query) const {
    return data + ((sample * of.heads + head) * of.queries + query) * of.keys;
  }
  matrix<T> of_strip(const attention_extents& of, std::size_t sample, std::size_t head, const strip_of_queries& s) const {
    return {of_query(of, sample, head, s.first) + s.begin, s.rows, s.keys(), of.keys};
  }
};

// Writes the probabilities of a strip: its exponentials times the inverses of their sums.
template <class T>
struct probabilities_of_exponentials {
  strip_of_numbers<T> exponentials;
  matrix<T> to;
  const per_query<T>* inverses;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < to.rows; ++i) {
      const T* const row = exponentials.data + i * exponentials.stride;
      T* const p = to.data + i * to.stride;
      const T inverse = inverses->data()[i];
      std::size_t j = 0;
      for (; j + element_block <= to.columns; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) p[j + k] = row[j + k] * inverse;
      for (; j < to.columns; ++j) p[j] = row[j] * inverse;
    }
  }
};

// Reads the probabilities p of a strip, and replaces the derivative dp by p by ds = p (dp - dot) scale.
template <class T>
struct derivatives_of_probabilities {
  strip_of_numbers<T> probabilities; // copied to here: rows as far apart as in memory may share the sets of a cache
  T* derivatives;                    // as the copies lie
  matrix<const T> from;
  T scale;
  const per_query<T>* dots;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < from.rows; ++i) {
      const T* const read = from.data + i * from.stride;
      T *const row = probabilities.data + i * probabilities.stride, *const d = derivatives + i * probabilities.stride;
      const T dot = dots->data()[i];
      std::size_t j = 0;
      for (; j + element_block <= from.columns; j += element_block) {
        T p[element_block], ds[element_block];
        for (std::size_t k = 0; k < element_block; ++k) p[k] = read[j + k];
        for (std::size_t k = 0; k < element_block; ++k) ds[k] = p[k] * (d[j + k] - dot) * scale;
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] = p[k];
        for (std::size_t k = 0; k < element_block; ++k) d[j + k] = ds[k];
      }
      for (; j < from.columns; ++j) {
        row[j] = read[j];
        d[j] = read[j] * (d[j] - dot) * scale;
      }
    }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
