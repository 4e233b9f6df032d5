// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/reference.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/matmul/matmul.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A convolution in which every channel is a group of its own (MobileNet's: Howard et al. 2017). It is no product of matrices, but
// a sum of rows of channels, each weighted element by element. An element is a sum over its taps in their order.

constexpr bool is_depthwise(const convolution& how) { return how.groups == how.in_channels && how.groups == how.out_channels; }

// Two rows of channels that are multiplied element by element.
template <class T>
struct channel_term {
  const T *x, *weight;
};

// sum[c] = the sum of x[c] weight[c] over the terms in their order.
template <class T>
struct weighted_sum {
  const channel_term<T>* terms;
  std::size_t count, channels;
  T* sum;

  static constexpr std::size_t width = 64 / sizeof(T);
  typedef T block __attribute__((vector_size(64)));

  // Copied, as rows may begin anywhere. (clang 14 forgets that a vector type is less aligned, if it depends on a parameter.)
  [[gnu::always_inline]] static void multiply_add(block& to, const T* x, const T* weight) {
    block a, b;
    __builtin_memcpy(&a, x, sizeof(block));
    __builtin_memcpy(&b, weight, sizeof(block));
    to += a * b;
  }
  [[gnu::always_inline]] inline void run() const {
    std::size_t c = 0;
    for (; c + 2 * width <= channels; c += 2 * width) {
      block first{}, second{};
      for (std::size_t t = 0; t < count; ++t) {
        multiply_add(first, terms[t].x + c, terms[t].weight + c);
        multiply_add(second, terms[t].x + c + width, terms[t].weight + c + width);
      }
      __builtin_memcpy(sum + c, &first, sizeof(block));
      __builtin_memcpy(sum + c + width, &second, sizeof(block));
    }
    for (; c < channels; ++c) {
      T own{};
      for (std::size_t t = 0; t < count; ++t) own += terms[t].x[c] * terms[t].weight[c];
      sum[c] = own;
    }
  }
};
// The same for more terms than a chain has: the chains are added up in double (see sums.hpp).
inline constexpr std::size_t weighted_chain = 128;
template <class T>
[[gnu::noinline]] void sum_weighted_chains(const channel_term<T>* terms, std::size_t count, std::size_t channels, T* sum) {
  constexpr std::size_t chain = weighted_chain, most = 64;
  channel_term<T> own[chain];
  for (std::size_t begin = 0; begin < channels; begin += most) {
    const std::size_t columns = std::min(most, channels - begin);
    double totals[most] = {};
    for (std::size_t from = 0; from < count; from += chain) {
      const std::size_t length = std::min(chain, count - from);
      for (std::size_t t = 0; t < length; ++t) own[t] = {terms[from + t].x + begin, terms[from + t].weight + begin};
      alignas(64) T sums[most];
      run_tile(weighted_sum<T>{own, length, columns, sums});
      for (std::size_t c = 0; c < columns; ++c) totals[c] += static_cast<double>(sums[c]);
    }
    for (std::size_t c = 0; c < columns; ++c) sum[begin + c] = static_cast<T>(totals[c]);
  }
}
template <class T>
void sum_weighted(const channel_term<T>* terms, std::size_t count, std::size_t channels, T* sum) {
  if (count <= weighted_chain) run_tile(weighted_sum<T>{terms, count, channels, sum});
  else sum_weighted_chains(terms, count, channels, sum);
}

// Matmul's epilogue for one sum, without branches: a step that is not wanted has a bound that no value is below.
template <class T>
struct finish_channels {
  T floor, limit;
  template <class E>
  explicit finish_channels(const epilogue<E>& then)
      : floor(then.then == activation::relu ? T{0} : -std::numeric_limits<T>::infinity()),
        limit(then.mask.data != nullptr ? T{0} : -std::numeric_limits<T>::infinity()) {}
  [[gnu::always_inline]] inline void operator()(T& value, T bias, T addend, T mask) const {
    const T v = value + bias;
    const T added = blend(v < floor, T{0}, v) + addend;
    value = blend(mask <= limit, T{0}, added);
  }
};

// The weights as (tap, channel).
template <class T>
void turn_weights(const convolution& how, const T* weight, T* turned) {
  const std::size_t taps = how.over.taps();
  for (std::size_t c = 0; c < how.groups; ++c)
    for (std::size_t tap = 0; tap < taps; ++tap) turned[tap * how.groups + c] = weight[c * taps + tap];
}

template <class T>
bool is_finished(const epilogue<T>& then) {
  return then.bias == nullptr && then.then == activation::none && then.addend.data == nullptr && then.mask.data == nullptr;
}
// `to` is row `row` of the result, and may be where the sums are, or the addend.
template <class T>
void finish_pixel(instruction_set set, std::size_t channels, T* to, const T* sum, const epilogue<T>& then, std::size_t row,
                  const T* zeros) {
  const auto row_of = [&](const matrix<const T>& m) { return m.data == nullptr ? zeros : m.data + row * m.stride; };
  run_elements(set, finish_channels<T>(then), channels, std::array{to},
               std::array<const T*, 4>{sum, then.bias == nullptr ? zeros : then.bias, row_of(then.addend), row_of(then.mask)});
}

// Forward and the input gradient: terms(pixel, add) calls add(source, tap) for each tap of a pixel of the result. Returns false,
// and does nothing, if the weights do not fit into the scratch.
template <class T, class Terms>
bool depthwise_gather(cpu::queue& queue, const convolution& how, matrix<T> result, const T* weight, const epilogue<T>& then,
                      const Terms& terms) {
  const std::size_t channels = how.groups, taps = how.over.taps(), weights = taps * channels;
  if (taps * sizeof(channel_term<T>) + (weights + 2 * channels) * sizeof(T) > cpu::queue::scratch_bytes) return false;
  const instruction_set set = widest_for_elements();
  const std::size_t parts = std::min(result.rows, result.rows * weights < element_part ? 1 : queue.threads());
  queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
    auto* const found = reinterpret_cast<channel_term<T>*>(scratch.data());
    T* const turned = reinterpret_cast<T*>(found + taps);
    T *const zeros = turned + weights, *const sums = zeros + channels;
    turn_weights(how, weight, turned);
    std::fill_n(zeros, channels, T{0});
    for (std::size_t row = part * result.rows / parts; row < (part + 1) * result.rows / parts; ++row) {
      std::size_t count = 0;
      terms(row, [&](const T* x, std::size_t tap) { found[count++] = {x, turned + tap * channels}; });
      T* const to = result.data + row * result.stride;
      sum_weighted(found, count, channels, is_finished(then) ? to : sums); // an addend may be the result
      if (!is_finished(then)) finish_pixel(set, channels, to, sums, then, row, zeros);
    }
  });
  return true;
}

template <class T>
bool depthwise_outputs(cpu::queue& queue, const convolution& how, matrix<T> output, const T* input, const T* weight,
                       const epilogue<T>& then) {
  const window_axis &y = how.over.y, &x = how.over.x;
  return depthwise_gather(queue, how, output, weight, then, [&](std::size_t pixel, const auto& add) {
    const T* const image = input + pixel / how.over.outputs() * how.over.inputs() * how.groups;
    for (std::size_t i = 0; i < y.kernel; ++i)
      for (std::size_t j = 0; j < x.kernel; ++j) {
        const std::size_t row = y.input(pixel / x.out % y.out, i), column = x.input(pixel % x.out, j);
        if (row < y.in && column < x.in) add(image + (row * x.in + column) * how.groups, i * x.kernel + j);
      }
  });
}

template <class T>
bool depthwise_input_gradient(cpu::queue& queue, const convolution& how, matrix<T> input_gradient,
                              matrix<const T> output_gradient, const T* weight, const epilogue<T>& then) {
  const window_axis &y = how.over.y, &x = how.over.x;
  return depthwise_gather(queue, how, input_gradient, weight, then, [&](std::size_t pixel, const auto& add) {
    const std::size_t first = pixel / how.over.inputs() * how.over.outputs();
    for (std::size_t i = 0; i < y.kernel; ++i)
      for (std::size_t j = 0; j < x.kernel; ++j) {
        const std::size_t p = output_reading(y, pixel / x.in % y.in, i), q = output_reading(x, pixel % x.in, j);
        if (p < y.out && q < x.out)
          add(output_gradient.data + (first + p * x.out + q) * output_gradient.stride, i * x.kernel + j);
      }
  });
}

// Threads have different channels, so that an element is summed in one order. A row of the output is summed in T, rows in double.
template <class T>
bool depthwise_weight_gradient(cpu::queue& queue, const convolution& how, std::size_t samples, T* weight_gradient,
                               matrix<const T> output_gradient, const T* input) {
  constexpr std::size_t most = 4 * element_block; // channels at a time
  const window_axis &y = how.over.y, &x = how.over.x;
  const std::size_t taps = how.over.taps(), channels = how.groups;
  if (taps * most * sizeof(double) + x.out * sizeof(channel_term<T>) > cpu::queue::scratch_bytes) return false;
  queue.parallel_for((channels + most - 1) / most, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part * most, count = std::min(most, channels - begin);
    auto* const totals = reinterpret_cast<double*>(scratch.data());
    auto* const found = reinterpret_cast<channel_term<T>*>(totals + taps * most);
    alignas(64) T sums[most];
    std::fill_n(totals, taps * most, 0.0);
    for (std::size_t row = 0; row < samples * y.out; ++row) {
      const T* const image = input + row / y.out * how.over.inputs() * channels + begin;
      const T* const gradient = output_gradient.data + row * x.out * output_gradient.stride + begin;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::size_t from = y.input(row % y.out, tap / x.kernel);
        if (from >= y.in) continue;
        std::size_t terms = 0;
        for (std::size_t q = 0; q < x.out; ++q)
          if (const std::size_t column = x.input(q, tap % x.kernel); column < x.in)
            found[terms++] = {image + (from * x.in + column) * channels, gradient + q * output_gradient.stride};
        sum_weighted(found, terms, count, sums);
        for (std::size_t c = 0; c < count; ++c) totals[tap * most + c] += static_cast<double>(sums[c]);
      }
    }
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t tap = 0; tap < taps; ++tap)
        weight_gradient[(begin + c) * taps + tap] = static_cast<T>(totals[tap * most + c]);
  });
  return true;
}

} // namespace cairn::detail

CAIRN_KERNELS_END
