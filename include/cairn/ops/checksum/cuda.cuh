// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/checksum/checksum.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

// An element's bits and place, mixed as in splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators.
// OOPSLA 2014). Their sum modulo 2^64 does not depend on the order.
template <class T>
struct mixed_bits {
  using word = unsigned long long;
  const T* x;
  CAIRN_DEVICE word operator()(std::size_t i) const {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    word z = static_cast<word>(__builtin_bit_cast(bits, x[i])) + (i + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
};
template <class T>
struct checksum_of_part {
  mixed_bits<T> term;
  cut how;
  unsigned long long* sums;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t part) const {
    const std::size_t begin = how.begin(part);
    const auto sum = team.sum(how.size(part), [&](std::size_t i) { return term(begin + i); });
    team.once([&] { sums[part] = sum; });
  }
};
template <class T>
struct checksum_of_all {
  T* four;
  std::size_t parts;
  const unsigned long long* sums;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t) const {
    const auto sum = team.sum(parts, [&](std::size_t part) { return sums[part]; });
    team.once([&] { write_as_numbers(four, sum); });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <std::floating_point T>
void checksum(cuda::queue& queue, T* four, const T* x, std::size_t count) {
  const detail::cut how(count, 4096, 1024);
  auto* const sums = reinterpret_cast<unsigned long long*>(queue.partial("checksum").data());
  detail::launch_teams<256>(queue, "checksum", how.parts, detail::checksum_of_part<T>{{x}, how, sums});
  detail::launch_teams<256>(queue, "checksum", 1, detail::checksum_of_all<T>{four, how.parts, sums});
}

} // namespace cairn::ops
