// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cuda/division.cuh>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/cuda_extras.cuh>
#include <cairn/ops/attention/cuda_tile.cuh>
#include <cairn/ops/elementwise/elementary.hpp>

namespace cairn::detail {

// Where the heads of an attention lie, on the device. The numbers that kernels divide by are known to the host.
template <class T, class Extras>
struct heads_on_gpu : Extras {
  using wide = accumulated<T>;

  attention_extents extents;
  attention_operands<const T> in;
  divisor heads, sharing; // heads that share keys
  wide scale;
  bool aligned;

  heads_on_gpu(const attention_extents& of, const attention_operands<const T>& given, const Extras& extras, bool all_aligned)
      : Extras(extras), extents(of), in(given), heads(of.heads), sharing(of.heads / of.key_heads),
        scale(static_cast<wide>(1 / std::sqrt(static_cast<double>(of.width)))), aligned(all_aligned) {}

  // Of head `head` of a sample; a key head is that of each head that shares it.
  CAIRN_DEVICE rows_of_head queries(std::size_t sample, std::size_t head) const {
    return rows(sample * extents.queries * in.query_stride + head * extents.width, extents.queries, in.query_stride);
  }
  CAIRN_DEVICE rows_of_head keys(std::size_t sample, std::size_t key_head) const {
    return rows(sample * extents.keys * in.key_stride + key_head * extents.width, extents.keys, in.key_stride);
  }
  CAIRN_DEVICE rows_of_head outputs(std::size_t sample, std::size_t head) const {
    const std::size_t stride = extents.heads * extents.width;
    return rows(sample * extents.queries * stride + head * extents.width, extents.queries, stride);
  }
  // The score of a query that may look at the key, scaled, with what is added to it; minus infinity if it may not.
  CAIRN_DEVICE wide scaled(const typename attention_tile<T>::query_numbers& query, const typename Extras::of_head& extras,
                           std::size_t i, std::uint32_t key, wide score) const {
    constexpr wide none = -static_cast<wide>(__builtin_huge_valf());
    return query.looks_at(key) ? this->added_to(extras, score * scale, i, key) : none;
  }
  CAIRN_DEVICE std::size_t place_of_sums(std::size_t sample, std::size_t head) const {
    return (sample * extents.heads + head) * extents.queries;
  }

private:
  CAIRN_DEVICE rows_of_head rows(std::size_t first, std::size_t count, std::size_t stride) const {
    return {first, count, static_cast<std::uint32_t>(stride), static_cast<std::uint32_t>(extents.width), aligned};
  }
};

// The outputs of a tile of queries of one head, for up to 64 columns of it, with a running maximum. Tiles of keys begin at
// multiples of their size, and one that a query may not look at changes no bit of it: a query's output depends on its own keys.
template <class T, class Extras>
struct attention_outputs {
  using wide = accumulated<T>;
  using tile = attention_tile<T>;
  static constexpr unsigned threads = tile::threads, blocks = tile::blocks;
  static constexpr unsigned groups = tile::groups; // of threads that share a row's maximum and sum

  // In the softmax a thread has one row, and one of `groups` ranges of its keys. Its numbers are in shared memory, as its
  // registers hold the sums.
  struct shared : tile::shared {
    wide greatest[groups][tile::rows];                          // the greatest scaled score of this tile
    wide shifts[groups][tile::rows], norms[groups][tile::rows]; // that of all so far, and the sum of exponentials
    wide factors[tile::rows];
    // What would be in registers all the time: the first query, where its logarithm of a sum is, and what extras say of the head.
    std::size_t first, log_sum;
    bool wrong;
    typename Extras::of_head extras;
  };
  using own = typename tile::own;

  heads_on_gpu<T, Extras> all;
  divisor tiles, cuts; // of queries, of the head's width
  T* output;
  wide* log_sums;

  template <class Block>
  CAIRN_DEVICE void operator()(Block& block, shared& memory, std::size_t index) const {
    constexpr wide none = -static_cast<wide>(__builtin_huge_valf());
    const attention_extents& of = all.extents;
    const std::size_t rest = cuts.of(index), at = tiles.of(rest);
    const auto column = static_cast<std::uint32_t>(cuts.rest(index, rest)) * tile::columns;
    const std::uint32_t first =
        (tiles.small() - 1 - static_cast<std::uint32_t>(tiles.rest(rest, at))) * tile::rows; // the last first
    const auto sample = static_cast<std::uint32_t>(all.heads.of(at)),
               head = static_cast<std::uint32_t>(all.heads.rest(at, sample));
    const std::size_t last = first + tile::rows < of.queries ? first + tile::rows - 1 : of.queries - 1;
    const std::size_t keys = all.keys_of(sample, of.keys);
    const auto end = static_cast<std::uint32_t>(of.band.end(of.first_place + last, keys));
    const auto begin = static_cast<std::uint32_t>(of.band.begin(of.first_place + first, keys)) / tile::columns * tile::columns;
    block.phase([&](unsigned t, own& mine) {
      if (t == 0) {
        const std::size_t key_head = all.sharing.of(head);
        memory.query = all.queries(sample, head).from(first);
        memory.key = all.keys(sample, key_head);
        memory.value = all.keys(sample, key_head);
        memory.to = all.outputs(sample, head).from(first);
        memory.first = first;
        memory.log_sum = all.place_of_sums(sample, head) + first;
        memory.wrong = all.are_wrong(sample, of.keys);
        memory.extras = all.head_at(of, sample, head);
      }
      if (t < tile::rows) memory.queries[t] = tile::query_at(of, keys, first + t);
      tile::clear(mine);
      memory.shifts[t / tile::rows][t % tile::rows] = none;
      memory.norms[t / tile::rows][t % tile::rows] = wide{0};
    });
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (std::uint32_t j = begin; j < end; j += tile::columns) {
      tile::score(block, memory, all.in.query, memory.query, all.in.key, memory.key, j);
      block.phase([&](unsigned t, own& mine) { tile::put(mine.sum, t, memory); });
      block.phase([&](unsigned t, own&) { find_greatest(j, t, memory); });
      block.phase([&](unsigned t, own&) { exponentiate(j, t, memory); });
      tile::sum_of_rows(block, memory, all.in.value, memory.value, j, end, column);
      block.phase([&](unsigned t, own& mine) { tile::add(mine, t, [&](unsigned m) { return memory.factors[m]; }); });
    }
    block.phase([&](unsigned t, own&) {
      if (t >= tile::rows) return;
      wide norm = 0;
      for (unsigned g = 0; g < groups; ++g) norm += memory.norms[g][t];
      memory.factors[t] = norm == wide{0} ? wide{0} : wide{1} / norm;
      if (memory.wrong) memory.factors[t] = static_cast<wide>(__builtin_nanf(""));
      if (log_sums == nullptr || column != 0 || t >= memory.to.rows) return;
      log_sums[memory.log_sum + t] = norm == wide{0} ? -none : memory.shifts[0][t] + std::log(norm);
    });
    tile::store(block, memory, output, column, [&](unsigned m) { return memory.factors[m]; });
  }

private:
  // Scores become those that the exponentials are of.
  CAIRN_DEVICE void find_greatest(std::uint32_t first_key, unsigned t, shared& memory) const {
    const unsigned m = tile::row_of(t);
    const typename tile::query_numbers query = memory.queries[m];
    wide greatest = -static_cast<wide>(__builtin_huge_valf());
    tile::each_weight(t, memory, [&](unsigned n, wide& score) {
      score = all.scaled(query, memory.extras, memory.first + m, first_key + n, score);
      greatest = score > greatest ? score : greatest;
    });
    memory.greatest[t / tile::rows][m] = greatest;
  }
  // The shift is kept as it was subtracted: without a greater score the factor is e^0. Sums are those without dropout.
  CAIRN_DEVICE void exponentiate(std::uint32_t first_key, unsigned t, shared& memory) const {
    constexpr wide none = -static_cast<wide>(__builtin_huge_valf());
    const unsigned m = tile::row_of(t), group = t / tile::rows;
    const wide before = memory.shifts[group][m];
    wide shift = before;
    for (unsigned g = 0; g < groups; ++g) {
      const wide other = memory.greatest[g][m];
      shift = other > shift ? other : shift;
    }
    const wide subtracted = shift > none ? shift : wide{0}, factor = exponential_of_score(before - subtracted);
    wide sum = 0;
    tile::each_weight(t, memory, [&](unsigned n, wide& weight) {
      weight = exponential_of_score(weight - subtracted);
      sum += weight;
      if constexpr (Extras::are_there)
        weight = all.drops(memory.extras, memory.first + m, first_key + n) ? wide{0} : weight * all.keep;
    });
    memory.norms[group][m] = memory.norms[group][m] * factor + sum;
    memory.shifts[group][m] = shift;
    if (group == 0) memory.factors[m] = factor;
  }
};

} // namespace cairn::detail
