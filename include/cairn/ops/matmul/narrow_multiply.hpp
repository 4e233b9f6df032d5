// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/matmul/amx_bf16.hpp>
#include <cairn/ops/matmul/avx2.hpp>
#include <cairn/ops/matmul/avx512.hpp>
#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/narrow_finish.hpp>
#include <cairn/ops/matmul/narrow_pack.hpp>
#include <cairn/ops/matmul/narrow_product.hpp>
#include <cairn/ops/matmul/plain.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Ways to compute a product of 16-bit elements. A way has kernels that leave sums of floats, packs for them, and finishes rows.

// The kernels of floats, on operands that are widened when they are packed: exactly, so the sums are those of floats.
struct widened_plain {
  using kernels = plain_kernels<float>;
  using tiles = int;
  static constexpr bool takes_pairs = false, has_tiles = false;
  template <class T>
  static void pack_pairs(std::uint32_t* to, std::size_t width, const narrow_part<T>& of) {
    pack_pairs_plain(to, width, of, 0, (of.depth + 1) / 2);
  }
  template <class T>
  static void widen(float* to, std::size_t width, const std::uint32_t* pairs, std::size_t depth) {
    widen_pairs_plain<T>(to, width, pairs, depth);
  }
  template <class T, class C>
  static void finish(const narrow_product<T, C>& whole, std::size_t row, std::size_t begin, std::size_t end, const float* sums) {
    finish_narrow_plain(whole, row, begin, begin, end, sums);
  }
  template <class T, class C>
  static void sum_rows(const narrow_product<T, C>& whole, std::size_t begin, std::size_t end) {
    sum_narrow_rows_plain(whole, begin, end);
  }
};

#if CAIRN_X86

struct widened_avx2 {
  using kernels = avx2_kernels<float>;
  using tiles = int;
  static constexpr bool takes_pairs = false, has_tiles = false;
  template <class T>
  static void pack_pairs(std::uint32_t* to, std::size_t width, const narrow_part<T>& of) {
    pack_pairs_avx2(to, width, of);
  }
  template <class T>
  static void widen(float* to, std::size_t width, const std::uint32_t* pairs, std::size_t depth) {
    widen_pairs_avx2<T>(to, width, pairs, depth);
  }
  template <class T, class C>
  static void finish(const narrow_product<T, C>& whole, std::size_t row, std::size_t begin, std::size_t end, const float* sums) {
    finish_narrow_avx2(whole, row, begin, end, sums);
  }
  template <class T, class C>
  static void sum_rows(const narrow_product<T, C>& whole, std::size_t begin, std::size_t end) {
    sum_narrow_rows_avx2(whole, begin, end);
  }
};

struct widened_avx512 : widened_avx2 {
  using kernels = avx512_kernels<float>;
};

// Kernels that multiply pairs of bfloat16, with the same bits unless a number is subnormal.
struct paired_avx512 : widened_avx2 {
  using kernels = avx512_kernels<float, avx512_bf16_register>;
  static constexpr bool takes_pairs = true;
};

// Kernels for tiles of AMX, which have bits of their own.
struct tiled_amx : paired_avx512 {
  using kernels = amx_bf16_kernels;
  using tiles = amx_tiles;
  static constexpr bool has_tiles = true;
};

#endif

// Packs a part as Way's kernels read it. Pairs that are widened stay in the first-level cache in between.
template <class Way, class T>
void pack_narrow(float* to, std::size_t width, narrow_part<T> of) {
  if constexpr (Way::takes_pairs) {
    Way::pack_pairs(reinterpret_cast<std::uint32_t*>(to), width, of);
  } else {
    constexpr std::size_t piece = 64;
    alignas(64) std::uint32_t pairs[piece * std::max(Way::kernels::widest, panel_rows)];
    for (std::size_t left = of.depth; left > 0; left -= of.depth) {
      of.depth = std::min(2 * piece, left);
      Way::pack_pairs(pairs, width, of);
      Way::template widen<T>(to, width, pairs, of.depth);
      to += of.depth * width;
      of.from += of.depth * of.step;
    }
  }
}

#if CAIRN_X86

// Packs pairs for tiles, `steps` of them with zeros at the end: rows of b's as above, rows of a's along the reduction. `room` has
// place for a panel.
template <class T>
void pack_tiles_of_b(float* to, std::size_t steps, const narrow_part<T>& of) {
  constexpr std::size_t width = amx_bf16_kernels::widest;
  pack_narrow<tiled_amx>(to, width, of);
  std::memset(to + (of.depth + 1) / 2 * width, 0, (steps - (of.depth + 1) / 2) * width * sizeof(float));
}
template <class T>
void pack_tiles_of_a(float* to, std::size_t steps, const narrow_part<T>& of, float* room) {
  constexpr std::size_t rows = amx_bf16_kernels::widest;
  if (of.step != 1) {
    pack_narrow<tiled_amx>(room, rows, of);
    return pack_transposed_avx2(to, steps, room, rows, (of.depth + 1) / 2, rows);
  }
  for (std::size_t i = 0; i < of.columns; ++i) {
    std::memcpy(to + i * steps, of.at(0, i), of.depth * sizeof(T));
    std::memset(reinterpret_cast<std::byte*>(to + i * steps) + of.depth * sizeof(T), 0, (2 * steps - of.depth) * sizeof(T));
  }
  std::memset(to + of.columns * steps, 0, (rows - of.columns) * steps * sizeof(float));
}

#endif

// Computes one rectangle of c.
//
// The loops from outside in: columns of b that stay in the second-level cache when they are packed, rows whose sums fit into the
// scratch (all, if the reduction has one block), blocks of the reduction in ascending order, panels of a, which are packed when
// they are used, slivers. A panel is finished after the last block. Pairs of a that lie as the kernels read them are not packed.
template <class Way, class T, class C>
void multiply_narrow(const narrow_product<T, C>& whole, const rectangle& part, std::span<std::byte> scratch) {
  using kernels = typename Way::kernels;
  constexpr std::size_t cached = 512 * 1024 / sizeof(float), widest = kernels::widest;
  constexpr std::size_t height = Way::has_tiles ? widest : panel_rows;
  const auto steps_of = [](std::size_t depth) {
    return Way::has_tiles ? (depth + 31) / 32 * 16 : Way::takes_pairs ? (depth + 1) / 2 : depth;
  };
  const std::size_t k = whole.size.k, block = reduction_block(k), steps = std::max<std::size_t>(1, steps_of(block));
  const std::size_t columns = (part.column_end - part.column_begin + widest - 1) / widest * widest;
  // At most 2048 columns, so that the sums of a panel stay near while it is finished.
  const std::size_t group =
      std::min(std::clamp<std::size_t>(cached / steps, 768 / sizeof(float), 2048) / widest * widest, columns);
  const std::size_t panel = height * steps, rows = part.row_end - part.row_begin;
  const std::size_t panels = Way::has_tiles ? 2 * panel : panel;
  const std::size_t fit = (scratch.size() / sizeof(float) - group * steps - panels) / std::max<std::size_t>(1, group);
  const std::size_t together = k <= block ? rows : std::max(height, fit / height * height);
  float* const packed_b = reinterpret_cast<float*>(scratch.data());
  float* const packed_a = packed_b + group * steps;
  float* const sums = packed_a + panels;

  [[maybe_unused]] const typename Way::tiles tiles{};
  alignas(64) float before[tile_bytes / sizeof(float)];
  product<float> inner({}, {}, {}, transpose::none, {}); // the sums of a panel
  sliver<float> s;
  s.whole = &inner;
  s.before = before;
  for (std::size_t j0 = part.column_begin; j0 < part.column_end; j0 += group) {
    const std::size_t j1 = std::min(part.column_end, j0 + group);
    for (std::size_t first = part.row_begin; first < part.row_end; first += together) {
      const std::size_t last = std::min(part.row_end, first + together);
      std::size_t p = 0;
      do { // at least once: the product over nothing is zero
        const std::size_t depth = std::min(block, k - p);
        s.depth = steps_of(depth);
        s.reads_carry = p != 0;
        if (first == part.row_begin || k > block)
          for (std::size_t j = j0; j < j1; j += s.columns) {
            s.columns = kernels::sliver_columns(j1 - j);
            float* const to = packed_b + (j - j0) * s.depth;
            const narrow_part<T> of{whole.b + p * whole.b_step + j * whole.b_column, whole.b_step, whole.b_column, s.columns,
                                    depth};
            if constexpr (Way::has_tiles) pack_tiles_of_b(to, s.depth, of);
            else pack_narrow<Way>(to, kernels::packed_width(s.columns), of);
          }
        for (std::size_t i = first; i < last; i += height) {
          const std::size_t here = std::min(height, last - i);
          const narrow_part<T> of{whole.a + i * whole.a_row + p * whole.a_step, whole.a_step, whole.a_row, here, depth};
          inner.c = matrix<float>{sums + (k <= block ? 0 : i - first) * group, here, j1 - j0, group};
          s.a = packed_a;
          s.a_row = Way::has_tiles ? s.depth : 1;
          s.a_step = height;
          s.row_end = here;
          s.carry_row = group;
          const bool even = Way::takes_pairs && whole.a_step == 1 && whole.a_row % 2 == 0;
          if (even && (Way::has_tiles ? here == height && depth % 32 == 0 : depth % 2 == 0)) {
            s.a = reinterpret_cast<const float*>(of.from);
            s.a_row = whole.a_row / 2;
            s.a_step = 1;
          } else if constexpr (Way::has_tiles) {
            pack_tiles_of_a(packed_a, s.depth, of, packed_a + panel);
          } else {
            pack_narrow<Way>(packed_a, height, of);
          }
          for (std::size_t j = j0; j < j1; j += s.columns) {
            s.column = j - j0;
            s.columns = kernels::sliver_columns(j1 - j);
            s.b = packed_b + s.column * s.depth;
            s.b_step = kernels::packed_width(s.columns);
            s.carry = inner.c.data + s.column;
            kernels::rows(s);
          }
          if (p + depth == k)
            for (std::size_t r = 0; r < here; ++r) Way::finish(whole, i + r, j0, j1, &inner.c(r, 0));
        }
        p += depth;
      } while (p < k);
    }
  }
  if (whole.then.row_sums != nullptr && part.column_begin == 0) Way::sum_rows(whole, part.row_begin, part.row_end);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
