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
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/copy/cuda.cuh>
#include <cairn/ops/positions/cuda_sines.cuh>
#include <cairn/ops/rotation/rotation.hpp>

namespace cairn::detail {

// Pair i at one position per thread, of all heads and for several samples.
template <class T>
struct rotate_pairs {
  rotation how;
  position_frequencies frequencies;
  divisor pairs, length; // the pairs of a head
  std::size_t samples, each;
  bool back;
  T* rows;

  CAIRN_DEVICE void operator()(std::size_t index) const {
    const std::size_t row = pairs.of(index), i = pairs.rest(index, row), group = length.of(row), t = length.rest(row, group);
    const sines_of_position of = sines_of(static_cast<double>(t) * frequencies.of(i));
    const auto cosine = static_cast<accumulated<T>>(of.cosine), sine = static_cast<accumulated<T>>(back ? -of.sine : of.sine);
    const std::size_t end = (group + 1) * each < samples ? (group + 1) * each : samples;
    for (std::size_t s = group * each; s < end; ++s)
      for (std::size_t head = 0; head < how.heads; ++head) {
        T* const first = rows + (s * how.length + t) * how.columns + head * how.width + i;
        T* const second = first + pairs.by();
        const accumulated<T> a = widened(*first), b = widened(*second);
        *first = static_cast<T>(a * cosine - b * sine);
        *second = static_cast<T>(b * cosine + a * sine);
      }
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void rotate(cuda::queue& queue, const rotation& how, bool back, std::size_t samples, T* output,
            const std::type_identity_t<T>* input) {
  copy(queue, samples * how.length * how.columns, output, input);
  const std::size_t pairs = how.turned / 2, each = detail::samples_of_sines(samples, how.length * pairs);
  const detail::rotate_pairs<T> body{how, {how.base, how.turned}, pairs, how.length, samples, each, back, output};
  detail::launch_each(queue, "rotate", (samples + each - 1) / each * how.length * pairs, body);
}

} // namespace cairn::ops
