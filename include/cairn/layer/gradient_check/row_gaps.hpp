// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/gradient_check/guarded_tensors.hpp>

// Outputs whose first tensor has a gap after each row of its last extent, as a layer that is `strided` writes them.
namespace cairn::detail {

inline tensor_list with_gap(tensor_list list, std::size_t gap) {
  if (gap > 0) list[0] = list[0].with_last(list[0].last() + gap);
  return list;
}

// The same values with gaps, which are not written.
template <class T>
guarded_tensors<T> spread(const guarded_tensors<T>& from, std::size_t rows, std::size_t gap) {
  if (gap == 0) return from;
  guarded_tensors<T> to(with_gap(from.list(), gap), rows);
  const std::size_t width = from.list()[0].last();
  for (std::size_t r = 0; r * width < from.size(0); ++r) std::copy_n(from[0] + r * width, width, to[0] + r * (width + gap));
  for (std::size_t k = 1; k < from.list().count; ++k) to.assign(k, from.values(k));
  return to;
}

// The same values without gaps.
template <class T>
guarded_tensors<T> gathered(const guarded_tensors<T>& from, const tensor_list& list, std::size_t rows, std::size_t gap) {
  if (gap == 0) return from;
  guarded_tensors<T> to(list, rows);
  const std::size_t width = list[0].last();
  for (std::size_t r = 0; r * width < to.size(0); ++r) std::copy_n(from[0] + r * (width + gap), width, to[0] + r * width);
  for (std::size_t k = 1; k < list.count; ++k) to.assign(k, from.values(k));
  return to;
}

// Whether every element in a gap is still unwritten.
template <class T>
bool gaps_unwritten(const guarded_tensors<T>& tensors, std::size_t gap) {
  const std::size_t stride = tensors.list()[0].last();
  for (std::size_t i = 0; gap > 0 && i < tensors.size(0); ++i)
    if (i % stride >= stride - gap && !is_unwritten(tensors[0][i])) return false;
  return true;
}

} // namespace cairn::detail
