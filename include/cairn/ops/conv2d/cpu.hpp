// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/depthwise.hpp>
#include <cairn/ops/conv2d/gather.hpp>
#include <cairn/ops/conv2d/reference.hpp>
#include <cairn/ops/conv2d/weight_sums.hpp>
#include <cairn/ops/conv2d/widened_depthwise.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/multiply_by_packed.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/ops/matmul/sixteen_bits.hpp>
#if CAIRN_WITH_ONEDNN
#include <cairn/ops/conv2d/onednn.hpp>
#include <cairn/ops/conv2d/passes_by_onednn.hpp>
#endif

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Computes the tiles [begin, end) of a gathering, with the kernels of one instruction set.
template <class T, class C>
void gather_for(instruction_set isa, const gathering<T, C>& all, const gather_tiles& tiles, std::size_t begin, std::size_t end,
                std::span<std::byte> scratch) {
#if CAIRN_X86
  if (isa == instruction_set::avx512) return gatherer<avx512_kernels<accumulated<T>>, T, C>(all, tiles, scratch).run(begin, end);
  if (isa == instruction_set::avx2) return gatherer<avx2_kernels<accumulated<T>>, T, C>(all, tiles, scratch).run(begin, end);
#else
  static_cast<void>(isa);
#endif
  gatherer<plain_kernels<accumulated<T>>, T, C>(all, tiles, scratch).run(begin, end);
}
template <class T>
void sum_weights_for(instruction_set isa, const weight_sums<T>& all, std::size_t begin, std::size_t end,
                     std::span<std::byte> scratch) {
#if CAIRN_X86
  if (isa == instruction_set::avx512) return sum_weights<avx512_kernels<accumulated<T>>>(all, begin, end, scratch);
  if (isa == instruction_set::avx2) return sum_weights<avx2_kernels<accumulated<T>>>(all, begin, end, scratch);
#else
  static_cast<void>(isa);
#endif
  sum_weights<plain_kernels<accumulated<T>>>(all, begin, end, scratch);
}

// Calls f(begin, end, scratch) for one stretch of [0, count) per thread: what a thread packs serves its whole stretch.
template <class F>
void for_each_stretch(cpu::queue& queue, std::size_t count, std::size_t operations, F&& f) {
  const std::size_t threads = operations < operations_worth_threads ? 1 : queue.threads();
  const std::size_t parts = std::min(threads, count);
  queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
    f(part * count / parts, (part + 1) * count / parts, scratch);
  });
}

// The tiles of a gathering. There are none if the pixels that one result is computed from do not fit into the scratch.
template <class T, class C>
gather_tiles tiles_of(const gathering<T, C>& all, std::size_t most_images) {
  using wide = accumulated<T>;
  constexpr std::size_t widest = 192 / sizeof(wide); // no kernel has wider slivers
  return {all.y, all.x, all.source.channels, gather_room<wide>::slab, gather_room<wide>::carry / widest, most_images};
}
// Returns false, and does nothing, if there are results but no tiles.
template <class T>
bool gather(cpu::queue& queue, instruction_set isa, const gathering<T>& all) {
  const gather_tiles tiles =
      tiles_of(all, (all.samples + queue.threads() - 1) / queue.threads()); // so that there is one for every thread
  if (tiles.columns == 0) return all.is_empty();
  const std::size_t operations = 2 * all.samples * all.y.count * all.x.count * all.groups * all.columns * all.source.channels *
                                 reach(all.y).taps * reach(all.x).taps;
  for_each_stretch(queue, tiles.count(all.samples), operations,
                   [&](std::size_t begin, std::size_t end, std::span<std::byte> scratch) {
                     gather_for(isa, all, tiles, begin, end, scratch);
                   });
  return true;
}

// The part that forward and the input gradient have in common.
template <class T, class C = T>
gathering<T, C> gathering_of(const convolution& how, std::size_t samples, const T* weight, const epilogue<T>& then) {
  gathering<T, C> all;
  all.weight = weight;
  all.weight_group = how.group_out() * how.depth();
  all.weight_tap = how.group_in();
  all.then = then;
  all.samples = samples;
  all.groups = how.groups;
  return all;
}
template <class T>
gathering<T> gathering_of_outputs(const convolution& how, std::size_t samples, matrix<T> output, const T* input, const T* weight,
                                  const epilogue<T>& then) {
  gathering<T> all = gathering_of(how, samples, weight, then);
  all.y = axis_walk::of_outputs(how.over.y);
  all.x = axis_walk::of_outputs(how.over.x);
  all.source = {input, how.in_channels, how.group_in(), how.over.y.in, how.over.x.in, {}};
  all.source_group = how.group_in();
  all.weight_depth = 1;
  all.weight_column = how.depth();
  all.result = output;
  all.result_group = how.group_out();
  all.result_height = how.over.y.out;
  all.result_width = how.over.x.out;
  all.columns = how.group_out();
  return all;
}
template <class T>
bool gather_outputs(cpu::queue& queue, instruction_set isa, const convolution& how, std::size_t samples, matrix<T> output,
                    const T* input, const T* weight, const epilogue<T>& then, const void* packed = nullptr) {
  gathering<T> all = gathering_of_outputs(how, samples, output, input, weight, then);
  all.packed = static_cast<const accumulated<T>*>(packed);
  return gather(queue, isa, all);
}
// One phase: the inputs whose distance from (row, column) is a multiple of the stride.
template <class T, class C = T>
gathering<T, C> gathering_of_inputs(const convolution& how, std::size_t samples, matrix<C> input_gradient,
                                    matrix<const T> output_gradient, const T* weight, const epilogue<T>& then, std::size_t row,
                                    std::size_t column) {
  gathering<T, C> all = gathering_of<T, C>(how, samples, weight, then);
  all.y = axis_walk::of_inputs(how.over.y, row);
  all.x = axis_walk::of_inputs(how.over.x, column);
  all.source = {output_gradient.data, output_gradient.stride, how.group_out(), how.over.y.out, how.over.x.out, {}};
  all.source_group = how.group_out();
  all.weight_depth = how.depth();
  all.weight_column = 1;
  all.result = input_gradient;
  all.result_group = how.group_in();
  all.result_height = how.over.y.in;
  all.result_width = how.over.x.in;
  all.columns = how.group_in();
  return all;
}
template <class T>
bool gather_input_gradient(cpu::queue& queue, instruction_set isa, const convolution& how, std::size_t samples,
                           matrix<T> input_gradient, matrix<const T> output_gradient, const T* weight, const epilogue<T>& then) {
  bool fits = true;
  for (std::size_t row = 0; row < how.over.y.stride; ++row)
    for (std::size_t column = 0; column < how.over.x.stride; ++column)
      fits = fits &&
             gather(queue, isa, gathering_of_inputs(how, samples, input_gradient, output_gradient, weight, then, row, column));
  return fits;
}
// Returns false, and does nothing, if the pixels for one result do not fit into the scratch or if there are no samples.
template <class T>
bool sum_weights_on(cpu::queue& queue, instruction_set isa, const convolution& how, std::size_t samples,
                    accumulated<T>* weight_gradient, matrix<const T> output_gradient, const T* input,
                    const channel_scales<accumulated<T>>& scales = {}) {
  const std::size_t operations = 2 * samples * how.over.outputs() * how.out_channels * how.depth();
  weight_sums<T> all(how, samples, output_gradient, input, weight_gradient, queue.threads());
  all.scales = scales;
  if (!all.fit() || samples == 0) return false;
  for_each_stretch(queue, all.pieces(), operations, [&](std::size_t begin, std::size_t end, std::span<std::byte> scratch) {
    sum_weights_for(isa, all, begin, end, scratch);
    mend_weights(all, begin, end);
  });
  return true;
}

// The epilogue of one element that is computed by itself.
template <class T, class Sum>
T finished(const epilogue<T>& then, Sum sum, std::size_t row, std::size_t column) {
  if (then.bias != nullptr) sum += static_cast<Sum>(then.bias[column]);
  sum = activated(then.then, sum);
  if (then.addend.data != nullptr) sum += static_cast<Sum>(then.addend(row, column));
  if (then.mask.data != nullptr && static_cast<Sum>(then.mask(row, column)) <= Sum{0}) sum = Sum{0};
  return static_cast<T>(sum);
}

// The three passes one element after another, for any elements and any convolution.
template <class T>
void conv2d_forward_plain(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> output, const T* input,
                          const T* weight, const epilogue<T>& then) {
  for_each_row(queue, samples * how.over.outputs(), how.out_channels * how.depth(), [&](std::size_t pixel) {
    for (std::size_t o = 0; o < how.out_channels; ++o)
      output(pixel, o) = finished(then, static_cast<accumulated<T>>(conv2d_output(how, input, weight, pixel, o)), pixel, o);
  });
}
template <class T>
void conv2d_input_gradient_plain(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> input_gradient,
                                 matrix<const T> output_gradient, const T* weight, const epilogue<T>& then) {
  for_each_row(queue, samples * how.over.inputs(), how.in_channels * how.depth(), [&](std::size_t pixel) {
    for (std::size_t c = 0; c < how.in_channels; ++c)
      input_gradient(pixel, c) =
          finished(then, static_cast<accumulated<T>>(conv2d_input_derivative(how, output_gradient, weight, pixel, c)), pixel, c);
  });
}
template <class T>
void conv2d_weight_gradient_plain(cpu::queue& queue, const convolution& how, std::size_t samples, accumulated<T>* weight_gradient,
                                  matrix<const T> output_gradient, const T* input) {
  const std::size_t in = how.group_in(), pixels = samples * how.over.outputs();
  for_each_row(queue, how.out_channels * how.over.taps(), in * pixels, [&](std::size_t row) {
    for (std::size_t c = 0; c < in; ++c)
      weight_gradient[row * in + c] = static_cast<accumulated<T>>(
          conv2d_weight_derivative(how, samples, output_gradient, input, row / how.over.taps(), row % how.over.taps(), c));
  });
}

// Computes a bias gradient: the sum of each column of `of`, as row sums of a product whose second operand has no columns.
template <class T>
void sum_pixels(cpu::queue& queue, accumulated<T>* sums, matrix<const T> of) {
  epilogue<T> then{};
  then.row_sums = sums;
  matmul(queue, matrix<accumulated<T>>{sums, of.columns, 0}, of, matrix<const T>{of.data, of.rows, 0}, transpose::first, then);
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void conv2d_forward(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight,
                    const std::type_identity_t<epilogue<T>>& then) {
#if CAIRN_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    if (detail::forward_by_onednn(queue, how, samples, output, input, weight, then)) return;
#endif
  if (how.is_product())
    return matmul(queue, output, {input, output.rows, how.in_channels}, {weight, how.out_channels, how.in_channels},
                  transpose::second, then); // (pixels, out) = (pixels, in) x (out, in)^T
  if (detail::is_depthwise(how) && detail::depthwise_outputs(queue, how, output, input, weight, then)) return;
  if (!detail::gather_outputs(queue, detail::widest_instruction_set(), how, samples, output, input, weight, then))
    detail::conv2d_forward_plain(queue, how, samples, output, input, weight, then);
}

// With a weight that its owner has packed: the same bits.
template <std::floating_point T>
void conv2d_forward(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> output,
                    const std::type_identity_t<T>* input, const std::type_identity_t<T>* weight, packed_weight<T> packed,
                    const std::type_identity_t<epilogue<T>>& then) {
  const detail::instruction_set isa = detail::widest_instruction_set();
  const bool is_read = packed.replaces(weight) && packed.format == weight_format::own && how.groups == 1 &&
                       !detail::is_depthwise(how) && detail::reads_packed_weights(isa);
  if (is_read) {
#if CAIRN_WITH_ONEDNN
    if constexpr (std::is_same_v<T, float>)
      if (detail::forward_by_onednn(queue, how, samples, output, input, weight, then)) return;
#endif
    if (how.is_product())
      return matmul(queue, output, {input, output.rows, how.in_channels}, {weight, how.out_channels, how.in_channels}, packed,
                    then);
    if (detail::gather_outputs(queue, isa, how, samples, output, input, weight, then, packed.data)) return;
  }
  conv2d_forward(queue, how, samples, output, input, weight, then);
}

template <class T>
void conv2d_input_gradient(cpu::queue& queue, const convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<matrix<const T>> output_gradient, const std::type_identity_t<T>* weight,
                           const std::type_identity_t<epilogue<T>>& then) {
  const matrix<T> result{input_gradient, samples * how.over.inputs(), how.in_channels};
#if CAIRN_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    if (detail::input_gradient_by_onednn(queue, how, samples, result, output_gradient, weight, then)) return;
#endif
  if (how.is_product())
    return matmul(queue, result, output_gradient, {weight, how.out_channels, how.in_channels}, transpose::none,
                  then); // (pixels, in) = (pixels, out) x (out, in)
  if (detail::is_depthwise(how) && detail::depthwise_input_gradient(queue, how, result, output_gradient, weight, then)) return;
  if (!detail::gather_input_gradient(queue, detail::widest_instruction_set(), how, samples, result, output_gradient, weight,
                                     then))
    detail::conv2d_input_gradient_plain(queue, how, samples, result, output_gradient, weight, then);
}

template <class T>
void conv2d_weight_gradient(cpu::queue& queue, const convolution& how, std::size_t samples,
                            std::type_identity_t<accumulated<T>>* weight_gradient,
                            std::type_identity_t<accumulated<T>>* bias_gradient, matrix<const T> output_gradient,
                            const std::type_identity_t<T>* input) {
#if CAIRN_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    if (detail::weight_gradient_by_onednn(queue, how, samples, weight_gradient, output_gradient, input)) {
      if (bias_gradient != nullptr) detail::sum_pixels(queue, bias_gradient, output_gradient);
      return;
    }
#endif
  if (how.is_product()) {
    epilogue<T> then{};
    then.row_sums = bias_gradient;
    return matmul(queue, matrix<accumulated<T>>{weight_gradient, how.out_channels, how.in_channels}, output_gradient,
                  matrix<const T>{input, output_gradient.rows, how.in_channels}, transpose::first,
                  then); // (out, in) = (pixels, out)^T x (pixels, in)
  }
  if (bias_gradient != nullptr) detail::sum_pixels(queue, bias_gradient, output_gradient);
  if (detail::is_depthwise(how) &&
      detail::depthwise_weight_gradient(queue, how, samples, weight_gradient, output_gradient, input))
    return;
  if (!detail::sum_weights_on(queue, detail::widest_instruction_set(), how, samples, weight_gradient, output_gradient, input))
    detail::conv2d_weight_gradient_plain(queue, how, samples, weight_gradient, output_gradient, input);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
