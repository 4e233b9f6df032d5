// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/cuts_of_backward.hpp>
#include <cairn/ops/attention/extras_of_strip.hpp>
#include <cairn/ops/attention/head_of_keys.hpp>
#include <cairn/ops/attention/kept_probabilities.hpp>
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
// S is the type of the operands. Those of 16 bits are widened to T, the keys once for all strips if there is room for them, else
// block by block, and results are rounded once. Extras is attention_extras<S>, or no_attention_extras.
template <class S, class Extras = no_attention_extras>
class attention_in_strips {
public:
  using T = accumulated<S>;

  attention_in_strips(const attention_extents& of, const attention_operands<const S>& in, std::size_t sample,
                      std::span<std::byte> scratch, const Extras& extras = {})
      : of_(of), seen_(extents_of_sample(of, sample, extras)), in_(in), extras_(extras), sample_(sample),
        most_(queries_of_strip(of)), scores_(reinterpret_cast<T*>(scratch.data())),
        derivatives_(scores_ + most_ * row_of_scores(of)), own_queries_(derivatives_ + most_ * row_of_scores(of)),
        own_gradients_(own_queries_ + rows_in_own_memory(of, most_)),
        own_results_(own_gradients_ + rows_in_own_memory(of, most_)), block_(own_results_ + rows_in_own_memory(of, most_)),
        copies_(scratch.subspan(bytes_of_strip(of, most_), scratch.size() - matmul_scratch_bytes - bytes_of_strip(of, most_))),
        products_(scratch.last(matmul_scratch_bytes)), scale_(static_cast<T>(1 / std::sqrt(static_cast<double>(of.width)))) {}

  // Whether heads of this width are computed here: of 16 bits there must be room for the copies of a block of keys.
  static bool takes(const attention_extents& of) { return !is_narrow<S> || of.width <= 512; }

  // The number of queries of a strip: fewer if there are so many keys that two strips would not fit beside the products.
  static std::size_t queries_of_strip(const attention_extents& of) {
    std::size_t rows = strip_queries;
    while (rows > 1 && bytes_of_strip(of, rows) + bytes_of_copies(of, cuts_of_backward::block) > room_beside_products) rows /= 2;
    return rows;
  }
  // The least number of parts into which backward must cut the keys: gradients of 16 bits are added up in copies.
  static std::size_t cuts_of_keys(const attention_extents& of) {
    if (!is_narrow<S>) return 1;
    const std::size_t room = room_beside_products - bytes_of_strip(of, queries_of_strip(of));
    const std::size_t blocks = (of.keys + cuts_of_backward::block - 1) / cuts_of_backward::block;
    std::size_t cuts = 1;
    while (cuts < blocks && bytes_of_copies(of, (blocks + cuts - 1) / cuts * cuts_of_backward::block) > room) ++cuts;
    return cuts;
  }
  static std::size_t strips(const attention_extents& of) {
    return (of.queries + queries_of_strip(of) - 1) / queries_of_strip(of);
  }

  // The outputs of the strips [begin, end) of a head.
  template <class Kept>
  void forward(std::size_t head, std::size_t begin, std::size_t end, S* output, Kept kept) {
    keys_ = keys_of(head, 0, of_.keys);
    if (is_narrow<S> || end - begin > 1) keys_.copy_for_forward(copies_, products_);
    for (std::size_t k = begin; k < end; ++k) forward(head, strip_of_queries(seen_, k * most_, most_), output, kept);
  }

  // All gradients of one key head and of the heads that share it.
  template <class Kept>
  void backward(std::size_t key_head, const attention_operands<S>& gradients, const S* output_gradient, const S* output,
                Kept kept) {
    backward(key_head, 0, of_.keys, true, gradients, output_gradient, output, kept);
  }

  // The same in two passes, which both make the scores: the gradients of the queries of the strips [begin, end) of a head, and
  // those of the keys [first, last) of a key head. Each sum has the order that it has in backward().
  template <class Kept>
  void query_gradients(std::size_t head, std::size_t begin, std::size_t end, const attention_operands<S>& gradients,
                       const S* output_gradient, const S* output, Kept kept) {
    keys_ = keys_of(head, 0, of_.keys);
    if (is_narrow<S> || end - begin > 1) keys_.copy_for_query_gradients(copies_, products_);
    for (std::size_t k = begin; k < end; ++k) {
      const strip_of_queries s(seen_, k * most_, most_);
      make_derivatives(head, s, widened(outputs(output_gradient, head, s), own_gradients_),
                       widened(queries(in_.query, head, s), own_queries_), output, kept);
      write_query_gradient(head, s, gradients);
    }
  }
  template <class Kept>
  void key_gradients(std::size_t key_head, std::size_t first, std::size_t last, const attention_operands<S>& gradients,
                     const S* output_gradient, const S* output, Kept kept) {
    backward(key_head, first, last, false, gradients, output_gradient, output, kept);
  }

private:
  // Elements from one row of scores to the next, at most: a few more than there are keys, as rows a power of two apart would
  // share the sets of a cache.
  static std::size_t row_of_scores(const attention_extents& of) {
    return (of.keys + element_block - 1) / element_block * element_block + element_block;
  }

  // 16-bit elements: three times the rows of a strip, and a block of keys or of columns of them.
  static constexpr std::size_t block_elements = is_narrow<S> ? 32768 : 0;
  static std::size_t rows_in_own_memory(const attention_extents& of, std::size_t rows) {
    return is_narrow<S> ? align_up(rows * of.width * sizeof(T)) / sizeof(T) : 0;
  }
  static std::size_t bytes_of_strip(const attention_extents& of, std::size_t rows) {
    return (2 * rows * row_of_scores(of) + 3 * rows_in_own_memory(of, rows) + block_elements) * sizeof(T);
  }
  // The bytes of the copies that backward needs of so many keys.
  static std::size_t bytes_of_copies(const attention_extents& of, std::size_t keys) {
    using head = head_of_keys<T, S>;
    return is_narrow<S> ? head::copies_for_backward * head::bytes_of_copy(std::min(keys, of.keys), of.width) : 0;
  }
  static constexpr std::size_t room_beside_products = cpu::queue::scratch_bytes - matmul_scratch_bytes;

  // Rows of 16 bits in the strip's own memory, and results there, which are rounded when they are written: of float and double
  // those rows themselves.
  static matrix<const T> widened(matrix<const S> rows, [[maybe_unused]] T* own) {
    if constexpr (!is_narrow<S>) return rows;
    else {
      copy_rows(matrix<T>{own, rows.rows, rows.columns}, rows);
      return {own, rows.rows, rows.columns};
    }
  }
  static matrix<T> room_for(matrix<S> results, [[maybe_unused]] T* own) {
    if constexpr (!is_narrow<S>) return results;
    else return {own, results.rows, results.columns};
  }
  static void write([[maybe_unused]] matrix<S> results, [[maybe_unused]] matrix<T> made) {
    if constexpr (is_narrow<S>) copy_rows(results, made);
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
  head_of_keys<T, S> keys_of(std::size_t head, std::size_t first, std::size_t last) const {
    head_of_keys<T, S> out{.first = first,
                           .stored_key = rows_between(rows_of_keys(in_.key, head), first, last),
                           .stored_value = rows_between(rows_of_keys(in_.value, head), first, last)};
    if constexpr (!is_narrow<S>) out.key = out.stored_key, out.value = out.stored_value;
    return out;
  }
  template <class U>
  U* sums_of(U* all, std::size_t head, const strip_of_queries& s) const {
    return all + (sample_ * of_.heads + head) * of_.queries + s.first;
  }

  // c = rows x keys^T, over the keys of a strip.
  void times_keys(T* c, matrix<const T> rows, const strip_of_queries& s, matrix<const S> stored, matrix<const T> keys,
                  matrix<const T> turned) {
    const matrix<T> scores{c, s.rows, s.keys(), s.stride()};
    if (turned.data != nullptr)
      return matmul_in_part(products_, scores, rows, keys_.columns_between(turned, s.begin, s.end), transpose::none);
    if constexpr (!is_narrow<S>) {
      matmul_in_part(products_, scores, rows, keys_.between(keys, s.begin, s.end), transpose::second);
    } else {
      const std::size_t most = block_elements / of_.width;
      for (std::size_t at = s.begin; at < s.end; at += most) {
        const std::size_t next = std::min(s.end, at + most);
        matmul_in_part(products_, matrix<T>{c + (at - s.begin), s.rows, next - at, s.stride()}, rows,
                       widened(keys_.between(stored, at, next), block_), transpose::second);
      }
    }
  }

  // c = of_strip x rows, summed over keys in pieces that begin at fixed keys. A product cuts a longer sum by its length, and the
  // output of a query must not depend on the number of keys after its own.
  void over_keys(matrix<T> c, const T* of_strip, const strip_of_queries& s, [[maybe_unused]] matrix<const S> stored,
                 matrix<const T> rows) {
    std::size_t at = s.begin;
    epilogue<T> then{};
    do {
      const std::size_t next = std::min(s.end, (at / longest_reduction_block + 1) * longest_reduction_block);
      const matrix<const T> left{of_strip + (at - s.begin), s.rows, next - at, s.stride()};
      if (!is_narrow<S> || rows.data != nullptr)
        matmul_in_part(products_, c, left, keys_.between(rows, at, next), transpose::none, then);
      if constexpr (is_narrow<S>)
        for (std::size_t column = 0; rows.data == nullptr && column < c.columns;) {
          const std::size_t count = std::min(block_elements / longest_reduction_block, c.columns - column);
          matrix<const S> some = keys_.between(stored, at, next);
          some.data += column;
          some.columns = count;
          const matrix<T> result{c.data + column, c.rows, count, c.stride};
          if (then.addend.data != nullptr) then.addend = result;
          matmul_in_part(products_, result, left, widened(some, block_), transpose::none, then);
          column += count;
        }
      then.addend = c;
      at = next;
    } while (at < s.end);
  }
  void write_query_gradient(std::size_t head, const strip_of_queries& s, const attention_operands<S>& gradients) {
    const matrix<S> to = queries(gradients.query, head, s);
    const matrix<T> made = room_for(to, own_results_);
    over_keys(made, derivatives_, s, keys_.stored_key, keys_.key);
    write(to, made);
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

  // Before the derivatives are made: an additive mask of 16 bits is widened where those will be.
  void make_scores(std::size_t head, const strip_of_queries& s, matrix<const T> query) {
    times_keys(scores_, query, s, keys_.stored_key, keys_.key, keys_.turned_key);
    if constexpr (has_extras)
      if (has_added()) {
        const S* const first = extras_.added + sample_ * extras_.added_sample_stride + head * extras_.added_head_stride;
        const matrix<const S> stored{first + s.first * of_.keys + s.begin, s.rows, s.keys(), of_.keys};
        const matrix<const T> added = widened(stored, derivatives_);
        run_tile(added_scores<T>{s.of(scores_), scale_, added.data, s.keys(), added.stride});
      }
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
  void forward(std::size_t head, const strip_of_queries& s, S* output, Kept kept) {
    const matrix<S> to = outputs(output, head, s);
    const matrix<T> out = room_for(to, own_results_);
    make_scores(head, s, widened(queries(in_.query, head, s), own_queries_));
    per_query<T> sums{}, shifts{}, factors{};
    run_tile(exponentials_of_scores<T>{s.of(scores_), scale_of_scores(), &sums, &shifts});
    if constexpr (has_extras)
      if (drops()) run_tile(dropped_numbers<T>{s.of(scores_), factors_of(head, s)});
    over_keys(out, scores_, s, keys_.stored_value, keys_.value);
    run_tile(inverses_of_sums<T>{&factors, &sums});
    run_tile(scaled_rows<T>{out, &factors});
    write(to, out);
    if constexpr (std::is_pointer_v<Kept>) {
      if (kept == nullptr) return;
      run_tile(logarithms_of_sums<T>{&sums, &shifts});
      std::copy_n(sums.data(), s.rows, sums_of(kept, head, s));
    } else if (kept.data != nullptr) {
      const matrix<S> stored = kept.of_strip(of_, sample_, head, s);
      const matrix<T> probabilities = room_for(stored, derivatives_);
      run_tile(probabilities_of_exponentials<T>{s.of(scores_), probabilities, &factors});
      write(stored, probabilities);
    }
  }

  // The gradients of the keys [first, last) of a key head: from the last strip, which looks at the last keys, to the first. With
  // all keys those of the queries can be had too.
  template <class Kept>
  void backward(std::size_t key_head, std::size_t first, std::size_t last, bool of_queries,
                const attention_operands<S>& gradients, const S* output_gradient, const S* output, Kept kept) {
    const std::size_t share = of_.heads / of_.key_heads, count = strips(of_);
    keys_ = keys_of(key_head * share, first, last);
    const matrix<S> key = rows_between(rows_of_keys(gradients.key, key_head * share), first, last);
    const matrix<S> value = rows_between(rows_of_keys(gradients.value, key_head * share), first, last);
    if constexpr (!is_narrow<S>) keys_.key_gradient = key, keys_.value_gradient = value;
    if (is_narrow<S> || share * count > 1) keys_.copy_for_backward(copies_, products_);
    std::size_t written = last; // gradients of these keys and later ones are there, and more is added to them
    for (std::size_t head = key_head * share; head < (key_head + 1) * share; ++head) {
      for (std::size_t k = count; k-- > 0;) {
        const strip_of_queries s = strip_of_queries(seen_, k * most_, most_).over(first, last);
        if (written == last) keys_.clear_gradients(s.end, last); // no query looks at these
        if (s.keys() == 0 && !of_queries) continue;
        const matrix<const T> dy = widened(outputs(output_gradient, head, s), own_gradients_);
        const matrix<const T> query = widened(queries(in_.query, head, s), own_queries_);
        make_derivatives(head, s, dy, query, output, kept);
        if (of_queries) write_query_gradient(head, s, gradients);
        over_queries(keys_.value_gradient, s, std::min(written, s.end), scores_, dy);
        over_queries(keys_.key_gradient, s, std::min(written, s.end), derivatives_, query);
        written = std::min(written, first_key(s));
      }
      keys_.clear_gradients(first, written);
      written = first;
    }
    keys_.write_gradients(key, value);
  }

  // The probabilities of a strip, in place of its scores, and the derivatives by the scores.
  template <class Kept>
  void make_derivatives(std::size_t head, const strip_of_queries& s, matrix<const T> dy, matrix<const T> query, const S* output,
                        Kept kept) {
    per_query<T> dots{};
    run_tile(dots_of_rows<T>{dy, widened(outputs(output, head, s), own_results_), &dots});
    if constexpr (std::is_pointer_v<Kept>) make_scores(head, s, query);
    times_keys(derivatives_, dy, s, keys_.stored_value, keys_.value, keys_.turned_value);
    for (std::size_t i = 0; i < s.rows; ++i) // the columns after the last key
      std::fill(derivatives_ + i * s.stride() + s.keys(), derivatives_ + i * s.stride() + s.columns(), T{0});
    if constexpr (std::is_pointer_v<Kept>) {
      const derivatives_of_scores<T> both{s.of(scores_), derivatives_, scale_of_scores(), scale_, sums_of(kept, head, s), &dots};
      if (!drops()) run_tile(both);
      else if constexpr (has_extras) run_tile(dropped_derivatives_of_scores<T>{both, factors_of(head, s)});
    } else {
      const matrix<const S> stored = kept.of_strip(of_, sample_, head, s);
      matrix<const T> probabilities = {};
      if constexpr (is_narrow<S>) { // widened to where the copies are made
        const matrix<T> own{scores_, s.rows, s.keys(), s.stride()};
        copy_rows(own, stored);
        probabilities = own;
      } else {
        probabilities = stored;
      }
      run_tile(derivatives_of_probabilities<T>{s.of(scores_), derivatives_, probabilities, scale_, &dots});
    }
  }

  const attention_extents& of_;
  const attention_extents seen_; // with the keys only that queries of this sample may look at
  const attention_operands<const S>& in_;
  const Extras extras_;
  std::size_t sample_, most_;
  T *scores_, *derivatives_;
  T *own_queries_, *own_gradients_, *own_results_, *block_;
  std::span<std::byte> copies_, products_;
  T scale_;
  head_of_keys<T, S> keys_{};
};

} // namespace cairn::detail

CAIRN_KERNELS_END
