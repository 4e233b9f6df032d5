// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::detail {

// The epilogue of one element of a product, in the order of `epilogue`, where the product's own call does not apply it.
template <class T>
CAIRN_DEVICE T finished(const epilogue<T>& then, std::size_t row, std::size_t column, accumulated<T> value) {
  if (then.bias != nullptr) value += widened(then.bias[column]);
  value = activated(then.then, value);
  if (then.addend.data != nullptr) value += widened(then.addend(row, column));
  if (then.mask.data != nullptr && widened(then.mask(row, column)) <= 0) value = 0;
  return static_cast<T>(value);
}

// The same for the elements of a quad, or as many as a quad of sums has, without the rounding: those of a row
// from column `first` on; elements from column `end` on are left out. `aligned` describes the rows of every operand that is not
// null.
template <class T, class Quad>
CAIRN_DEVICE void finish_quad(const epilogue<T>& then, std::size_t row, std::size_t first, std::size_t end, bool aligned,
                              Quad& v) {
  constexpr std::size_t width = sizeof(Quad) / sizeof(accumulated<T>);
  const auto load = [&](const T* from) {
    if constexpr (width == quad_width<T>) return load_wide(from, first, end, aligned);
    else return load_part(from, first, end, aligned);
  };
  if (then.bias != nullptr) {
    const auto w = load(then.bias);
    for (std::size_t j = 0; j < width; ++j) v.at[j] += w.at[j];
  }
  for (std::size_t j = 0; j < width; ++j) v.at[j] = activated(then.then, v.at[j]);
  if (then.addend.data != nullptr) {
    const auto w = load(then.addend.data + row * then.addend.stride);
    for (std::size_t j = 0; j < width; ++j) v.at[j] += w.at[j];
  }
  if (then.mask.data != nullptr) {
    const auto w = load(then.mask.data + row * then.mask.stride);
    for (std::size_t j = 0; j < width; ++j)
      if (w.at[j] <= 0) v.at[j] = 0;
  }
}

// Whether every row of c, and of every operand of its epilogue, begins at a multiple of 16 bytes.
template <class T>
bool quads_finish(const matrix<T>& c, const epilogue<T>& then) {
  const auto stride_of = [](const matrix<const T>& m) { return m.data == nullptr ? 0 : m.stride; };
  return are_quads(c.data, then.bias, then.addend.data, then.mask.data) &&
         (c.stride | stride_of(then.addend) | stride_of(then.mask)) % quad_width<T> == 0;
}
template <class T>
struct finish_product {
  matrix<T> c;
  epilogue<T> then;
  bool is_zero;  // k is 0: the product is zero, and nothing has been written yet
  divisor quads; // in a row
  bool aligned;  // every row of every operand that is not null

  finish_product(matrix<T> of, const epilogue<T>& what, bool zero)
      : c(of), then(what), is_zero(zero), quads(quads_for<T>(of.columns)), aligned(quads_finish(of, what)) {}

  CAIRN_DEVICE void operator()(std::size_t index) const {
    const std::size_t row = quads.of(index), first = quads.rest(index, row) * quad_width<T>;
    wide_quad<T> v{};
    if (!is_zero) v = load_wide(c.data + row * c.stride, first, c.columns, aligned);
    finish_quad(then, row, first, c.columns, aligned, v);
    store_wide(c.data + row * c.stride, v, first, c.columns, aligned);
  }
};

// The sums of op(a)'s rows. For a transposed a they are the sums of a's columns.
template <class T>
struct sum_transposed_rows {
  matrix<const T> a;
  accumulated<T>* sums;
  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& sum, double&) const {
    accumulated<T> some = 0;
    for (; row < end; ++row) some += widened(a(row, column));
    sum += static_cast<double>(some);
  }
  CAIRN_DEVICE void finish(std::size_t column, double sum, double) const { sums[column] = static_cast<accumulated<T>>(sum); }
};
template <class T>
struct sum_of_row {
  matrix<const T> a;
  accumulated<T>* sums;
  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    const double sum = team.sum(a.columns, [&](std::size_t column) { return static_cast<double>(widened(a(row, column))); });
    team.once([&] { sums[row] = static_cast<accumulated<T>>(sum); });
  }
};

template <class T>
bool does_nothing(const epilogue<T>& then) {
  return then.bias == nullptr && then.then == activation::none && then.addend.data == nullptr && then.mask.data == nullptr;
}

template <class T>
void sum_rows(cuda::queue& queue, const char* op, matrix<const T> a, transpose form, const epilogue<T>& then) {
  if (then.row_sums == nullptr) return;
  if (form == transpose::first) sum_columns_then(queue, op, a.rows, a.columns, sum_transposed_rows<T>{a, then.row_sums});
  else launch_teams_for(a.columns, queue, op, a.rows, sum_of_row<T>{a, then.row_sums});
}

// Applies all of `then` to the product in c by kernels.
template <class T>
void finish_with_kernels(cuda::queue& queue, const char* op, matrix<T> c, matrix<const T> a, transpose form,
                         const epilogue<T>& then, bool is_zero = false) {
  if (is_zero || !does_nothing(then))
    launch_each(queue, op, c.rows * quads_for<T>(c.columns), finish_product<T>(c, then, is_zero));
  sum_rows(queue, op, a, form, then);
}

} // namespace cairn::detail
