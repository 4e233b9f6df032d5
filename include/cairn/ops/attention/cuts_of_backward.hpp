// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/ops/attention/attention.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// How the backward pass of attention is cut into parts for a number of threads: key heads of samples in one pass, or strips of
// queries and then blocks of keys. No bit depends on it.
struct cuts_of_backward {
  std::size_t strips = 1, keys = 1; // the parts of a head in the first pass, and of a key head in the second; 1: one pass

  struct range {
    std::size_t begin, end;
  };
  range part_of_strips(std::size_t cut) const { return cut_of(all_strips_, strips, cut); }
  range part_of_keys(std::size_t cut) const {
    const range blocks = cut_of((all_keys_ + block - 1) / block, keys, cut);
    return {blocks.begin * block, std::min(all_keys_, blocks.end * block)};
  }

  cuts_of_backward(const attention_extents& of, std::size_t all_strips, std::size_t threads)
      : all_strips_(all_strips), all_keys_(of.keys) {
    const std::size_t heads = of.samples * of.key_heads, blocks = (all_keys_ + block - 1) / block;
    if (heads == 0 || heads * products_of_two_passes >= threads * products_of_one_pass || all_strips_ < 2 || blocks < 2) return;
    // A few parts for each thread, as parts differ under a mask, and a thread may be late.
    const std::size_t wanted = parts_of_thread * ((threads + heads - 1) / heads);
    strips = std::min(all_strips_, wanted);
    keys = std::min(blocks, wanted);
  }

  static constexpr std::size_t block = 64; // keys

private:
  static constexpr std::size_t products_of_one_pass = 5, products_of_two_passes = 7, parts_of_thread = 4;

  static range cut_of(std::size_t all, std::size_t cuts, std::size_t cut) { return {all * cut / cuts, all * (cut + 1) / cuts}; }

  std::size_t all_strips_, all_keys_;
};

} // namespace cairn::detail

CAIRN_KERNELS_END
