// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The vector extensions of g++ and clang: + and > work on all elements. <immintrin.h> offers the same instructions, but costs
// every user of the library a quarter of a second. `loose` is a vector at any address in memory that 16-bit elements have.
template <class T, std::size_t Bytes>
struct simd {
  using integer = std::conditional_t<sizeof(T) == 4, int, long long>;
  typedef T vector __attribute__((vector_size(Bytes)));
  typedef T loose __attribute__((vector_size(Bytes), aligned(2), may_alias));
  typedef integer integers __attribute__((vector_size(Bytes)));
  static constexpr std::size_t width = Bytes / sizeof(T);
};

} // namespace cairn::detail

CAIRN_KERNELS_END
