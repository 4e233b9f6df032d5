// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/positions/cuda_sines.cuh>
#include <cairn/ops/positions/positions.hpp>

namespace cairn::detail {

// One quad of a sample per thread.
template <class T>
struct add_table {
  std::size_t count;
  divisor quads; // of a sample
  bool aligned;
  T* output;
  const T *input, *table;

  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t sample = quads.of(at), first = quads.rest(at, sample) * quad_width<T>;
    wide_quad<T> v = load_wide(input + sample * count, first, count, aligned);
    const wide_quad<T> by = load_wide(table, first, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j) v.at[j] += by.at[j];
    store_wide(output + sample * count, v, first, count, aligned);
  }
};

// One element of the table per thread. Samples are added in the type of sums by sixteens, and these in double.
template <class T>
struct sum_of_positions {
  using wide = accumulated<T>;

  std::size_t samples, count;
  wide* gradient;
  const T* output_gradient;

  CAIRN_DEVICE void operator()(std::size_t at) const {
    double sum = 0;
    for (std::size_t from = 0; at < count && from < samples; from += rows_of_chain) {
      const std::size_t end = from + rows_of_chain < samples ? from + rows_of_chain : samples;
      wide some = 0;
      for (std::size_t s = from; s < end; ++s) some += widened(output_gradient[s * count + at]);
      sum += static_cast<double>(some);
    }
    gradient[at] = static_cast<wide>(sum);
  }
};

// A sine and a cosine of one position per thread, for several samples.
template <class T>
struct add_two_sines {
  position_frequencies frequencies;
  divisor pairs, length; // the pairs of a row
  std::size_t samples, each, width;
  T* output;
  const T* input;

  CAIRN_DEVICE void operator()(std::size_t index) const {
    const std::size_t row = pairs.of(index), i = pairs.rest(index, row), group = length.of(row), t = length.rest(row, group);
    const sines_of_position of = sines_of(static_cast<double>(t) * frequencies.of(i));
    const auto sine = static_cast<accumulated<T>>(of.sine), cosine = static_cast<accumulated<T>>(of.cosine);
    const std::size_t end = (group + 1) * each < samples ? (group + 1) * each : samples;
    for (std::size_t s = group * each; s < end; ++s) {
      const std::size_t at = (s * length.by() + t) * width + 2 * i;
      output[at] = static_cast<T>(widened(input[at]) + sine);
      if (2 * i + 1 < width) output[at + 1] = static_cast<T>(widened(input[at + 1]) + cosine);
    }
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void add_positions(cuda::queue& queue, std::size_t samples, std::size_t count, T* output, const std::type_identity_t<T>* input,
                   const std::type_identity_t<T>* table) {
  const std::size_t quads = detail::quads_for<T>(count);
  const bool aligned = detail::rows_are_quads<T>(count, output, input, table);
  detail::launch_each(queue, "add_positions", samples * quads, detail::add_table<T>{count, quads, aligned, output, input, table});
}

template <detail::floating_element T>
void positions_gradient(cuda::queue& queue, std::size_t samples, std::size_t count, std::size_t whole, accumulated<T>* gradient,
                        const T* output_gradient) {
  detail::launch_each(queue, "positions_gradient", whole, detail::sum_of_positions<T>{samples, count, gradient, output_gradient});
}

template <detail::floating_element T>
void add_sinusoids(cuda::queue& queue, std::size_t samples, std::size_t length, std::size_t width, T* output,
                   const std::type_identity_t<T>* input) {
  const std::size_t pairs = (width + 1) / 2, each = detail::samples_of_sines(samples, length * pairs);
  const detail::add_two_sines<T> body{{10000, width}, pairs, length, samples, each, width, output, input};
  detail::launch_each(queue, "add_sinusoids", (samples + each - 1) / each * length * pairs, body);
}

} // namespace cairn::ops
