// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/matmul/checked_product.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::detail {

// Whether a step of the reduction takes two elements, as matmul.hpp says of bfloat16.
template <class T>
inline constexpr bool reduces_in_pairs = std::is_same_v<T, bfloat16>;

// A product of 16-bit elements whose transposes have become strides, as in product.hpp. C is T, or the type of its sums.
template <class T, class C>
struct narrow_product {
  product_size size{};
  transpose form = transpose::none;
  const T* a = nullptr;
  std::size_t a_row = 0, a_step = 0;
  const T* b = nullptr;
  std::size_t b_step = 0, b_column = 0;
  matrix<C> c{};
  epilogue<T> then{};

  narrow_product(matrix<C> c_, matrix<const T> a_, matrix<const T> b_, transpose form_, const epilogue<T>& then_)
      : size(checked_product(c_, a_, b_, form_, then_)), form(form_), a(a_.data), a_row(a_.stride), a_step(1), b(b_.data),
        b_step(b_.stride), b_column(1), c(c_), then(then_) {
    if (form == transpose::first) a_row = 1, a_step = a_.stride;
    if (form == transpose::second) b_step = 1, b_column = b_.stride;
    if (size.k == 0) a_row = a_step = b_step = b_column = 0; // nothing is read
  }
};

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
