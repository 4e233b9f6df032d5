// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/strip.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The work on one sample, strip by strip, in the scratch memory of a thread. Strips are a function of the extents alone, and no sum
// crosses a sample or a key head, so the bits do not depend on how parts are cut.
//
// Rejected: blocks of keys with a running maximum, as kernels for GPUs have it. A strip over all keys fits the second-level cache
// of a CPU for thousands of keys, and its exact maximum costs a twentieth of the exponentials.
template <class T>
class attention_in_strips {
public:
  attention_in_strips(const attention_extents& of, const attention_operands<const T>& in, std::size_t sample,
                      std::span<std::byte> scratch)
      : of_(of), in_(in), sample_(sample), most_(queries_of_strip(of)), scores_(reinterpret_cast<T*>(scratch.data())),
        derivatives_(scores_ + room_of_strip(of)), products_(scratch.subspan(2 * room_of_strip(of) * sizeof(T))),
        scale_(static_cast<T>(1 / std::sqrt(static_cast<double>(of.width)))) {}

  // The number of queries of a strip: fewer if there are so many keys that two strips would not fit beside the products.
  static std::size_t queries_of_strip(const attention_extents& of) {
    std::size_t rows = strip_queries;
    while (rows > 1 && 2 * rows * padded_keys(of) * sizeof(T) > cpu::queue::scratch_bytes - matmul_scratch_bytes) rows /= 2;
    return rows;
  }

  // The outputs of the strip that begins at query `first`.
  void forward(std::size_t head, std::size_t first, T* output, T* log_sums) {
    const strip_of_queries s(of_, first, most_);
    const matrix<T> out = outputs(output, head, s);
    make_scores(head, s);
    per_query<double> sums;
    per_query<T> shifts, factors;
    run_tile(exponentials_of_scores<T>{scores_, s.rows, s.columns(), scale_, &sums, &shifts});
    over_keys(out, scores_, s, values(head, s));
    for (std::size_t i = 0; i < s.rows; ++i) factors[i] = sums[i] == 0 ? T{0} : static_cast<T>(1 / sums[i]);
    run_tile(scaled_rows<T>{out, &factors});
    if (log_sums == nullptr) return;
    T* const to = log_sums + (sample_ * of_.heads + head) * of_.queries + first;
    for (std::size_t i = 0; i < s.rows; ++i)
      to[i] = sums[i] == 0 ? std::numeric_limits<T>::infinity()
                           : static_cast<T>(static_cast<double>(shifts[i]) + std::log(sums[i]));
  }

  // All gradients of one key head and of the heads that share it: from the last strip, which looks at the last keys, to the first.
  void backward(std::size_t key_head, const attention_operands<T>& gradients, const T* output_gradient, const T* output,
                const T* log_sums) {
    const std::size_t share = of_.heads / of_.key_heads;
    std::size_t written = of_.keys; // gradients of these keys and later ones are there, and more is added to them
    for (std::size_t h = 0; h < share; ++h) {
      const std::size_t head = key_head * share + h;
      for (std::size_t k = (of_.queries + most_ - 1) / most_; k-- > 0;) {
        const strip_of_queries s(of_, k * most_, most_);
        if (written == of_.keys) clear(gradients, head, s.end, of_.keys);
        backward(head, s, std::min(written, s.end), gradients, output_gradient, output, log_sums);
        written = std::min(written, first_key(s));
      }
      clear(gradients, head, 0, written);
      written = 0;
    }
  }

private:
  static std::size_t padded_keys(const attention_extents& of) {
    return (of.keys + element_block - 1) / element_block * element_block;
  }
  static std::size_t room_of_strip(const attention_extents& of) { return queries_of_strip(of) * padded_keys(of); }

  std::size_t key_column(std::size_t head) const { return head / (of_.heads / of_.key_heads) * of_.width; }
  std::size_t query_row(std::size_t i) const { return sample_ * of_.queries + i; }
  std::size_t key_row(std::size_t j) const { return sample_ * of_.keys + j; }
  std::size_t first_key(const strip_of_queries& s) const { return of_.band.begin(of_.first_place + s.first, of_.keys); }

  template <class U>
  matrix<U> outputs(U* all, std::size_t head, const strip_of_queries& s) const {
    const std::size_t stride = of_.heads * of_.width;
    return {all + query_row(s.first) * stride + head * of_.width, s.rows, of_.width, stride};
  }
  template <class U>
  matrix<U> queries(U* all, std::size_t head, const strip_of_queries& s) const {
    return {all + query_row(s.first) * in_.query_stride + head * of_.width, s.rows, of_.width, in_.query_stride};
  }
  template <class U>
  matrix<U> rows_of_keys(U* all, std::size_t head, std::size_t begin, std::size_t end) const {
    return {all + key_row(begin) * in_.key_stride + key_column(head), end - begin, of_.width, in_.key_stride};
  }
  matrix<const T> keys(std::size_t head, const strip_of_queries& s) const { return rows_of_keys(in_.key, head, s.begin, s.end); }
  matrix<const T> values(std::size_t head, const strip_of_queries& s) const {
    return rows_of_keys(in_.value, head, s.begin, s.end);
  }
  matrix<T> scores_of(T* at, const strip_of_queries& s) const { return {at, s.rows, s.keys(), s.columns()}; }

  void make_scores(std::size_t head, const strip_of_queries& s) {
    matmul_in_part(products_, scores_of(scores_, s), queries(in_.query, head, s), keys(head, s), transpose::second);
    mask_scores(of_, s, scores_);
  }

  // c = of_strip x rows, summed over keys in pieces that begin at fixed keys. A product cuts a longer sum by its length, and the output
  // of a query must not depend on the number of keys after its own.
  void over_keys(matrix<T> c, const T* of_strip, const strip_of_queries& s, matrix<const T> rows) {
    std::size_t at = s.begin;
    epilogue<T> then{};
    do {
      const std::size_t next = std::min(s.end, (at / longest_reduction_block + 1) * longest_reduction_block);
      matmul_in_part(products_, c, {of_strip + (at - s.begin), s.rows, next - at, s.columns()},
                     {rows.data + (at - s.begin) * rows.stride, next - at, rows.columns, rows.stride}, transpose::none, then);
      then.addend = c;
      at = next;
    } while (at < s.end);
  }

  void backward(std::size_t head, const strip_of_queries& s, std::size_t written, const attention_operands<T>& gradients,
                const T* output_gradient, const T* output, const T* log_sums) {
    const matrix<const T> dy = outputs(output_gradient, head, s);
    per_query<T> dots;
    run_tile(dots_of_rows<T>{dy, outputs(output, head, s), &dots});
    make_scores(head, s);
    matmul_in_part(products_, scores_of(derivatives_, s), dy, values(head, s), transpose::second);
    for (std::size_t i = 0; i < s.rows; ++i) // the columns after the last key
      std::fill(derivatives_ + i * s.columns() + s.keys(), derivatives_ + (i + 1) * s.columns(), T{0});
    const T* const sums = log_sums + (sample_ * of_.heads + head) * of_.queries + s.first;
    run_tile(derivatives_of_scores<T>{scores_, derivatives_, s.rows, s.columns(), scale_, sums, &dots});
    over_keys(queries(gradients.query, head, s), derivatives_, s, keys(head, s));
    over_queries(gradients.value, head, s, written, scores_, dy);
    over_queries(gradients.key, head, s, written, derivatives_, queries(in_.query, head, s));
  }

  // Adds of_strip^T x rows to the gradients of the strip's keys; those before `written` are overwritten.
  void over_queries(T* gradient, std::size_t head, const strip_of_queries& s, std::size_t written, const T* of_strip,
                    matrix<const T> rows) {
    const auto product = [&](std::size_t begin, std::size_t end, bool adds) {
      if (begin >= end) return;
      const matrix<T> c = rows_of_keys(gradient, head, begin, end);
      epilogue<T> then{};
      if (adds) then.addend = c;
      matmul_in_part(products_, c, {of_strip + (begin - s.begin), s.rows, end - begin, s.columns()}, rows, transpose::first, then);
    };
    const std::size_t begin = first_key(s);
    product(begin, written, false);
    product(std::max(begin, written), s.end, true);
  }

  // No query looks at these keys.
  void clear(const attention_operands<T>& gradients, std::size_t head, std::size_t begin, std::size_t end) {
    for (T* const all : {gradients.key, gradients.value})
      for (std::size_t j = begin; j < end; ++j) std::fill_n(rows_of_keys(all, head, j, j + 1).data, of_.width, T{0});
  }

  const attention_extents& of_;
  const attention_operands<const T>& in_;
  std::size_t sample_, most_;
  T *scores_, *derivatives_;
  std::span<std::byte> products_;
  T scale_;
};

} // namespace cairn::detail

namespace cairn::ops {

// A part is a head of a sample or, if there are fewer of these than threads, a strip of one.
template <class T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in) {
  detail::check_attention(of);
  const std::size_t rows = detail::attention_in_strips<T>::queries_of_strip(of), strips = (of.queries + rows - 1) / rows;
  const std::size_t heads = of.samples * of.heads, cuts = heads < queue.threads() ? strips : 1;
  queue.parallel_for(heads * cuts, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t sample = part / cuts / of.heads, head = part / cuts % of.heads, cut = part % cuts;
    detail::attention_in_strips<T> work(of, in, sample, scratch);
    for (std::size_t k = cuts == 1 ? 0 : cut; k < (cuts == 1 ? strips : cut + 1); ++k)
      work.forward(head, k * rows, output, log_sums);
  });
}

// A part is a key head of a sample, with all heads that share it.
template <class T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in) {
  detail::check_attention(of);
  queue.parallel_for(of.samples * of.key_heads, [&](std::size_t part, std::span<std::byte> scratch) {
    detail::attention_in_strips<T> work(of, in, part / of.key_heads, scratch);
    work.backward(part % of.key_heads, gradients, output_gradient, output, log_sums);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
