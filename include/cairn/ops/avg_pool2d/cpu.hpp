// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/input_tiles.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

template <class T>
struct add_share {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& sum, T x) const { sum += x * factor; }
};
// The window of one output pixel of an image, and 1 / divisor.
struct mean_window {
  mean_range y, x;
  double share = 0;

  CAIRN_HOST_DEVICE mean_window(const window& over, mean_of which, std::size_t output)
      : y(range_of(over.y, which, output / over.x.out)), x(range_of(over.x, which, output % over.x.out)) {
    const std::size_t divisor = y.divisor * x.divisor;
    share = divisor == 0 ? 0 : 1 / static_cast<double>(divisor);
  }
};

// A row of channels and its factor.
template <class T>
struct weighted_row {
  const T* x;
  T factor;
};

// Adds up some rows of one chain (see sums.hpp), in their order; without `Weighted` every factor is 1. Rows that do not begin
// the chain continue from `sum`, and rows that do not end it leave their sum there. If a sum has one chain only, the end of the
// chain writes it to `sum`, times `factor`. Of several chains, the first sets the totals, the others are added to them, and the
// last writes the total to `sum`, times `factor`.
template <class T, bool Weighted>
struct row_chain {
  const weighted_row<T>* rows;
  std::size_t count, channels;
  bool begins, ends;      // the chain
  bool is_first, is_last; // of the chains
  double factor;
  T* sum;
  double* totals;

  static constexpr std::size_t width = 64 / sizeof(T);
  typedef T block __attribute__((vector_size(64)));

  // Rows of at least `wide` channels are added `few` at a time: each is a long stretch of memory, and more would evict each
  // other from the innermost cache.
  static constexpr std::size_t wide = 1024, few = 4;

  [[gnu::always_inline]] inline void run() const {
    const row_chain own = *this; // a copy that no write can alias, so it stays in registers
    own.add_up();
  }

private:
  [[gnu::always_inline]] inline void add_up() const {
    const std::size_t whole = channels / width * width;
    if (count == few && channels >= wide) add_few(whole, std::make_index_sequence<few>{});
    else add_all(whole);
    for (std::size_t c = whole; c < channels; ++c) {
      T own = begins ? T{0} : sum[c];
      for (std::size_t r = 0; r < count; ++r) own += Weighted ? rows[r].x[c] * rows[r].factor : rows[r].x[c];
      end(c, own);
    }
  }
  // Prefetches the rows that follow, if these are contiguous, as those of an image are.
  template <std::size_t... R>
  [[gnu::always_inline]] inline void add_few(std::size_t whole, std::index_sequence<R...>) const {
    const weighted_row<T> own[] = {rows[R]...};
    for (std::size_t c = 0; c < whole; c += width) {
      block only;
      begin_block(c, only);
      (__builtin_prefetch(own[R].x + few * channels + c, 0, 2), ...);
      (add(only, own[R], c), ...);
      end_block(c, only);
    }
  }
  [[gnu::always_inline]] inline void add_all(std::size_t whole) const {
    std::size_t c = 0;
    for (; c + 2 * width <= whole; c += 2 * width) {
      block first, second;
      begin_block(c, first);
      begin_block(c + width, second);
      for (std::size_t r = 0; r < count; ++r) {
        add(first, rows[r], c);
        add(second, rows[r], c + width);
      }
      end_block(c, first);
      end_block(c + width, second);
    }
    if (c == whole) return;
    block only;
    begin_block(c, only);
    for (std::size_t r = 0; r < count; ++r) add(only, rows[r], c);
    end_block(c, only);
  }
  // Loads by memcpy, as rows may begin anywhere.
  [[gnu::always_inline]] static void add(block& to, const weighted_row<T>& row, std::size_t c) {
    block x;
    __builtin_memcpy(&x, row.x + c, sizeof(block));
    if constexpr (Weighted) x *= row.factor;
    to += x;
  }
  [[gnu::always_inline]] inline void begin_block(std::size_t c, block& chain) const {
    chain = block{};
    if (!begins) __builtin_memcpy(&chain, sum + c, sizeof(block));
  }
  [[gnu::always_inline]] inline void end_block(std::size_t c, const block& chain) const {
    if (!ends) return static_cast<void>(__builtin_memcpy(sum + c, &chain, sizeof(block)));
    if (is_first && is_last) {
      const block out = chain * static_cast<T>(factor);
      __builtin_memcpy(sum + c, &out, sizeof(block));
      return;
    }
    T values[width];
    double sums[width];
    __builtin_memcpy(values, &chain, sizeof(block));
    for (std::size_t i = 0; i < width; ++i) sums[i] = static_cast<double>(values[i]);
    if (!is_first)
      for (std::size_t i = 0; i < width; ++i) sums[i] += totals[c + i];
    if (!is_last) return static_cast<void>(__builtin_memcpy(totals + c, sums, sizeof sums));
    for (std::size_t i = 0; i < width; ++i) sum[c + i] = static_cast<T>(sums[i] * factor);
  }
  [[gnu::always_inline]] inline void end(std::size_t c, T chain) const {
    if (!ends) return static_cast<void>(sum[c] = chain);
    if (is_first && is_last) return static_cast<void>(sum[c] = chain * static_cast<T>(factor));
    const double total = (is_first ? 0 : totals[c]) + static_cast<double>(chain);
    if (is_last) sum[c] = static_cast<T>(total * factor);
    else totals[c] = total;
  }
};

// Adds up rows of at most `most` channels one after another, and leaves the result in `sum`. The rows of a chain are read side
// by side; wide rows, each a long stretch of memory, only a few at a time.
template <class T, bool Weighted>
class sum_of_rows {
public:
  static constexpr std::size_t most = 2048;

  sum_of_rows(std::size_t channels, T* sum)
      : channels_(channels), side_by_side_(channels < of::wide ? sum_chain : of::few), sum_(sum) {}

  void add(const T* row, T factor) {
    if (count_ == side_by_side_) add_rows(false, 1);
    rows_[count_++] = {row, factor};
  }
  // Writes the sum times a factor.
  void finish(double factor) { add_rows(true, factor); }

private:
  using of = row_chain<T, Weighted>;
  static_assert(sum_chain % of::few == 0);

  void add_rows(bool is_last, double factor) {
    const bool begins = chain_ == 0;
    chain_ += count_;
    const bool ends = is_last || chain_ == sum_chain;
    run_tile(of{rows_, count_, channels_, begins, ends, is_first_, is_last, factor, sum_, totals_});
    count_ = 0;
    if (!ends) return;
    chain_ = 0;
    is_first_ = false;
  }

  std::size_t channels_, side_by_side_, count_ = 0;
  std::size_t chain_ = 0; // rows of the chain before those in rows_
  T* sum_;
  bool is_first_ = true;
  weighted_row<T> rows_[sum_chain];
  double totals_[most]; // set by the first chain of several
};

// Adds some rows, each times its factor if they are weighted.
template <class T, bool Weighted, std::size_t Rows>
struct add_weighted {
  T factors[Rows];
  template <class... X>
  [[gnu::always_inline]] inline void operator()(T& sum, X... x) const {
    const T rows[] = {x...};
    for (std::size_t r = 0; r < Rows; ++r) {
      T term = rows[r];
      if constexpr (Weighted) term *= factors[r];
      sum += term;
    }
  }
};
template <class T>
struct times_constant {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& x) const { x *= factor; }
};

// The same for 16-bit elements, whose rows are added to a chain of floats, a few at a time. The sum is rounded once.
template <narrow_element T, bool Weighted>
class sum_of_rows<T, Weighted> {
public:
  static constexpr std::size_t most = 256;

  sum_of_rows(std::size_t channels, T* to) : channels_(channels), to_(to) { std::fill_n(sum_, channels, wide{0}); }

  void add(const T* row, accumulated<T> factor) {
    if (chain_ == sum_chain) end_chain();
    rows_[count_] = row;
    factors_[count_] = factor;
    ++chain_;
    if (++count_ == few) add_rows();
  }
  void finish(double factor) {
    add_rows();
    if (is_first_)
      return run_narrow(set_, times_constant<wide>{static_cast<wide>(factor)}, channels_, written{to_}, taken{&sum_[0]});
    for (std::size_t c = 0; c < channels_; ++c) sum_[c] = static_cast<wide>((totals_[c] + static_cast<double>(sum_[c])) * factor);
    round_once(to_, sum_, channels_);
  }

private:
  using wide = accumulated<T>;
  static constexpr std::size_t few = 8;
  static_assert(sum_chain % few == 0);

  void add_rows() {
    if (count_ == few) add_few(std::make_index_sequence<few>());
    else
      for (std::size_t r = 0; r < count_; ++r)
        run_narrow(set_, add_weighted<wide, Weighted, 1>{{factors_[r]}}, channels_, written{&sum_[0]}, taken{&sum_[0], rows_[r]});
    count_ = 0;
  }
  template <std::size_t... R>
  void add_few(std::index_sequence<R...>) {
    run_narrow(set_, add_weighted<wide, Weighted, few>{{factors_[R]...}}, channels_, written{&sum_[0]},
               taken{&sum_[0], rows_[R]...});
  }
  void end_chain() {
    add_rows();
    for (std::size_t c = 0; c < channels_; ++c) {
      totals_[c] = (is_first_ ? 0 : totals_[c]) + static_cast<double>(sum_[c]);
      sum_[c] = 0;
    }
    is_first_ = false;
    chain_ = 0;
  }

  instruction_set set_ = widest_for_elements();
  std::size_t channels_, count_ = 0, chain_ = 0; // rows that wait, and all rows of the chain
  T* to_;
  bool is_first_ = true; // whether this is the first chain
  const T* rows_[few];
  wide factors_[few];
  alignas(64) wide sum_[most];
  alignas(64) double totals_[most]; // set by the first chain of several
};

// The greatest number of windows along an axis that contain one input.
inline std::size_t most_windows(const window_axis& a, mean_of which) {
  if (which == mean_of::adaptive) return (a.out + a.in - 1) / std::max<std::size_t>(1, a.in) + 1;
  return (a.kernel + a.stride - 1) / a.stride;
}

// Adds up the gradient of some channels of one input over the windows that contain it, in their order.
template <class T>
void sum_windows(const window& over, mean_of which, std::size_t pixel, const T* gradients, std::size_t channels,
                 std::size_t count, T* to) {
  const std::size_t row = pixel / over.x.in, column = pixel % over.x.in;
  const output_range rows = outputs_having(over.y, which, row), columns = outputs_having(over.x, which, column);
  sum_of_rows<T, true> sum(count, to);
  for (std::size_t p = rows.begin; p < rows.end; ++p) {
    const mean_range y = range_of(over.y, which, p);
    if (row < y.begin || row >= y.end) continue;
    for (std::size_t q = columns.begin; q < columns.end; ++q) {
      const mean_range x = range_of(over.x, which, q);
      if (column >= x.begin && column < x.end)
        sum.add(gradients + (p * over.x.out + q) * channels,
                static_cast<accumulated<T>>(1 / static_cast<double>(y.divisor * x.divisor)));
    }
  }
  sum.finish(1);
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void avg_pool2d_forward(cpu::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                        T* output, const T* input) {
  using sum_of_pixels = detail::sum_of_rows<T, false>;
  const std::size_t each = std::max<std::size_t>(1, over.inputs() / std::max<std::size_t>(1, over.outputs()));
  detail::for_each_row(queue, samples * over.outputs(), channels * each, [&](std::size_t pixel) {
    const detail::mean_window of(over, which, pixel % over.outputs());
    const T* const image = input + pixel / over.outputs() * over.inputs() * channels;
    for (std::size_t begin = 0; begin < channels; begin += sum_of_pixels::most) {
      sum_of_pixels sum(std::min(sum_of_pixels::most, channels - begin), output + pixel * channels + begin);
      for (std::size_t row = of.y.begin; row < of.y.end; ++row)
        for (std::size_t column = of.x.begin; column < of.x.end; ++column)
          sum.add(image + (row * over.x.in + column) * channels + begin, accumulated<T>{1});
      sum.finish(of.share);
    }
  });
}

// If an input is in few windows, each window is visited once and added to its inputs. Windows overlap, so the work on an image
// is then divided by channels only. If an input is in more windows than a chain has terms, each input visits its own windows.
template <class T>
void avg_pool2d_backward(cpu::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient) {
  const std::size_t windows = detail::most_windows(over.y, which) * detail::most_windows(over.x, which);
  if (windows > detail::sum_chain)
    return detail::for_each_row(queue, samples * over.inputs(), channels * windows, [&](std::size_t pixel) {
      const T* const gradients = output_gradient + pixel / over.inputs() * over.outputs() * channels;
      for (std::size_t begin = 0; begin < channels; begin += detail::sum_of_rows<T, true>::most)
        detail::sum_windows(over, which, pixel % over.inputs(), gradients + begin, channels,
                            std::min(detail::sum_of_rows<T, true>::most, channels - begin),
                            input_gradient + pixel * channels + begin);
    });
  using wide = accumulated<T>;
  constexpr std::size_t most = 256; // channels at a time
  const detail::instruction_set set = detail::widest_for_elements();
  const std::size_t cuts = (channels + most - 1) / most;
  const auto outputs_of = [which](const window_axis& a, std::size_t begin, std::size_t end) {
    return output_range{outputs_having(a, which, begin).begin, outputs_having(a, which, end - 1).end};
  };
  const auto work = [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part % cuts * most, count = std::min(most, channels - begin);
    T* const gradients = input_gradient + part / cuts * over.inputs() * channels + begin;
    const T* const from = output_gradient + part / cuts * over.outputs() * channels + begin;
    detail::widened_row<T, most> read;
    detail::for_each_input_tile(over, channels, count, gradients, scratch, [&](const detail::input_tile<wide>& tile) {
      if (tile.row_begin == tile.row_end || tile.column_begin == tile.column_end) return;
      const auto rows = outputs_of(over.y, tile.row_begin, tile.row_end);
      const auto columns = outputs_of(over.x, tile.column_begin, tile.column_end);
      for (std::size_t p = rows.begin; p < rows.end; ++p)
        for (std::size_t q = columns.begin; q < columns.end; ++q) {
          const std::size_t pixel = p * over.x.out + q;
          const detail::mean_window of(over, which, pixel);
          const detail::add_share<wide> f{static_cast<wide>(of.share)};
          const wide* const gradient = read.read(from + pixel * channels, count);
          for (std::size_t row = std::max(of.y.begin, tile.row_begin); row < std::min(of.y.end, tile.row_end); ++row)
            for (std::size_t column = std::max(of.x.begin, tile.column_begin); column < std::min(of.x.end, tile.column_end);
                 ++column) {
              wide* const to = tile.at(row, column);
              detail::run_elements(set, f, count, std::array<wide*, 1>{to}, std::array<const wide*, 2>{to, gradient});
            }
        }
    });
  };
  detail::for_each_stretch_of_rows(
      queue, samples * cuts, over.inputs() * std::min(most, channels),
      [&](std::size_t begin, std::size_t end, std::span<std::byte> scratch) {
        for (std::size_t part = begin; part < end; ++part) work(part, scratch);
      },
      detail::element_part);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
