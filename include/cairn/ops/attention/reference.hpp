// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/kept_probabilities.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of attention.hpp as they stand there: one query or one key after another, in double, rounded when a result is
// written. The oracle for every kernel, and the kernel for 16-bit elements of very wide heads.
namespace cairn::detail {

// One sample and one head: rows of its queries, keys, values and outputs.
template <class T>
struct attention_head {
  const attention_extents& of;
  const attention_extras<T>& extras;
  const T *query, *key, *value;
  std::size_t query_stride, key_stride;
  std::size_t output_at;        // element of the first row of the output
  std::size_t query_at, key_at; // ... of the operands
  std::size_t sums_at;          // the first log sum
  std::size_t keys;             // that this sample has
  const T* added;
  double scale;

  attention_head(const attention_extents& extents, const attention_operands<const T>& in, std::size_t sample, std::size_t head,
                 const attention_extras<T>& more)
      : of(extents), extras(more), query_stride(in.query_stride), key_stride(in.key_stride),
        output_at((sample * of.queries * of.heads + head) * of.width),
        query_at(sample * of.queries * in.query_stride + head * of.width),
        key_at(sample * of.keys * in.key_stride + head / (of.heads / of.key_heads) * of.width),
        sums_at((sample * of.heads + head) * of.queries), keys(extents_of_sample(of, sample, more).keys),
        added(more.added == nullptr ? nullptr : more.added + sample * more.added_sample_stride + head * more.added_head_stride),
        scale(1 / std::sqrt(static_cast<double>(of.width))) {
    query = in.query + query_at;
    key = in.key + key_at;
    value = in.value + key_at;
  }

  std::size_t begin(std::size_t i) const { return of.band.begin(of.first_place + i, keys); }
  std::size_t end(std::size_t i) const { return of.band.end(of.first_place + i, keys); }
  std::size_t output_row(std::size_t i) const { return output_at + i * of.heads * of.width; }

  double dot(const T* x, const T* y) const {
    double sum = 0;
    for (std::size_t c = 0; c < of.width; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(y[c]);
    return sum;
  }
  double score(std::size_t i, std::size_t j) const {
    const double found = scale * dot(query + i * query_stride, key + j * key_stride);
    return added == nullptr ? found : found + static_cast<double>(added[i * of.keys + j]);
  }
  // The factor of a probability under dropout.
  double factor(std::size_t i, std::size_t j) const {
    if (extras.rate.threshold == 0) return 1;
    return ops::random_bits(extras.random, (sums_at + i) * of.keys + j) < extras.rate.threshold ? 0 : extras.rate.scale;
  }

  // The output of query i. `row` has room for a number for each key.
  template <class Kept>
  void forward(std::size_t i, double* row, T* output, Kept kept) const {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t j = begin(i); j < end(i); ++j) most = std::max(most, row[j] = score(i, j));
    if (most == -std::numeric_limits<double>::infinity()) most = 0; // it may look at none
    for (std::size_t j = begin(i); j < end(i); ++j) sum += row[j] = std::exp(row[j] - most);
    for (std::size_t j = begin(i); j < end(i); ++j) row[j] *= factor(i, j);
    for (std::size_t c = 0; c < of.width; ++c) {
      double y = 0;
      for (std::size_t j = begin(i); j < end(i); ++j) y += row[j] * static_cast<double>(value[j * key_stride + c]);
      output[output_row(i) + c] = static_cast<T>(static_cast<accumulated<T>>(sum == 0 ? 0 : y / sum));
    }
    if constexpr (std::is_pointer_v<Kept>) {
      if (kept != nullptr)
        kept[sums_at + i] =
            static_cast<accumulated<T>>(sum == 0 ? std::numeric_limits<double>::infinity() : most + std::log(sum));
    } else if (kept.data != nullptr) {
      T* const p = kept.data + (sums_at + i) * of.keys;
      for (std::size_t j = begin(i); j < end(i); ++j) p[j] = static_cast<T>(static_cast<accumulated<T>>(row[j] / sum));
    }
  }

  // A probability after dropout, and the derivative by its score before it is scaled.
  struct derivative {
    double p, ds;
  };
  double probability(std::size_t i, std::size_t j, const accumulated<T>* log_sums) const {
    return std::exp(score(i, j) - static_cast<double>(log_sums[sums_at + i]));
  }
  double probability(std::size_t i, std::size_t j, kept_probabilities<const T> kept) const {
    return static_cast<double>(kept.data[(sums_at + i) * of.keys + j]);
  }
  template <class Kept>
  derivative at(std::size_t i, std::size_t j, const T* output_gradient, const T* output, Kept kept) const {
    const T *const dy = output_gradient + output_row(i), *const y = output + output_row(i);
    const double p = probability(i, j, kept), m = factor(i, j);
    return {p * m, p * (m * dot(dy, value + j * key_stride) - dot(dy, y)) * scale};
  }

  // Adds the gradient of query i to `sums`, (width).
  template <class Kept>
  void query_gradient(std::size_t i, double* sums, const T* output_gradient, const T* output, Kept kept) const {
    for (std::size_t j = begin(i); j < end(i); ++j) {
      const double ds = at(i, j, output_gradient, output, kept).ds;
      for (std::size_t c = 0; c < of.width; ++c) sums[c] += ds * static_cast<double>(key[j * key_stride + c]);
    }
  }
  // Adds the gradients of key and value j to `sums`, (2, width).
  template <class Kept>
  void key_gradients(std::size_t j, double* sums, const T* output_gradient, const T* output, Kept kept) const {
    for (std::size_t i = 0; i < of.queries; ++i) {
      if (j < begin(i) || j >= end(i)) continue;
      const auto [p, ds] = at(i, j, output_gradient, output, kept);
      for (std::size_t c = 0; c < of.width; ++c) {
        sums[c] += ds * static_cast<double>(query[i * query_stride + c]);
        sums[of.width + c] += p * static_cast<double>(output_gradient[output_row(i) + c]);
      }
    }
  }
};

// All heads of one sample that share the keys of `key_head`. `room` has a number for each key, and 2 width more.
template <class T, class Kept>
void attention_forward_plain(const attention_extents& of, std::size_t sample, std::size_t key_head, double* room, T* output,
                             Kept kept, const attention_operands<const T>& in, const attention_extras<T>& extras = {}) {
  const std::size_t share = of.heads / of.key_heads;
  for (std::size_t head = key_head * share; head < (key_head + 1) * share; ++head) {
    const attention_head<T> own(of, in, sample, head, extras);
    for (std::size_t i = 0; i < of.queries; ++i) own.forward(i, room, output, kept);
  }
}
template <class T, class Kept>
void attention_backward_plain(const attention_extents& of, std::size_t sample, std::size_t key_head, double* room,
                              const attention_operands<T>& gradients, const T* output_gradient, const T* output, Kept kept,
                              const attention_operands<const T>& in, const attention_extras<T>& extras = {}) {
  const std::size_t share = of.heads / of.key_heads;
  const auto write = [&](T* to, const double* sums) {
    for (std::size_t c = 0; c < of.width; ++c) to[c] = static_cast<T>(static_cast<accumulated<T>>(sums[c]));
  };
  for (std::size_t head = key_head * share; head < (key_head + 1) * share; ++head) {
    const attention_head<T> own(of, in, sample, head, extras);
    for (std::size_t i = 0; i < of.queries; ++i) {
      std::fill_n(room, of.width, 0.0);
      own.query_gradient(i, room, output_gradient, output, kept);
      write(gradients.query + own.query_at + i * in.query_stride, room);
    }
  }
  for (std::size_t j = 0; j < of.keys; ++j) {
    std::fill_n(room, 2 * of.width, 0.0);
    for (std::size_t head = key_head * share; head < (key_head + 1) * share; ++head)
      attention_head<T>(of, in, sample, head, extras).key_gradients(j, room, output_gradient, output, kept);
    const std::size_t at = attention_head<T>(of, in, sample, key_head * share, extras).key_at + j * in.key_stride;
    write(gradients.key + at, room);
    write(gradients.value + at, room + of.width);
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
