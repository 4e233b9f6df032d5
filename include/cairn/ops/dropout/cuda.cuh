// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn {

namespace detail {

// One block of random numbers makes four elements: the mask is the cpu's, bit for bit.
template <class T>
struct drop_four {
  std::size_t count;
  T* result;
  const T* x;
  random_key key;
  dropout_rate rate;

  CAIRN_DEVICE void operator()(std::size_t four) const {
    const philox_words words = philox(key, four);
    const T scale = static_cast<T>(rate.scale);
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t i = 4 * four + j;
      if (i < count) result[i] = x[i] * (words.at[j] < rate.threshold ? T{0} : scale);
    }
  }
};

} // namespace detail

template <std::floating_point T>
void dropout(cuda::queue& queue, std::size_t count, T* result, const T* x, const random_key& key, const dropout_rate& rate) {
  detail::launch_each(queue, "dropout", (count + 3) / 4, detail::drop_four<T>{count, result, x, key, rate});
}

} // namespace cairn
