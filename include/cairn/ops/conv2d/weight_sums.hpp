// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/gather.hpp>
#include <cairn/ops/conv2d/slab.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/window.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The gradient of a weight. Every row of output pixels contributes a product of their gradients, transposed, with pixels of the
// slab (see gather.hpp); it is added to the sum of the earlier rows. The sums are kept where the gradient will be.
//
// A row of a narrow image is too short for a product of its own. There the rows of a tile are one product: the gradients are
// copied so that their rows are as far apart as those of the slab, with zeros between. This requires a stride of 1.
//
// The work is cut into pieces, each a stretch of columns of the gradient: some channels of one tap, or of the taps of one row if
// these are side by side. One thread computes a piece from all pixels, in their order.
//
// Elements of 16 bits, S, are widened to T when they are copied to the slab, and so are their gradients, a few rows at a time.
template <class S>
struct weight_sums {
  using T = accumulated<S>;
  convolution how{};
  axis_walk y{}, x{};
  matrix<const S> output_gradient{};
  const S* input = nullptr;
  T* weight_gradient = nullptr;
  channel_scales<T> scales{}; // the input is read through them
  std::size_t samples = 0;
  gather_tiles tiles;
  bool joined = false;       // the taps of a row are side by side
  bool flat = false;         // the rows of a tile are one product
  std::size_t stretches = 0; // of one group: rows of taps, or taps
  std::size_t length = 0;    // of a stretch, in columns
  std::size_t cut = 0;       // the widest piece

  // A piece is a multiple of 48 columns wide, or the rest: no kernel has wider slivers.
  weight_sums(const convolution& c, std::size_t images, matrix<const S> dy, const S* x_, T* dw, std::size_t threads)
      : how(c), y(axis_walk::of_outputs(c.over.y)), x(axis_walk::of_outputs(c.over.x)), output_gradient(dy), input(x_),
        weight_gradient(dw), samples(images), tiles(y, x, c.group_in(), slab_room, most_pixels, 1),
        joined(c.over.x.dilation == 1) {
    stretches = joined ? c.over.y.kernel : c.over.taps();
    length = joined ? c.over.x.kernel * c.group_in() : c.group_in();
    const std::size_t slivers = (length + 47) / 48, per_stretch = threads > 1 ? slivers : 1;
    cut = (slivers + per_stretch - 1) / per_stretch * 48;
    const std::size_t pixels = tiles.rows * reach(x).sources(x, c.over.x.out);
    flat = c.over.y.stride == 1 && c.over.x.stride == 1 && tiles.across == 1 && c.over.x.out < narrow && tiles.rows > 1 &&
           pixels <= most_pixels && pixels * c.group_out() <= gradient_room;
  }
  // Whether there is room: of 16-bit elements a row of gradients is widened.
  bool fit() const { return tiles.columns > 0 && (!is_narrow<S> || flat || tiles.columns * how.group_out() <= gradient_room); }
  std::size_t cuts() const { return (length + cut - 1) / cut; }
  std::size_t pieces() const { return how.groups * stretches * cuts(); }

  // The sizes in the scratch, in elements, of the slab and the copied gradients, and the most pixels of a packed sliver. Only
  // kernels whose slivers have 48 bytes pack.
  static constexpr std::size_t slab_room = gather_room<T>::whole / 2, gradient_room = gather_room<T>::whole / 8 * 3;
  static constexpr std::size_t most_pixels = gather_room<T>::whole / 8 / (48 / sizeof(T));
  static constexpr std::size_t narrow = 24;
};

// Computes the pieces [begin, end).
template <class Kernels, class S>
void sum_weights(const weight_sums<S>& all, std::size_t begin, std::size_t end, std::span<std::byte> scratch) {
  using T = accumulated<S>;
  const convolution& c = all.how;
  T* const slab = reinterpret_cast<T*>(scratch.data());
  T *const gradients = slab + weight_sums<S>::slab_room, *const packed = gradients + weight_sums<S>::gradient_room;
  const reach over_y(all.y), over_x(all.x);
  const std::size_t depth = c.group_in(), of_group = all.stretches * all.cuts();
  product<T> whole(matrix<T>{all.weight_gradient, c.group_out(), 0}, matrix<const T>{slab, 0, c.group_out()},
                   matrix<const T>{slab, 0, 0}, transpose::first, epilogue<T>{});
  whole.a_row = 1;
  const bool copied = is_narrow<S> || all.flat; // the gradients
  whole.a_step = copied ? c.group_out() : all.output_gradient.stride;
  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = whole.a_row;
  s.a_step = whole.a_step;
  s.row_end = c.group_out();
  s.carry_row = c.depth();
  s.writes_carry = true;
  const channels_of<S> images{all.input, c.in_channels, depth, c.over.y.in, c.over.x.in, all.scales};

  for (std::size_t piece = begin; piece < end;) { // all pieces of one group read the same slabs
    const std::size_t group = piece / of_group, last = std::min(end, (group + 1) * of_group);
    for (std::size_t tile = 0; tile < all.samples * all.tiles.of_image(); ++tile) {
      const std::size_t image = tile / all.tiles.of_image(), within = tile % all.tiles.of_image();
      const std::size_t r0 = within / all.tiles.across * all.tiles.rows, c0 = within % all.tiles.across * all.tiles.columns;
      const std::size_t columns = std::min(all.tiles.columns, all.x.count - c0), width = over_x.sources(all.x, columns);
      const std::size_t pitch = width * depth, here = std::min(all.tiles.rows, all.y.count - r0);
      channels_of<S> source = images;
      source.data += group * depth;
      fill_slab(slab, source, image, static_cast<std::ptrdiff_t>(r0 * all.y.stride) + over_y.least, over_y.sources(all.y, here),
                static_cast<std::ptrdiff_t>(c0 * all.x.stride) + over_x.least, width);
      const S* const dy = all.output_gradient.data + group * c.group_out();
      const channels_of<S> made{dy, all.output_gradient.stride, c.group_out(), c.over.y.out, c.over.x.out, {}};
      if (all.flat) fill_slab(gradients, made, image, static_cast<std::ptrdiff_t>(r0), here, 0, width);
      const std::size_t rows = all.flat ? 1 : here;
      s.depth = all.flat ? (here - 1) * width + columns : columns;
      const std::size_t together = is_narrow<S> && !all.flat ? weight_sums<S>::gradient_room / (columns * c.group_out()) : rows;
      for (std::size_t r_begin = 0; r_begin < rows; r_begin += together) {
        const std::size_t r_end = std::min(rows, r_begin + together);
        if (is_narrow<S> && !all.flat)
          fill_slab(gradients, made, image, static_cast<std::ptrdiff_t>(r0 + r_begin), r_end - r_begin,
                    static_cast<std::ptrdiff_t>(c0), columns);
        for (std::size_t p = piece; p < last; ++p) {
          const std::size_t stretch = p % of_group / all.cuts(), from = p % all.cuts() * all.cut;
          const std::size_t i = all.joined ? stretch : stretch / c.over.x.kernel, j = all.joined ? 0 : stretch % c.over.x.kernel;
          const std::size_t to = std::min(all.length, from + all.cut);
          T* const sums = all.weight_gradient + group * c.group_out() * c.depth() + stretch * all.length;
          const T* const first = slab + i * c.over.y.dilation * pitch + j * c.over.x.dilation * depth;
          for (std::size_t at = from; at < to; at += s.columns) {
            s.columns = Kernels::sliver_columns(to - at);
            s.carry = sums + at;
            for (std::size_t r = r_begin; r < r_end; ++r) {
              s.a = gradients + (all.flat ? 0 : (r - r_begin) * columns * c.group_out());
              if constexpr (!is_narrow<S>)
                if (!all.flat) s.a = dy + ((image * c.over.y.out + r0 + r) * c.over.x.out + c0) * all.output_gradient.stride;
              s.b = first + r * all.y.stride * pitch + at;
              s.b_step = all.x.stride * depth;
              if (Kernels::must_pack(s.columns)) {
                Kernels::pack(packed, Kernels::packed_width(s.columns), s.b, s.b_step, s.columns, s.depth);
                s.b = packed;
                s.b_step = Kernels::packed_width(s.columns);
              }
              s.reads_carry = tile > 0 || r > 0;
              Kernels::rows(s);
            }
          }
        }
      }
    }
    piece = last;
  }
}

// Zeros outside an image, and between rows of copied gradients, take part in the sums above, and 0 x NaN and 0 x inf are NaN. A
// sum that is NaN is therefore computed again, over the pairs of pixels that exist. Other sums cost one check each, and keep
// their bits.

// Finds out whether an element is infinite or NaN.
template <class T>
struct find_not_finite {
  matrix<const T> in;
  bool* found;

  static constexpr std::size_t width = 64 / sizeof(T);
  typedef T block __attribute__((vector_size(64)));

  [[gnu::always_inline]] inline void run() const {
    block zeros{};
    T zero{};
    for (std::size_t row = 0; row < in.rows; ++row) {
      const T* const from = in.data + row * in.stride;
      std::size_t i = 0;
      for (; i + width <= in.columns; i += width) {
        block x;
        __builtin_memcpy(&x, from + i, sizeof x); // rows may begin anywhere
        zeros += x - x;
      }
      for (; i < in.columns; ++i) zero += from[i] - from[i];
    }
    for (std::size_t i = 0; i < width; ++i) zero += zeros[i];
    *found = zero != 0; // inf - inf and NaN are NaN
  }
};
template <class S>
bool has_not_finite(matrix<const S> in) {
  using T = accumulated<S>;
  bool found = false;
  if constexpr (!is_narrow<S>) {
    run_tile(find_not_finite<T>{in, &found});
  } else {
    widened_row<S> own;
    for (std::size_t row = 0; row < in.rows; ++row)
      for (std::size_t begin = 0; begin < in.columns && !found; begin += strip) {
        const std::size_t count = std::min(strip, in.columns - begin);
        run_tile(find_not_finite<T>{{own.read(in.data + row * in.stride + begin, count), 1, count}, &found});
      }
  }
  return found;
}

// One weight, summed in double over the images from `first` on and then over those before it. The sum stops at a NaN.
template <class S>
accumulated<S> sum_of_meetings(const weight_sums<S>& all, std::size_t first, std::size_t o, std::size_t tap, std::size_t c) {
  using T = accumulated<S>;
  const window_axis &y = all.how.over.y, &x = all.how.over.x;
  const std::size_t channel = o / all.how.group_out() * all.how.group_in() + c;
  const auto seen = [&](T v) { // as fill_slab copies it
    if (all.scales.mean == nullptr) return v;
    v = (v - all.scales.mean[channel]) * all.scales.factor[channel] + all.scales.bias[channel];
    return v < T{0} ? T{0} : v;
  };
  double sum = 0;
  for (std::size_t n = 0; n < all.samples; ++n)
    for (std::size_t p = 0; p < y.out; ++p) {
      const std::size_t image = (first + n) % all.samples, row = y.input(p, tap / x.kernel);
      if (row >= y.in) continue;
      for (std::size_t q = 0; q < x.out; ++q) {
        const std::size_t column = x.input(q, tap % x.kernel);
        if (column >= x.in) continue;
        sum += static_cast<double>(all.output_gradient((image * y.out + p) * x.out + q, o)) *
               static_cast<double>(
                   seen(static_cast<T>(all.input[((image * y.in + row) * x.in + column) * all.how.in_channels + channel])));
      }
      if (sum != sum) return static_cast<T>(sum);
    }
  return static_cast<T>(sum);
}

// The first image whose output gradient or input is not finite, or the number of images.
template <class S>
std::size_t first_not_finite(const weight_sums<S>& all) {
  const convolution& c = all.how;
  const std::size_t outputs = c.over.outputs(), inputs = c.over.inputs(), stride = all.output_gradient.stride;
  std::size_t image = 0;
  while (image < all.samples &&
         !has_not_finite<S>({all.output_gradient.data + image * outputs * stride, outputs, c.out_channels, stride}) &&
         !has_not_finite<S>({all.input + image * inputs * c.in_channels, inputs, c.in_channels}))
    ++image;
  return image;
}

// Computes the sums of the pieces [begin, end) again where they are NaN. Most are NaN for a good reason, which is in the first
// image that is not finite, or soon after it. Checks the images before the sums where that is less work.
template <class S>
void mend_weights(const weight_sums<S>& all, std::size_t begin, std::size_t end) {
  using T = accumulated<S>;
  const convolution& c = all.how;
  const std::size_t of_group = all.stretches * all.cuts();
  const std::size_t images = all.samples * (c.over.outputs() * c.out_channels + c.over.inputs() * c.in_channels);
  bool looked = images < (end - begin) * std::min(all.cut, all.length) * c.group_out();
  std::size_t first = looked ? first_not_finite(all) : 0;
  for (std::size_t piece = begin; piece < end && first < all.samples; ++piece) {
    const std::size_t within = piece % of_group, from = within % all.cuts() * all.cut;
    const std::size_t place = within / all.cuts() * all.length + from; // in the weights of an output channel
    const std::size_t o = piece / of_group * c.group_out();
    const matrix<T> sums{all.weight_gradient + o * c.depth() + place, c.group_out(), std::min(all.cut, all.length - from),
                         c.depth()};
    if (!has_not_finite<T>(sums)) continue;
    if (!looked) first = first_not_finite(all);
    looked = true;
    for (std::size_t row = 0; row < sums.rows && first < all.samples; ++row) // else finite numbers became too large
      for (std::size_t i = 0; i < sums.columns; ++i)
        if (T& sum = sums(row, i); sum != sum)
          sum = sum_of_meetings(all, first, o + row, (place + i) / c.group_in(), (place + i) % c.group_in());
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
