// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn::detail {

// One block of random numbers makes four elements: the mask is the cpu's, bit for bit.
template <class T>
struct drop_four {
  std::size_t count;
  bool aligned;
  T* result;
  const T* x;
  random_key key;
  std::uint64_t threshold;
  T scale;

  CAIRN_DEVICE void operator()(std::size_t four) const {
    const philox_words words = philox(key, four);
    for (std::size_t k = 0; k < 4; k += quad_width<T>) {
      const std::size_t first = 4 * four + k;
      quad<T> v = load_quad(x, first, count, aligned);
      for (std::size_t j = 0; j < quad_width<T>; ++j) v.at[j] *= words.at[k + j] < threshold ? T{0} : scale;
      store_quad(result, v, first, count, aligned);
    }
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <std::floating_point T>
void dropout(cuda::queue& queue, std::size_t count, T* result, const T* x, const types::random_key& key,
             const dropout_rate& rate) {
  detail::launch_each(
      queue, "dropout", (count + 3) / 4,
      detail::drop_four<T>{count, detail::are_quads(result, x), result, x, key, rate.threshold, static_cast<T>(rate.scale)});
}

} // namespace cairn::ops
