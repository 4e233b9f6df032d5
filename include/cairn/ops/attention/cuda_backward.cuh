// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/cuda_forward.cuh>
#include <cairn/ops/attention/cuda_tile.cuh>

// The gradients of attention in three kernels, in the order below. Each makes the probabilities of a tile again from the scores
// and the logarithms of their sums. No sum is shared by two blocks, so no addition is atomic.
namespace cairn::detail {

// nvcc 13 takes these casts in functions that are no templates only.
CAIRN_DEVICE inline std::uint32_t bits_of_float(float x) { return __builtin_bit_cast(std::uint32_t, x); }
CAIRN_DEVICE inline float float_of_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

// What the kernels of backward read, besides the operands.
template <class T, class Extras>
struct gradients_on_gpu : heads_on_gpu<T, Extras> {
  using wide = accumulated<T>;

  attention_operands<T> gradients;
  const T *output_gradient, *output;
  const wide* log_sums;

  using tile = attention_tile<T>;
  using query_numbers = typename tile::query_numbers;

  // dot(dy, y) of a query is in the first element of its gradient, which the last kernel overwrites: of 16 bits in two, half of a
  // float in each. A head of one column has no second one, but its dot is one product.
  CAIRN_DEVICE void put_dot(T* to, wide dot) const {
    if constexpr (!is_narrow<T>) {
      *to = dot;
    } else {
      const std::uint32_t bits = bits_of_float(dot);
      to[0].bits = static_cast<std::uint16_t>(bits >> 16);
      if (this->extents.width > 1) to[1].bits = static_cast<std::uint16_t>(bits);
    }
  }
  CAIRN_DEVICE wide dot_at(std::size_t sample, std::size_t head, std::size_t i) const {
    const T* const from = gradients.query + this->queries(sample, head).row(i);
    if constexpr (!is_narrow<T>) {
      return *from;
    } else {
      const std::size_t own = (sample * this->extents.queries + i) * this->extents.heads + head;
      if (this->extents.width == 1) return widened(output_gradient[own]) * widened(output[own]);
      return float_of_bits(std::uint32_t{from[0].bits} << 16 | from[1].bits);
    }
  }
  CAIRN_DEVICE query_numbers query_at(std::size_t sample, std::size_t head, std::size_t i) const {
    query_numbers found = tile::query_at(this->extents, this->keys_of(sample, this->extents.keys), i);
    if (i >= this->extents.queries) return found;
    found.log_sum = log_sums[this->place_of_sums(sample, head) + i];
    found.dot = dot_at(sample, head, i);
    return found;
  }
  // The probability that query i looks at the key. One that is dropped is negative.
  CAIRN_DEVICE wide probability(const query_numbers& query, const typename Extras::of_head& extras, std::size_t i,
                                std::uint32_t key, wide score) const {
    if (!query.looks_at(key)) return wide{0};
    const wide found = exponential_of_score(this->scaled(query, extras, i, key, score) - query.log_sum);
    return this->drops(extras, i, key) ? -found : found;
  }
  // What the value is multiplied by.
  CAIRN_DEVICE wide weight_of_value(wide probability) const {
    if constexpr (Extras::are_there) return probability < wide{0} ? wide{0} : probability * this->keep;
    else return probability;
  }
  // The derivative of the loss by a score, from the probability and from the derivative by the value's weight.
  CAIRN_DEVICE wide derivative(const query_numbers& query, wide probability, wide by_weight) const {
    if (probability == wide{0}) return wide{0};
    if constexpr (Extras::are_there) {
      const bool dropped = probability < wide{0};
      return (dropped ? -probability : probability) * ((dropped ? wide{0} : by_weight * this->keep) - query.dot) * this->scale;
    } else {
      return probability * (by_weight - query.dot) * this->scale;
    }
  }
};

// dot(dy, y), by a team for each query and head.
template <class T, class Extras>
struct attention_dots : gradients_on_gpu<T, Extras> {
  using wide = accumulated<T>;

  divisor queries_of_sample;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t index) const {
    const std::size_t row = this->heads.of(index), head = this->heads.rest(index, row);
    const std::size_t sample = queries_of_sample.of(row), i = queries_of_sample.rest(row, sample);
    const T *const dy = this->output_gradient + index * this->extents.width, *const y =
                                                                                 this->output + index * this->extents.width;
    const double dot = team.template sums_over_quads<wide, 1>(
                               quads_for<T>(this->extents.width),
                               [&](std::size_t q, wide(&sum)[1]) {
                                 const wide_quad<T> a = load_wide(dy, q * quad_width<T>, this->extents.width, this->aligned);
                                 const wide_quad<T> b = load_wide(y, q * quad_width<T>, this->extents.width, this->aligned);
                                 for (std::size_t j = 0; j < quad_width<T>; ++j) sum[0] += a.at[j] * b.at[j];
                               })
                           .at[0];
    team.once([&] { this->put_dot(this->gradients.query + this->queries(sample, head).row(i), static_cast<wide>(dot)); });
  }
};

// The gradients of a tile of keys, or of values, of one key head, for up to 64 columns of it. The heads that share it are added
// in their order, and of each the tiles of queries.
template <class T, class Extras, bool OfKey>
struct attention_key_gradients : gradients_on_gpu<T, Extras> {
  using wide = accumulated<T>;
  using tile = attention_tile<T>;
  static constexpr unsigned threads = tile::threads, blocks = tile::blocks;
  struct shared : tile::shared {
    typename Extras::of_head extras;
  };
  using own = typename tile::own;

  divisor tiles, cuts, key_heads; // of keys, of the head's width

  template <class Block>
  CAIRN_DEVICE void operator()(Block& block, shared& memory, std::size_t index) const {
    const attention_extents& of = this->extents;
    const std::size_t rest = cuts.of(index), at = tiles.of(rest);
    const auto column = static_cast<std::uint32_t>(cuts.rest(index, rest)) * tile::columns;
    const auto first = static_cast<std::uint32_t>(tiles.rest(rest, at)) * tile::rows, end = first + tile::rows;
    const auto sample = static_cast<std::uint32_t>(key_heads.of(at));
    const auto share = static_cast<std::uint32_t>(this->sharing.by());
    const std::uint32_t key_head = static_cast<std::uint32_t>(at) - sample * key_heads.small();
    block.phase([&](unsigned t, own& mine) {
      if (t == 0) {
        memory.key = this->keys(sample, key_head).from(first);
        memory.value = this->keys(sample, key_head).from(first);
        memory.to = this->keys(sample, key_head).from(first);
      }
      tile::clear(mine);
    });
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (std::uint32_t head = key_head * share; head < (key_head + 1) * share; ++head) {
      block.phase([&](unsigned t, own&) {
        if (t != 0) return;
        memory.query = this->queries(sample, head);
        memory.output_gradient = this->outputs(sample, head);
        memory.extras = this->head_at(of, sample, head);
      });
#ifdef __CUDACC__
#pragma unroll 1
#endif
      for (std::uint32_t i = 0; i < of.queries; i += tile::columns) {
        const std::size_t keys = this->keys_of(sample, of.keys); // again: over the loop it would need registers
        const std::size_t last = i + tile::columns < of.queries ? i + tile::columns - 1 : of.queries - 1;
        if (of.band.end(of.first_place + last, keys) <= first || of.band.begin(of.first_place + i, keys) >= end) continue;
        block.phase([&](unsigned t, own&) {
          if (t < tile::columns) memory.queries[t] = this->query_at(sample, head, i + t);
        });
        tile::score(block, memory, this->in.key, memory.key, this->in.query, memory.query, i);
        weigh_scores(block, memory, i, first);
        if constexpr (OfKey) {
          tile::score(block, memory, this->in.value, memory.value, this->output_gradient, memory.output_gradient, i);
          weigh_derivatives(block, memory);
        }
        tile::sum_of_rows(block, memory, OfKey ? this->in.query : this->output_gradient,
                          OfKey ? memory.query : memory.output_gradient, i, of.queries, column);
        block.phase([&](unsigned, own& mine) { tile::add(mine); });
      }
    }
    tile::store(block, memory, OfKey ? this->gradients.key : this->gradients.value, column);
  }

private:
  // Scores become probabilities, or what values are multiplied by. Extras need registers that the sums are in.
  template <class Block>
  CAIRN_DEVICE void weigh_scores(Block& block, shared& memory, std::uint32_t first_query, std::uint32_t first_key) const {
    const auto weight = [&](unsigned m, unsigned n, wide score) {
      const wide found = this->probability(memory.queries[n], memory.extras, first_query + n, first_key + m, score);
      return OfKey ? found : this->weight_of_value(found);
    };
    if constexpr (Extras::are_there) {
      block.phase([&](unsigned t, own& mine) { tile::put(mine.sum, t, memory); });
      block.phase([&](unsigned t, own&) {
        tile::each_weight(t, memory, [&](unsigned n, wide& score) { score = weight(tile::row_of(t), n, score); });
      });
    } else {
      block.phase([&](unsigned t, own& mine) { tile::weigh(mine.sum, t, memory, weight); });
    }
  }
  // Probabilities become derivatives by scores. With extras in several phases: of one the compiler makes all loads first.
  template <unsigned First = 0, class Block>
  CAIRN_DEVICE void weigh_derivatives(Block& block, shared& memory) const {
    constexpr unsigned all = tile::thread_columns, last = Extras::are_there ? First + 2 : all;
    block.phase([&](unsigned t, own& mine) {
      tile::template weigh<First, last>(mine.sum, t, memory, [&](unsigned m, unsigned n, wide by_weight) {
        return this->derivative(memory.queries[n], memory.weights[n][m], by_weight);
      });
    });
    if constexpr (last < all) weigh_derivatives<last>(block, memory);
  }
};

// The gradients of a tile of queries of one head, for up to 64 columns of it: of the cuts from `first_cut` on. The first cut
// overwrites the products that all of them read, so it comes last.
template <class T, class Extras>
struct attention_query_gradients : gradients_on_gpu<T, Extras> {
  using wide = accumulated<T>;
  using tile = attention_tile<T>;
  static constexpr unsigned threads = tile::threads, blocks = tile::blocks;
  struct shared : tile::shared {
    typename Extras::of_head extras;
  };
  using own = typename tile::own;

  divisor tiles, cuts; // of queries, of the head's width
  std::size_t first_cut;

  template <class Block>
  CAIRN_DEVICE void operator()(Block& block, shared& memory, std::size_t index) const {
    const attention_extents& of = this->extents;
    const std::size_t rest = cuts.of(index), at = tiles.of(rest);
    const auto column = static_cast<std::uint32_t>(first_cut + cuts.rest(index, rest)) * tile::columns;
    const std::uint32_t first = (tiles.small() - 1 - static_cast<std::uint32_t>(tiles.rest(rest, at))) * tile::rows;
    const auto sample = static_cast<std::uint32_t>(this->heads.of(at));
    const auto head = static_cast<std::uint32_t>(this->heads.rest(at, sample));
    const std::size_t last = first + tile::rows < of.queries ? first + tile::rows - 1 : of.queries - 1;
    const std::size_t keys = this->keys_of(sample, of.keys);
    const auto end = static_cast<std::uint32_t>(of.band.end(of.first_place + last, keys));
    const auto begin = static_cast<std::uint32_t>(of.band.begin(of.first_place + first, keys)) / tile::columns * tile::columns;
    block.phase([&](unsigned t, own& mine) {
      if (t == 0) {
        const std::size_t key_head = this->sharing.of(head);
        memory.query = this->queries(sample, head).from(first);
        memory.key = this->keys(sample, key_head);
        memory.value = this->keys(sample, key_head);
        memory.output_gradient = this->outputs(sample, head).from(first);
        memory.to = this->queries(sample, head).from(first);
        memory.extras = this->head_at(of, sample, head);
      }
      if (t < tile::rows) memory.queries[t] = this->query_at(sample, head, first + t);
      tile::clear(mine);
    });
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (std::uint32_t j = begin; j < end; j += tile::columns) {
      tile::score(block, memory, this->in.query, memory.query, this->in.key, memory.key, j);
      block.phase([&](unsigned t, own& mine) { tile::put(mine.sum, t, memory); });
      block.phase([&](unsigned t, own&) {
        const typename tile::query_numbers query = memory.queries[tile::row_of(t)];
        tile::each_weight(t, memory, [&](unsigned n, wide& weight) {
          weight = this->probability(query, memory.extras, first + tile::row_of(t), j + n, weight);
        });
      });
      tile::score(block, memory, this->output_gradient, memory.output_gradient, this->in.value, memory.value, j);
      block.phase([&](unsigned t, own& mine) {
        tile::weigh(mine.sum, t, memory, [&](unsigned m, unsigned n, wide by_weight) {
          return this->derivative(memory.queries[m], memory.weights[n][m], by_weight);
        });
      });
      tile::sum_of_rows(block, memory, this->in.key, memory.key, j, end, column);
      block.phase([&](unsigned, own& mine) { tile::add(mine); });
    }
    tile::store(block, memory, this->gradients.query, column);
  }
};

} // namespace cairn::detail
