// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>

#include <cairn/core/config.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/product.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A vector of 16 bytes, which g++ and clang++ offer on every machine: where it has no such registers they split the vector.
template <class T>
struct plain_vector {
  typedef T type __attribute__((vector_size(16)));
  static constexpr std::size_t width = 16 / sizeof(T);

  static type load(const T* p) {
    type x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  // x where all bits of the answer are set, zero where none are.
  template <class Answer>
  static type where(Answer answer, type x) {
    Answer bits;
    std::memcpy(&bits, &x, sizeof x);
    bits &= answer;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
};

// The epilogue for one register of neighbours in a row. It selects instead of branching: a ReLU's mask cannot be predicted.
template <class T>
void finish_vector(const product<T>& whole, std::size_t row, std::size_t column, const T* sums) {
  using vector = plain_vector<T>;
  const epilogue<T>& then = whole.then;
  const typename vector::type zero{};
  typename vector::type v = vector::load(sums);
  if (then.bias != nullptr) v += vector::load(then.bias + column);
  if (then.then == activation::relu) v = vector::where(~(v < zero), v); // NaN stays
  if (then.addend.data != nullptr) v += vector::load(&then.addend(row, column));
  if (then.mask.data != nullptr) v = vector::where(~(vector::load(&then.mask(row, column)) <= zero), v);
  std::memcpy(&whole.c(row, column), &v, sizeof v);
}

// Applies the epilogue to `columns` complete sums of one row and writes them to c: for kernels that have the sums in memory.
template <class T>
void finish_row(const product<T>& whole, std::size_t row, std::size_t column, std::size_t columns, const T* sums) {
  constexpr std::size_t width = plain_vector<T>::width;
  const epilogue<T>& then = whole.then;
  std::size_t j = 0;
  for (; j + width <= columns; j += width) finish_vector(whole, row, column + j, sums + j);
  for (; j < columns; ++j) {
    T v = sums[j];
    if (then.bias != nullptr) v += then.bias[column + j];
    v = activated(then.then, v);
    if (then.addend.data != nullptr) v += then.addend(row, column + j);
    if (then.mask.data != nullptr && then.mask(row, column + j) <= T{0}) v = T{0};
    whole.c(row, column + j) = v;
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
