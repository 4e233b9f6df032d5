// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/cuts_of_backward.hpp>
#include <cairn/ops/attention/extras_of_strip.hpp>
#include <cairn/ops/attention/head_of_keys.hpp>
#include <cairn/ops/attention/kept_probabilities.hpp>
#include <cairn/ops/attention/stored.hpp>
#include <cairn/ops/attention/strip.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The work on one sample, strip by strip, in the scratch memory of a thread. Strips are a function of the extents alone, and no
// sum crosses a sample or a key head, so the bits do not depend on how parts are cut.
//
// Not taken: blocks of keys with a running maximum, as kernels for GPUs have them. A strip over all keys fits the second-level
// cache of a CPU for thousands of keys.
//
// Extras is attention_extras<T>, or no_attention_extras.
template <class T, class Extras = no_attention_extras>
class attention_in_strips {
public:
  attention_in_strips(const attention_extents& of, const attention_operands<const T>& in, std::size_t sample,
                      std::span<std::byte> scratch, const Extras& extras = {})
      : of_(of), seen_(extents_of_sample(of, sample, extras)), in_(in), extras_(extras), sample_(sample),
        most_(queries_of_strip(of)), scores_(reinterpret_cast<T*>(scratch.data())),
        derivatives_(scores_ + most_ * row_of_scores(of)),
        copies_(scratch.subspan(2 * most_ * row_of_scores(of) * sizeof(T),
                                scratch.size() - matmul_scratch_bytes - 2 * most_ * row_of_scores(of) * sizeof(T))),
        products_(scratch.last(matmul_scratch_bytes)), scale_(static_cast<T>(1 / std::sqrt(static_cast<double>(of.width)))) {}

  // The number of queries of a strip: fewer if there are so many keys that two strips would not fit beside the products.
  static std::size_t queries_of_strip(const attention_extents& of) {
    std::size_t rows = strip_queries;
    while (rows > 1 && 2 * rows * row_of_scores(of) * sizeof(T) > cpu::queue::scratch_bytes - matmul_scratch_bytes) rows /= 2;
    return rows;
  }
  static std::size_t strips(const attention_extents& of) {
    return (of.queries + queries_of_strip(of) - 1) / queries_of_strip(of);
  }

  // The outputs of the strips [begin, end) of a head.
  template <class Kept>
  void forward(std::size_t head, std::size_t begin, std::size_t end, T* output, Kept kept) {
    keys_ = keys_of(head, 0, of_.keys);
    if (end - begin > 1) keys_.copy_for_forward(copies_);
    for (std::size_t k = begin; k < end; ++k) forward(head, strip_of_queries(seen_, k * most_, most_), output, kept);
  }

  // All gradients of one key head and of the heads that share it.
  template <class Kept>
  void backward(std::size_t key_head, const attention_operands<T>& gradients, const T* output_gradient, const T* output,
                Kept kept) {
    backward(key_head, 0, of_.keys, true, gradients, output_gradient, output, kept);
  }

  // The same in two passes, which both make the scores: the gradients of the queries of the strips [begin, end) of a head, and
  // those of the keys [first, last) of a key head. Each sum has the order that it has in backward().
  template <class Kept>
  void query_gradients(std::size_t head, std::size_t begin, std::size_t end, const attention_operands<T>& gradients,
                       const T* output_gradient, const T* output, Kept kept) {
    keys_ = keys_of(head, 0, of_.keys);
    if (end - begin > 1) keys_.copy_for_query_gradients(copies_);
    for (std::size_t k = begin; k < end; ++k) {
      const strip_of_queries s(seen_, k * most_, most_);
      make_derivatives(head, s, outputs(output_gradient, head, s), output, kept);
      over_keys(queries(gradients.query, head, s), derivatives_, s, keys_.key);
    }
  }
  template <class Kept>
  void key_gradients(std::size_t key_head, std::size_t first, std::size_t last, const attention_operands<T>& gradients,
                     const T* output_gradient, const T* output, Kept kept) {
    backward(key_head, first, last, false, gradients, output_gradient, output, kept);
  }

private:
  // Elements from one row of scores to the next, at most: a few more than there are keys, as rows a power of two apart would
  // share the sets of a cache.
  static std::size_t row_of_scores(const attention_extents& of) {
    return (of.keys + element_block - 1) / element_block * element_block + element_block;
  }

  std::size_t first_key(const strip_of_queries& s) const {
    return std::max(s.begin, of_.band.begin(of_.first_place + s.first, seen_.keys));
  }

  template <class U>
  matrix<U> outputs(U* all, std::size_t head, const strip_of_queries& s) const {
    const std::size_t stride = of_.heads * of_.width;
    return {all + (sample_ * of_.queries + s.first) * stride + head * of_.width, s.rows, of_.width, stride};
  }
  template <class U>
  matrix<U> queries(U* all, std::size_t head, const strip_of_queries& s) const {
    return {all + (sample_ * of_.queries + s.first) * in_.query_stride + head * of_.width, s.rows, of_.width, in_.query_stride};
  }
  template <class U>
  matrix<U> rows_of_keys(U* all, std::size_t head) const {
    return {all + sample_ * of_.keys * in_.key_stride + head / (of_.heads / of_.key_heads) * of_.width, of_.keys, of_.width,
            in_.key_stride};
  }
  head_of_keys<T> keys_of(std::size_t head, std::size_t first, std::size_t last) const {
    return {.first = first,
            .key = rows_between(rows_of_keys(in_.key, head), first, last),
            .value = rows_between(rows_of_keys(in_.value, head), first, last)};
  }
  template <class U>
  U* sums_of(U* all, std::size_t head, const strip_of_queries& s) const {
    return all + (sample_ * of_.heads + head) * of_.queries + s.first;
  }

  // c = rows x keys^T, over the keys of a strip.
  void times_keys(T* c, matrix<const T> rows, const strip_of_queries& s, matrix<const T> keys, matrix<const T> turned) {
    const matrix<T> scores{c, s.rows, s.keys(), s.stride()};
    if (turned.data != nullptr)
      matmul_in_part(products_, scores, rows, keys_.columns_between(turned, s.begin, s.end), transpose::none);
    else matmul_in_part(products_, scores, rows, keys_.between(keys, s.begin, s.end), transpose::second);
  }

  // c = of_strip x rows, summed over keys in pieces that begin at fixed keys. A product cuts a longer sum by its length, and the
  // output of a query must not depend on the number of keys after its own.
  void over_keys(matrix<T> c, const T* of_strip, const strip_of_queries& s, matrix<const T> rows) {
    std::size_t at = s.begin;
    epilogue<T> then{};
    do {
      const std::size_t next = std::min(s.end, (at / longest_reduction_block + 1) * longest_reduction_block);
      matmul_in_part(products_, c, {of_strip + (at - s.begin), s.rows, next - at, s.stride()}, keys_.between(rows, at, next),
                     transpose::none, then);
      then.addend = c;
      at = next;
    } while (at < s.end);
  }

  // Adds of_strip^T x rows to the gradients of the strip's keys; those before `written` are overwritten.
  void over_queries(matrix<T> gradient, const strip_of_queries& s, std::size_t written, const T* of_strip, matrix<const T> rows) {
    const auto product = [&](std::size_t begin, std::size_t end, bool adds) {
      if (begin >= end) return;
      const matrix<T> c = keys_.between(gradient, begin, end);
      epilogue<T> then{};
      if (adds) then.addend = c;
      matmul_in_part(products_, c, {of_strip + (begin - s.begin), s.rows, end - begin, s.stride()}, rows, transpose::first, then);
    };
    product(first_key(s), written, false);
    product(std::max(first_key(s), written), s.end, true);
  }

  void make_scores(std::size_t head, const strip_of_queries& s) {
    times_keys(scores_, queries(in_.query, head, s), s, keys_.key, keys_.turned_key);
    if constexpr (has_extras)
      if (has_added())
        run_tile(added_scores<T>{s.of(scores_), scale_,
                                 extras_.added + sample_ * extras_.added_sample_stride + head * extras_.added_head_stride +
                                     s.first * of_.keys + s.begin,
                                 s.keys(), of_.keys});
    mask_scores(seen_, s, scores_);
  }

  static constexpr bool has_extras = !std::is_same_v<Extras, no_attention_extras>;
  bool has_added() const {
    if constexpr (has_extras) return extras_.added != nullptr;
    else return false;
  }
  bool drops() const {
    if constexpr (has_extras) return extras_.rate.threshold != 0;
    else return false;
  }
  // What scores are still to be multiplied by: an additive mask is added to scaled ones.
  T scale_of_scores() const { return has_added() ? T{1} : scale_; }
  factors_of_strip factors_of(std::size_t head, const strip_of_queries& s) const
    requires has_extras
  {
    return {extras_.random, extras_.rate, ((sample_ * of_.heads + head) * of_.queries + s.first) * of_.keys + s.begin, of_.keys};
  }

  template <class Kept>
  void forward(std::size_t head, const strip_of_queries& s, T* output, Kept kept) {
    const matrix<T> out = outputs(output, head, s);
    make_scores(head, s);
    per_query<T> sums{}, shifts{}, factors{};
    run_tile(exponentials_of_scores<T>{s.of(scores_), scale_of_scores(), &sums, &shifts});
    if constexpr (has_extras)
      if (drops()) run_tile(dropped_numbers<T>{s.of(scores_), factors_of(head, s)});
    over_keys(out, scores_, s, keys_.value);
    run_tile(inverses_of_sums<T>{&factors, &sums});
    run_tile(scaled_rows<T>{out, &factors});
    if constexpr (std::is_pointer_v<Kept>) {
      if (kept == nullptr) return;
      run_tile(logarithms_of_sums<T>{&sums, &shifts});
      std::copy_n(sums.data(), s.rows, sums_of(kept, head, s));
    } else if (kept.data != nullptr) {
      run_tile(probabilities_of_exponentials<T>{s.of(scores_), kept.of_strip(of_, sample_, head, s), &factors});
    }
  }

  // The gradients of the keys [first, last) of a key head: from the last strip, which looks at the last keys, to the first. With
  // all keys those of the queries can be had too.
  template <class Kept>
  void backward(std::size_t key_head, std::size_t first, std::size_t last, bool of_queries,
                const attention_operands<T>& gradients, const T* output_gradient, const T* output, Kept kept) {
    const std::size_t share = of_.heads / of_.key_heads, count = strips(of_);
    keys_ = keys_of(key_head * share, first, last);
    const matrix<T> key = rows_between(rows_of_keys(gradients.key, key_head * share), first, last);
    const matrix<T> value = rows_between(rows_of_keys(gradients.value, key_head * share), first, last);
    keys_.key_gradient = key;
    keys_.value_gradient = value;
    if (share * count > 1) keys_.copy_for_backward(copies_);
    std::size_t written = last; // gradients of these keys and later ones are there, and more is added to them
    for (std::size_t head = key_head * share; head < (key_head + 1) * share; ++head) {
      for (std::size_t k = count; k-- > 0;) {
        const strip_of_queries s = strip_of_queries(seen_, k * most_, most_).over(first, last);
        if (written == last) keys_.clear_gradients(s.end, last); // no query looks at these
        if (s.keys() == 0 && !of_queries) continue;
        const matrix<const T> dy = outputs(output_gradient, head, s);
        make_derivatives(head, s, dy, output, kept);
        if (of_queries) over_keys(queries(gradients.query, head, s), derivatives_, s, keys_.key);
        over_queries(keys_.value_gradient, s, std::min(written, s.end), scores_, dy);
        over_queries(keys_.key_gradient, s, std::min(written, s.end), derivatives_, queries(in_.query, head, s));
        written = std::min(written, first_key(s));
      }
      keys_.clear_gradients(first, written);
      written = first;
    }
    keys_.write_gradients(key, value);
  }

  // The probabilities of a strip, in place of its scores, and the derivatives by the scores.
  template <class Kept>
  void make_derivatives(std::size_t head, const strip_of_queries& s, matrix<const T> dy, const T* output, Kept kept) {
    per_query<T> dots{};
    run_tile(dots_of_rows<T>{dy, outputs(output, head, s), &dots});
    if constexpr (std::is_pointer_v<Kept>) make_scores(head, s);
    times_keys(derivatives_, dy, s, keys_.value, keys_.turned_value);
    for (std::size_t i = 0; i < s.rows; ++i) // the columns after the last key
      std::fill(derivatives_ + i * s.stride() + s.keys(), derivatives_ + i * s.stride() + s.columns(), T{0});
    if constexpr (std::is_pointer_v<Kept>) {
      const derivatives_of_scores<T> both{s.of(scores_), derivatives_, scale_of_scores(), scale_, sums_of(kept, head, s), &dots};
      if (!drops()) run_tile(both);
      else if constexpr (has_extras) run_tile(dropped_derivatives_of_scores<T>{both, factors_of(head, s)});
    } else
      run_tile(derivatives_of_probabilities<T>{s.of(scores_), derivatives_, kept.of_strip(of_, sample_, head, s), scale_, &dots});
  }

  const attention_extents& of_;
  const attention_extents seen_; // with the keys only that queries of this sample may look at
  const attention_operands<const T>& in_;
  const Extras extras_;
  std::size_t sample_, most_;
  T *scores_, *derivatives_;
  std::span<std::byte> copies_, products_;
  T scale_;
  head_of_keys<T> keys_{};
};

// A part is a head of a sample or, if there are fewer of these than threads, a strip of one. Kept are the logarithms of sums or
// the probabilities.
template <class T, class Kept, class Extras = no_attention_extras>
void attention_forward_in_parts(cpu::queue& queue, const attention_extents& of, T* output, Kept kept,
                                const attention_operands<const T>& in, const Extras& extras = {}) {
  check_attention(of, extras);
  const std::size_t heads = of.samples * of.heads, strips = attention_in_strips<T, Extras>::strips(of);
  const std::size_t cuts = heads < queue.threads() ? strips : 1, each = strips / std::max<std::size_t>(1, cuts);
  queue.parallel_for(heads * cuts, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t sample = part / cuts / of.heads, head = part / cuts % of.heads, cut = part % cuts;
    attention_in_strips<T, Extras>(of, in, sample, scratch, extras).forward(head, cut * each, (cut + 1) * each, output, kept);
  });
}

// A part is a key head of a sample, with all heads that share it. If there are much fewer of these than threads there are two
// passes: in the first a part is a few strips of queries of a head, in the second a block of keys of a key head. As both make the
// scores and their derivatives, they have 7 products where one pass has 5.
template <class T, class Kept, class Extras = no_attention_extras>
void attention_backward_in_parts(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                                 const T* output_gradient, const T* output, Kept kept, const attention_operands<const T>& in,
                                 const Extras& extras = {}) {
  check_attention(of, extras);
  using in_strips = attention_in_strips<T, Extras>;
  const std::size_t parts = of.samples * of.key_heads;
  const cuts_of_backward cuts(of, in_strips::strips(of), queue.threads());
  if (cuts.keys < 2)
    return queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
      in_strips(of, in, part / of.key_heads, scratch, extras)
          .backward(part % of.key_heads, gradients, output_gradient, output, kept);
    });
  // The last strips have the most keys of a causal mask, and the first keys the most queries: they come first.
  queue.parallel_for(of.samples * of.heads * cuts.strips, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t cut = cuts.strips - 1 - part / (of.samples * of.heads), row = part % (of.samples * of.heads);
    const auto [begin, end] = cuts.part_of_strips(cut);
    in_strips(of, in, row / of.heads, scratch, extras)
        .query_gradients(row % of.heads, begin, end, gradients, output_gradient, output, kept);
  });
  queue.parallel_for(parts * cuts.keys, [&](std::size_t part, std::span<std::byte> scratch) {
    const auto [first, last] = cuts.part_of_keys(part / parts);
    in_strips(of, in, part % parts / of.key_heads, scratch, extras)
        .key_gradients(part % parts % of.key_heads, first, last, gradients, output_gradient, output, kept);
  });
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in) {
  detail::attention_forward_in_parts(queue, of, output, log_sums, in);
}
template <class T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in) {
  detail::attention_backward_in_parts(queue, of, gradients, output_gradient, output, log_sums, in);
}

template <class T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::attention_forward_in_parts(queue, of, output, log_sums, in, extras);
}
template <class T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::attention_backward_in_parts(queue, of, gradients, output_gradient, output, log_sums, in, extras);
}

template <class T>
void stored_attention_forward(cpu::queue& queue, const attention_extents& of, T* output, T* probabilities,
                              const attention_operands<const T>& in) {
  detail::attention_forward_in_parts(queue, of, output, detail::kept_probabilities<T>{probabilities}, in);
}
template <class T>
void stored_attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                               const T* output_gradient, const T* output, const T* probabilities,
                               const attention_operands<const T>& in) {
  detail::attention_backward_in_parts(queue, of, gradients, output_gradient, output,
                                      detail::kept_probabilities<const T>{probabilities}, in);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
