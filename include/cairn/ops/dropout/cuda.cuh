// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn::detail {

// One block of random numbers makes four elements: the mask is the cpu's, bit for bit. A thread makes a quad at least.
template <class T>
struct drop_elements {
  static constexpr std::size_t own = quad_width<T> > 4 ? quad_width<T> : 4; // elements of a thread

  std::size_t count;
  bool aligned;
  T* result;
  const T* x;
  random_key key;
  std::uint64_t threshold;
  accumulated<T> scale;

  CAIRN_DEVICE void operator()(std::size_t index) const {
    using wide = accumulated<T>;
    wide factors[own];
    for (std::size_t k = 0; k < own; k += 4) {
      const philox_words words = philox(key, (index * own + k) / 4);
      for (std::size_t j = 0; j < 4; ++j) factors[k + j] = words.at[j] < threshold ? wide{0} : scale;
    }
    for (std::size_t k = 0; k < own; k += quad_width<T>) {
      const std::size_t first = index * own + k;
      wide_quad<T> v = load_wide(x, first, count, aligned);
      for (std::size_t j = 0; j < quad_width<T>; ++j) v.at[j] *= factors[k + j];
      store_wide(result, v, first, count, aligned);
    }
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void dropout(cuda::queue& queue, std::size_t count, T* result, const T* x, const types::random_key& key,
             const dropout_rate& rate) {
  using body = detail::drop_elements<T>;
  detail::launch_each(
      queue, "dropout", (count + body::own - 1) / body::own,
      body{count, detail::are_quads(result, x), result, x, key, rate.threshold, static_cast<accumulated<T>>(rate.scale)});
}

} // namespace cairn::ops
