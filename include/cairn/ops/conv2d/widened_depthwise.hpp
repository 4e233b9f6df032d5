// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/depthwise.hpp>
#include <cairn/ops/conv2d/reference.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/matmul/matmul.hpp>

CAIRN_KERNELS_BEGIN

// Depthwise convolutions of 16-bit elements. The rows of an image that some rows of results read are widened to the scratch;
// the sums over taps are those of float, and each result is rounded once.
namespace cairn::detail {

// Rows [begin, end) of an image.
struct rows_of_image {
  std::size_t begin = 0, end = 0;
};
// Those that row `output` of a convolution reads, and those of the output that read row `input`.
constexpr rows_of_image rows_read(const window_axis& a, std::size_t output) {
  const std::size_t first = output * a.stride, last = first + a.extent();
  const std::size_t begin = first > a.padding ? std::min(first - a.padding, a.in) : 0;
  return {begin, std::max(begin, last > a.padding ? std::min(last - a.padding, a.in) : 0)};
}
constexpr rows_of_image rows_reading(const window_axis& a, std::size_t input) {
  const std::size_t place = input + a.padding;
  const std::size_t begin = place < a.extent() ? 0 : std::min((place - a.extent()) / a.stride + 1, a.out);
  return {begin, std::max(begin, std::min(a.out, place / a.stride + 1))};
}

// Images whose pixels have `stride` elements.
template <class T>
struct depthwise_images {
  const T* data;
  std::size_t stride, height, width;

  // Widens some channels of some rows of an image, without gaps.
  void widen(accumulated<T>* to, std::size_t image, const rows_of_image& rows, std::size_t channel, std::size_t channels) const {
    const T* const first = data + (image * height + rows.begin) * width * stride + channel;
    widen_rows(to, matrix<const T>{first, (rows.end - rows.begin) * width, channels, stride});
  }
};

// Widened rows of at most this many bytes stay in a second-level cache, together with the results.
inline constexpr std::size_t widened_bytes = 1_MiB;

// Rows `first`, first + 1, … of results that together read rows of at most `room` elements; at least one row. read(row) are the
// rows that a row of results reads.
template <class Read>
std::size_t end_of_tile(std::size_t first, std::size_t last, std::size_t of_row, std::size_t room, const Read& read) {
  std::size_t end = first + 1;
  while (end < last && (read(end).end - read(first).begin) * of_row <= room) ++end;
  return end;
}

// Forward and the input gradient, for channels [channel, channel + channels).
template <class T>
struct widened_block {
  using wide = accumulated<T>;
  std::size_t channel, channels;
  wide *turned, *sums, *bias, *slab; // weights as (tap, channel); a row of results; the bias or zeros; widened rows

  void prepare(const convolution& how, const T* weight, const epilogue<T>& then) const {
    const std::size_t taps = how.over.taps();
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t tap = 0; tap < taps; ++tap)
        turned[tap * channels + c] = static_cast<wide>(weight[(channel + c) * taps + tap]);
    if (then.bias != nullptr) detail::widen(bias, then.bias + channel, channels);
    else std::fill_n(bias, channels, wide{0});
  }
  // The epilogue of the pixels [row, row + count) of the result, whose sums are complete.
  void finish(matrix<T> result, const epilogue<T>& then, std::size_t row, std::size_t count) const {
    const instruction_set set = widest_for_elements();
    const finish_channels<wide> f(then);
    widened_row<T> addend, mask;
    for (auto* const own : {&addend, &mask}) std::fill_n(own->own, channels, wide{0});
    for (std::size_t i = 0; i < count && !is_finished(then); ++i) {
      const auto row_of = [&](widened_row<T>& own, const matrix<const T>& m) -> const wide* {
        return m.data == nullptr ? own.own : own.read(m.data + (row + i) * m.stride + channel, channels);
      };
      wide* const sum = sums + i * channels;
      run_elements(set, f, channels, std::array{sum},
                   std::array<const wide*, 4>{sum, bias, row_of(addend, then.addend), row_of(mask, then.mask)});
    }
    round_rows<T>({result.data + row * result.stride + channel, count, channels, result.stride}, {sums, count, channels});
  }
};

// read(row) are the rows of the source that a row of results reads, and terms(row, column, add) calls add(source row, source
// column, tap) for each tap of a result. Returns false, and does nothing, if a row of a few channels does not fit into the
// scratch.
template <class T, class Read, class Terms>
bool depthwise_gather(cpu::queue& queue, const convolution& how, matrix<T> result, std::size_t height, std::size_t width,
                      const depthwise_images<T>& source, const T* weight, const epilogue<T>& then, const Read& read,
                      const Terms& terms) {
  using wide = accumulated<T>;
  const std::size_t channels = how.groups, taps = how.over.taps(), rows = width == 0 ? 0 : result.rows / width;
  constexpr std::size_t line = 64 / sizeof(wide), few = 2 * line; // a step of weighted_sum
  std::size_t most = 0;                                           // rows of the source
  for (std::size_t row = 0; row < height; ++row) most = std::max(most, read(row).end - read(row).begin);
  const std::size_t terms_bytes = align_up(taps * sizeof(channel_term<wide>));
  const auto bytes = [&](std::size_t block) { // without widened rows
    return terms_bytes + (taps + width + 1) * (block + line) * sizeof(wide);
  };
  std::size_t block = std::min(channels, strip);
  while (block > 0 && bytes(block) + most * source.width * block * sizeof(wide) > cpu::queue::scratch_bytes)
    block = block / 2 / few * few;
  if (block == 0) return channels == 0;
  const std::size_t left = (cpu::queue::scratch_bytes - bytes(block)) / sizeof(wide),
                    room = std::min(left, widened_bytes / sizeof(wide));

  const std::size_t parts = std::min(rows, result.rows * taps * channels < element_part ? 1 : queue.threads());
  queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
    auto* const found = reinterpret_cast<channel_term<wide>*>(scratch.data());
    const std::size_t end = (part + 1) * rows / parts;
    for (std::size_t c = 0; c < channels; c += block) {
      widened_block<T> of{
          c, std::min(block, channels - c), reinterpret_cast<wide*>(scratch.data() + terms_bytes), nullptr, nullptr, nullptr};
      const auto after = [&](wide* p, std::size_t count) { return p + (count * of.channels + line - 1) / line * line; };
      of.sums = after(of.turned, taps);
      of.bias = after(of.sums, width);
      of.slab = after(of.bias, 1);
      of.prepare(how, weight, then);
      for (std::size_t row = part * rows / parts; row < end;) {
        const std::size_t image = row / height, top = row % height;
        const std::size_t bottom = end_of_tile(top, std::min(height, top + (end - row)), source.width * of.channels, room, read);
        const rows_of_image widened{read(top).begin, std::max(read(top).begin, read(bottom - 1).end)};
        source.widen(of.slab, image, widened, c, of.channels);
        for (std::size_t r = top; r < bottom; ++r, ++row) {
          for (std::size_t column = 0; column < width; ++column) {
            std::size_t count = 0;
            terms(r, column, [&](std::size_t y, std::size_t x, std::size_t tap) {
              found[count++] = {of.slab + ((y - widened.begin) * source.width + x) * of.channels, of.turned + tap * of.channels};
            });
            sum_weighted(found, count, of.channels, of.sums + column * of.channels);
          }
          of.finish(result, then, row * width, width);
        }
      }
    }
  });
  return true;
}

template <narrow_element T>
bool depthwise_outputs(cpu::queue& queue, const convolution& how, matrix<T> output, const T* input, const T* weight,
                       const epilogue<T>& then) {
  const window_axis &y = how.over.y, &x = how.over.x;
  return depthwise_gather(
      queue, how, output, y.out, x.out, depthwise_images<T>{input, how.groups, y.in, x.in}, weight, then,
      [&](std::size_t row) { return rows_read(y, row); },
      [&](std::size_t p, std::size_t q, const auto& add) {
        for (std::size_t i = 0; i < y.kernel; ++i)
          for (std::size_t j = 0; j < x.kernel; ++j) {
            const std::size_t row = y.input(p, i), column = x.input(q, j);
            if (row < y.in && column < x.in) add(row, column, i * x.kernel + j);
          }
      });
}

template <narrow_element T>
bool depthwise_input_gradient(cpu::queue& queue, const convolution& how, matrix<T> input_gradient,
                              matrix<const T> output_gradient, const T* weight, const epilogue<T>& then) {
  const window_axis &y = how.over.y, &x = how.over.x;
  return depthwise_gather(
      queue, how, input_gradient, y.in, x.in, depthwise_images<T>{output_gradient.data, output_gradient.stride, y.out, x.out},
      weight, then, [&](std::size_t row) { return rows_reading(y, row); },
      [&](std::size_t row, std::size_t column, const auto& add) {
        for (std::size_t i = 0; i < y.kernel; ++i)
          for (std::size_t j = 0; j < x.kernel; ++j) {
            const std::size_t p = output_reading(y, row, i), q = output_reading(x, column, j);
            if (p < y.out && q < x.out) add(p, q, i * x.kernel + j);
          }
      });
}

// As the gradient of float's weights, from rows that are widened a tile at a time.
template <narrow_element T>
bool depthwise_weight_gradient(cpu::queue& queue, const convolution& how, std::size_t samples, accumulated<T>* weight_gradient,
                               matrix<const T> output_gradient, const T* input) {
  using wide = accumulated<T>;
  constexpr std::size_t most = 4 * element_block; // channels at a time
  const window_axis &y = how.over.y, &x = how.over.x;
  const std::size_t taps = how.over.taps(), channels = how.groups;
  const std::size_t terms_bytes = align_up(taps * most * sizeof(double) + x.out * sizeof(channel_term<wide>));
  const std::size_t gradients = x.out * most, of_row = x.in * most;
  std::size_t rows_of_one = 0;
  const auto read = [&](std::size_t row) { return rows_read(y, row); };
  for (std::size_t row = 0; row < y.out; ++row) rows_of_one = std::max(rows_of_one, read(row).end - read(row).begin);
  if (terms_bytes + (gradients + rows_of_one * of_row) * sizeof(wide) > cpu::queue::scratch_bytes) return false;
  const std::size_t room =
      std::min((cpu::queue::scratch_bytes - terms_bytes) / sizeof(wide) - gradients, widened_bytes / sizeof(wide));
  const depthwise_images<T> inputs{input, channels, y.in, x.in},
      outputs{output_gradient.data, output_gradient.stride, y.out, x.out};
  queue.parallel_for((channels + most - 1) / most, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part * most, count = std::min(most, channels - begin);
    auto* const totals = reinterpret_cast<double*>(scratch.data());
    auto* const found = reinterpret_cast<channel_term<wide>*>(totals + taps * most);
    auto* const gradient = reinterpret_cast<wide*>(scratch.data() + terms_bytes);
    wide* const slab = gradient + gradients;
    alignas(64) wide sums[most];
    std::fill_n(totals, taps * most, 0.0);
    for (std::size_t image = 0; image < samples; ++image)
      for (std::size_t top = 0, bottom = 0; top < y.out; top = bottom) {
        bottom = end_of_tile(top, y.out, of_row, room, read);
        const rows_of_image widened{read(top).begin, std::max(read(top).begin, read(bottom - 1).end)};
        inputs.widen(slab, image, widened, begin, count);
        for (std::size_t row = top; row < bottom; ++row) {
          outputs.widen(gradient, image, {row, row + 1}, begin, count);
          for (std::size_t tap = 0; tap < taps; ++tap) {
            const std::size_t from = y.input(row, tap / x.kernel);
            if (from >= y.in) continue;
            std::size_t terms = 0;
            for (std::size_t q = 0; q < x.out; ++q)
              if (const std::size_t column = x.input(q, tap % x.kernel); column < x.in)
                found[terms++] = {slab + ((from - widened.begin) * x.in + column) * count, gradient + q * count};
            sum_weighted(found, terms, count, sums);
            for (std::size_t c = 0; c < count; ++c) totals[tap * most + c] += static_cast<double>(sums[c]);
          }
        }
      }
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t tap = 0; tap < taps; ++tap)
        weight_gradient[(begin + c) * taps + tap] = static_cast<wide>(totals[tap * most + c]);
  });
  return true;
}

} // namespace cairn::detail

CAIRN_KERNELS_END
