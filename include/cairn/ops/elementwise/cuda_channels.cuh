// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>

namespace cairn::detail {

// f(value, other operands..., the channel's values...) for each element of (rows, channels). The values of channels have the type
// of sums. A thread computes the channels of
// one quad in several rows, and reads the values of these channels once.
template <class F, class T, std::size_t Operands, std::size_t Channels>
struct each_of_channels {
  F f;
  std::size_t rows, channels;
  divisor quads;       // in a row
  std::size_t threads; // per quad
  bool aligned;
  T* to;
  const T* from[Operands];
  const accumulated<T>* of[Channels];

  CAIRN_DEVICE void operator()(std::size_t index) const {
    run(index, std::make_index_sequence<Operands>{}, std::make_index_sequence<Channels>{});
  }

private:
  template <std::size_t... I, std::size_t... K>
  CAIRN_DEVICE void run(std::size_t index, std::index_sequence<I...>, std::index_sequence<K...>) const {
    const std::size_t thread = quads.of(index), first = quads.rest(index, thread) * quad_width<T>;
    const wide_quad<T> channel[Channels] = {load_sums<T>(of[K], first, channels, aligned)...};
    for (std::size_t row = thread; row < rows; row += threads) {
      wide_quad<T> v[Operands] = {load_wide(from[I] + row * channels, first, channels, aligned)...};
      for (std::size_t j = 0; j < quad_width<T>; ++j) f(v[I].at[j]..., channel[K].at[j]...);
      store_wide(to + row * channels, v[0], first, channels, aligned);
    }
  }
};

// The most rows per thread. There are fewer where a GPU would not be full.
inline constexpr std::size_t rows_of_thread = 8, threads_of_gpu = std::size_t{1} << 17;

template <class F, class T, std::size_t Operands, std::size_t Channels>
void for_each_of_channels(cuda::queue& queue, const char* op, std::size_t rows, std::size_t channels, const F& f, T* to,
                          const std::array<const T*, Operands>& from, const std::array<const accumulated<T>*, Channels>& of) {
  const std::size_t quads = quads_for<T>(channels);
  const std::size_t turns = std::clamp<std::size_t>(rows * quads / threads_of_gpu, 1, rows_of_thread);
  const std::size_t threads = (rows + turns - 1) / turns;
  each_of_channels<F, T, Operands, Channels> body{f, rows, channels, quads, threads, rows_are_quads<T>(channels, to), to, {}, {}};
  for (std::size_t i = 0; i < Operands; ++i) body.from[i] = from[i], body.aligned = body.aligned && are_quads(from[i]);
  for (std::size_t i = 0; i < Channels; ++i) body.of[i] = of[i], body.aligned = body.aligned && are_quads(of[i]);
  launch_each(queue, op, threads * quads, body);
}

} // namespace cairn::detail
