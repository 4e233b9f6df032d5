// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/product.hpp>

namespace cairn::detail {

// Whether a step of the reduction takes two elements, as matmul.hpp says of bfloat16.
template <class T>
inline constexpr bool reduces_in_pairs = std::is_same_v<T, bfloat16>;

// A product of 16-bit elements. C is T, or the type of its sums.
template <class T, class C>
using narrow_product = product<T, C>;

// The epilogue of one element, in the type of its sum. The result is rounded by the caller.
template <class T, class C>
accumulated<T> narrow_result(const narrow_product<T, C>& whole, std::size_t i, std::size_t j, accumulated<T> v) {
  using wide = accumulated<T>;
  const epilogue<T>& then = whole.then;
  if (then.bias != nullptr) v += static_cast<wide>(then.bias[j]);
  v = activated(then.then, v);
  if (then.addend.data != nullptr) v += static_cast<wide>(then.addend(i, j));
  if (then.mask.data != nullptr && static_cast<wide>(then.mask(i, j)) <= wide{0}) v = wide{0};
  return then.adds ? static_cast<wide>(whole.c(i, j)) + v : v;
}

} // namespace cairn::detail
