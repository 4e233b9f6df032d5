// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/slab.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/matmul/narrow_finish.hpp>
#include <cairn/ops/matmul/plain.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The two passes that compute pixels of an image from pixels around a place in another: forward, and the input gradient of one
// phase (slab.hpp). Each is a product whose first operand never exists as a matrix.
//
// A tile of results needs a rectangle of the other image. It is copied once, with zeros outside the image: the slab. There a row
// of results is a product for each tap, or for each row of taps if these are side by side: the rows of that product's first
// operand are pixels of the slab, a constant distance apart. So the kernels of matmul run on the slab as it is, and a sum over
// all taps continues from one such term to the next by the kernel's carry. Copying patches instead, a row of all taps for each
// pixel, would copy every pixel as often as there are taps.
//
// The weights of a term are packed as a kernel needs them. If those of all terms fit, they are packed once for all tiles. A
// weight that its owner has packed is read where it is: the terms of forward ascend as the reduction of a packed weight does.
//
// Results are of type C: T or, for 16-bit elements, the type of their sums.
template <class T, class C = T>
struct gathering {
  axis_walk y{}, x{};
  channels_of<T> source{}; // of the group 0
  std::size_t source_group = 0;
  const T* weight = nullptr; // of the group 0
  std::size_t weight_group = 0;
  // Element (tap, d, j) of a group's weight, d counting channels of the source and j those of the result, is
  // weight[tap * weight_tap + d * weight_depth + j * weight_column]; either of the last two is 1.
  std::size_t weight_tap = 0, weight_depth = 0, weight_column = 0;
  const accumulated<T>* packed = nullptr; // the weight as pack_weight() writes it, for the forward of one group; or null
  matrix<C> result{};                     // all pixels of all images, of all groups
  std::size_t result_group = 0, result_width = 0, result_height = 0;
  epilogue<T> then{};
  std::size_t samples = 0, groups = 0, columns = 0; // columns of one group

  bool is_empty() const { return y.count == 0 || x.count == 0; } // without results
};

// The parts of every thread's scratch, in elements.
template <class T>
struct gather_room {
  static constexpr std::size_t whole = 1_MiB / sizeof(T); // of the scratch: what stays in a second-level cache
  static_assert(whole * sizeof(T) <= cpu::queue::scratch_bytes);
  static constexpr std::size_t slab = whole / 8 * 3, weights = whole / 2, carry = whole / 8;
  static_assert((whole + carry) * sizeof(T) <= cpu::queue::scratch_bytes); // results of 16 bits follow, as many as are carried
};

// Tiles of results: at most `rows` by `columns` results of one image, or several images at once if each is a single tile.
struct gather_tiles {
  std::size_t rows = 0, columns = 0, down = 0, across = 0, images = 1;

  // Tiles with rows as wide as fit into `room`; none if not even one result's slab does. At most `carried` results may be
  // carried.
  gather_tiles(const axis_walk& y, const axis_walk& x, std::size_t depth, std::size_t room, std::size_t carried,
               std::size_t most_images) {
    const reach over_y(y), over_x(x);
    const auto fits = [&](std::size_t r, std::size_t c, std::size_t n = 1) {
      return over_y.sources(y, r) * over_x.sources(x, c) * depth * n <= room && r * c * n <= carried;
    };
    for (columns = x.count; columns > 0 && !fits(1, columns); columns /= 2) {
    }
    if (columns == 0) return;
    for (rows = 1; rows < y.count && fits(rows + 1, columns); ++rows) {
    }
    down = (y.count + rows - 1) / rows;
    across = (x.count + columns - 1) / columns;
    if (of_image() == 1)
      while (images < most_images && fits(rows, columns, images + 1)) ++images;
  }
  std::size_t of_image() const { return down * across; }
  std::size_t count(std::size_t samples) const { return (samples + images - 1) / images * of_image(); }
};

// One term of the sums: taps [column_tap, column_tap + taps) in the order of their sources, of row `row_tap`, channels
// [channel, channel + depth / taps) of each.
struct gather_term {
  std::size_t row_tap = 0, column_tap = 0, taps = 0, channel = 0, depth = 0;
};

// Calls f(term, index) for all terms, in the order in which they are added: rows of taps, taps, channels. How they are cut
// depends on the convolution alone.
template <class F>
void for_each_term(const axis_walk& y, const axis_walk& x, std::size_t channels, F&& f) {
  const reach over_x(x);
  const bool joined = over_x.is_dense() && over_x.taps * channels <= longest_reduction_block;
  std::size_t index = 0;
  for (std::size_t i = 0; i < y.kernel; ++i) {
    if (!y.takes(y.in_order(i))) continue;
    for (std::size_t j = 0; j < x.kernel; ++j) {
      if (!x.takes(x.in_order(j))) continue;
      if (joined) {
        f(gather_term{i, j, over_x.taps, 0, over_x.taps * channels}, index++);
        break;
      }
      for (std::size_t c = 0; c < channels; c += longest_reduction_block)
        f(gather_term{i, j, 1, c, std::min(longest_reduction_block, channels - c)}, index++);
    }
  }
}

// S is the type of the elements. Those of 16 bits are widened to T when they are copied to the slab and packed, and the sums of a
// row of results are finished and rounded when they are complete.
template <class Kernels, class S, class C = S>
class gatherer {
public:
  using T = accumulated<S>;

  gatherer(const gathering<S, C>& all, const gather_tiles& tiles, std::span<std::byte> scratch)
      : all_(all), tiles_(tiles), over_y_(all.y), over_x_(all.x), slab_(reinterpret_cast<T*>(scratch.data())),
        weights_(slab_ + gather_room<T>::slab), carry_(weights_ + gather_room<T>::weights),
        whole_(matrix<T>{slab_, 1, all.columns}, matrix<const T>{slab_, 1, 0}, matrix<const T>{slab_, 0, all.columns},
               transpose::none, epilogue<T>{}),
        placed_(matrix<C>{all.result.data, 0, 0}, matrix<const S>{all.weight, 0, 0}, matrix<const S>{all.weight, 0, 0},
                transpose::none, epilogue<S>{}) {
    for_each_term(all.y, all.x, all.source.channels, [&](const gather_term& term, std::size_t) {
      ++terms_;
      depth_ += term.depth;
    });
  }

  // Computes the tiles [begin, end) of all images, for all groups.
  void run(std::size_t begin, std::size_t end) {
    for (std::size_t group = 0; group < all_.groups; ++group)
      for (std::size_t from = 0; from < all_.columns;) {
        std::size_t to = from, packed = 0; // as many slivers as there is room for; at least one, packed by terms if need be
        do {
          const std::size_t next = Kernels::sliver_columns(all_.columns - to), more = Kernels::packed_width(next) * depth_;
          if (to > from && packed + more > gather_room<T>::weights) break;
          packed += more;
          to += next;
        } while (to < all_.columns);
        stays_ = packed <= gather_room<T>::weights;
        for (std::size_t tile = begin; tile < end; ++tile) run_tile(group, tile, from, to, tile == begin);
        from = to;
      }
  }

private:
  void run_tile(std::size_t group, std::size_t tile, std::size_t from, std::size_t to, bool fresh) {
    const std::size_t image = tile / tiles_.of_image() * tiles_.images, within = tile % tiles_.of_image();
    const std::size_t images = std::min(tiles_.images, all_.samples - image);
    const std::size_t r0 = within / tiles_.across * tiles_.rows, c0 = within % tiles_.across * tiles_.columns;
    const std::size_t rows = std::min(tiles_.rows, all_.y.count - r0), columns = std::min(tiles_.columns, all_.x.count - c0);
    channels_of<S> source = all_.source;
    source.data += group * all_.source_group;
    const std::size_t height = over_y_.sources(all_.y, rows), width = over_x_.sources(all_.x, columns);
    const std::size_t pitch = width * source.channels;
    for (std::size_t n = 0; n < images && terms_ > 0; ++n)
      fill_slab(slab_ + n * height * pitch, source, image + n, static_cast<std::ptrdiff_t>(r0 * all_.y.stride) + over_y_.least,
                height, static_cast<std::ptrdiff_t>(c0 * all_.x.stride) + over_x_.least, width);

    whole_.a_row = all_.x.stride * source.channels;
    whole_.a_step = 1;
    alignas(64) T before[tile_bytes / sizeof(T)];
    sliver<T> s;
    s.whole = &whole_;
    s.before = before;
    s.a_row = whole_.a_row;
    s.a_step = whole_.a_step;
    s.row_end = columns;
    T* packed = weights_;
    const T* given = all_.packed == nullptr ? nullptr : all_.packed + from * depth_;
    for (std::size_t j = from; j < to; j += s.columns) {
      s.column = is_narrow<S> ? 0 : j; // the sums of a sliver of 16-bit elements lie side by side
      s.columns = Kernels::sliver_columns(to - j);
      s.carry_row = Kernels::packed_width(s.columns);
      s.b_step = all_.packed == nullptr ? s.carry_row : s.columns;
      const auto rows_of = [&](const T* first, bool completes) { // first: what the first tap of the first result reads
        for (std::size_t i = 0; i < images * rows; ++i) {
          const std::size_t n = i / rows, r = i % rows, row = all_.y.first + (r0 + r) * all_.y.step;
          place(group, ((image + n) * all_.result_height + row) * all_.result_width + all_.x.first + c0 * all_.x.step, columns);
          s.a = first + (n * height + r * all_.y.stride) * pitch;
          s.carry = terms_ > 1 ? carry_ + i * columns * s.carry_row : nullptr;
          if constexpr (is_narrow<S>) whole_.c = {carry_ + gather_room<T>::carry, columns, s.columns};
          Kernels::rows(s);
          if constexpr (is_narrow<S>)
            for (std::size_t pixel = 0; completes && pixel < columns; ++pixel)
              finish(pixel, j, j + s.columns, &whole_.c(pixel, 0));
        }
      };
      if (terms_ == 0) { // no window covers these: the sum is zero
        s.b = weights_;
        rows_of(slab_, true);
      }
      for_each_term(all_.y, all_.x, source.channels, [&](const gather_term& term, std::size_t index) {
        T* const weights = stays_ ? packed : weights_;
        if (given == nullptr && (fresh || !stays_)) pack(group, term, weights, s, j);
        s.b = given == nullptr ? weights : given;
        s.depth = term.depth;
        s.reads_carry = index > 0;
        s.writes_carry = index + 1 < terms_;
        const auto down = static_cast<std::size_t>(all_.y.offset(all_.y.in_order(term.row_tap)) - over_y_.least);
        const auto right = static_cast<std::size_t>(all_.x.offset(all_.x.in_order(term.column_tap)) - over_x_.least);
        rows_of(slab_ + down * pitch + right * source.channels + term.channel, index + 1 == terms_);
        packed += term.depth * s.b_step;
        if (given != nullptr) given += term.depth * s.b_step;
      });
    }
  }

  // Packs a term's weights for the sliver of columns that begins with `column`.
  void pack(std::size_t group, const gather_term& term, T* to, const sliver<T>& s, std::size_t column) const {
    const S* const of_group = all_.weight + group * all_.weight_group + column * all_.weight_column;
    const std::size_t each = term.depth / term.taps;
    for (std::size_t i = term.column_tap, t = 0; t < term.taps; ++i) {
      if (!all_.x.takes(all_.x.in_order(i))) continue;
      const std::size_t tap = all_.y.in_order(term.row_tap) * all_.x.kernel + all_.x.in_order(i);
      const S* const from = of_group + tap * all_.weight_tap + term.channel * all_.weight_depth;
      T* const there = to + t * each * s.b_step;
      if constexpr (is_narrow<S>) pack_widened(there, s, from, each);
      else if (all_.weight_column == 1) Kernels::pack(there, s.b_step, from, all_.weight_depth, s.columns, each);
      else Kernels::pack_transposed(there, s.b_step, from, all_.weight_column, s.columns, each);
      ++t;
    }
  }
  void pack_widened(T* to, const sliver<T>& s, const S* from, std::size_t depth) const {
    constexpr std::size_t piece = 64, widest = 192 / sizeof(T); // no kernel has wider slivers
    alignas(64) T own[piece * widest];
    for (std::size_t d = 0; d < depth; d += piece, to += piece * s.b_step) {
      const std::size_t count = std::min(piece, depth - d);
      if (all_.weight_column == 1) {
        for (std::size_t i = 0; i < count; ++i) widen(own + i * widest, from + (d + i) * all_.weight_depth, s.columns);
        Kernels::pack(to, s.b_step, own, widest, s.columns, count);
      } else {
        for (std::size_t j = 0; j < s.columns; ++j) widen(own + j * piece, from + j * all_.weight_column + d, count);
        Kernels::pack_transposed(to, s.b_step, own, piece, s.columns, count);
      }
    }
  }

  // Sets the pixel at which the next row of results begins.
  void place(std::size_t group, std::size_t pixel, std::size_t count) {
    const auto at = [&](auto m) {
      if (m.data == nullptr) return m;
      m.data += pixel * m.stride + group * all_.result_group;
      m.rows = count;
      m.columns = all_.columns;
      m.stride *= all_.x.step;
      return m;
    };
    placed_.c = at(all_.result);
    placed_.then = all_.then;
    placed_.then.addend = at(all_.then.addend);
    placed_.then.mask = at(all_.then.mask);
    if (all_.then.bias != nullptr) placed_.then.bias = all_.then.bias + group * all_.result_group;
    if constexpr (!is_narrow<S>) whole_.c = placed_.c, whole_.then = placed_.then;
  }
  // Finishes and rounds the columns [begin, end) of a pixel of that row.
  void finish(std::size_t pixel, std::size_t begin, std::size_t end, const T* sums) const {
#if CAIRN_X86
    if constexpr (!std::is_same_v<Kernels, plain_kernels<T>>) return finish_narrow_avx2(placed_, pixel, begin, end, sums);
#endif
    finish_narrow_plain(placed_, pixel, begin, begin, end, sums);
  }

  const gathering<S, C>& all_;
  const gather_tiles& tiles_;
  reach over_y_, over_x_;
  T *slab_, *weights_, *carry_;
  product<T> whole_;
  product<S, C> placed_; // the results of a row, with their epilogue
  std::size_t terms_ = 0, depth_ = 0;
  bool stays_ = false; // whether the packed weights are kept from one tile to the next
};

} // namespace cairn::detail

CAIRN_KERNELS_END
