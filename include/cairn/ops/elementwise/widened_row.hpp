// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>

CAIRN_KERNELS_BEGIN

// Formulas compute in accumulated<T>. With what is here, an op that is written for rows of float serves 16 bits as well: their
// rows are widened first, and results are rounded once.
namespace cairn::detail {

// The instruction set for a formula whose results have the type T. A product and a sum that are contracted into one operation
// round once, not twice. For 16 bits that would move one result in tens of thousands by a last place, of which they have few, so
// nothing is contracted there, and the results of all x86-64 machines are equal.
template <class T>
instruction_set widest_for_results() {
  return is_narrow<T> ? instruction_set::plain : widest_for_elements();
}

// Up to `strip` elements of a row: of float and double the row itself.
template <class T>
struct widened_row {
  const T* read(const T* row, std::size_t) { return row; }
  T* room(T* row) { return row; } // for results, which write() then rounds
  void write(T*, std::size_t) const {}
};
template <narrow_element T>
struct widened_row<T> {
  using wide = accumulated<T>;
  alignas(64) wide own[strip];

  const wide* read(const T* row, std::size_t columns) {
    widen(own, row, columns);
    return own;
  }
  wide* room(T*) { return own; }
  void write(T* row, std::size_t columns) const { round_once(row, own, columns); }
};

// add_rows() for a strip, with more operands that are the same row each time. 16-bit rows are widened a tile at a time.
template <std::size_t Sums, std::size_t Operands, std::size_t Fixed, class F, class T, std::size_t... I, std::size_t... J>
void add_widened(const F& f, const std::array<double*, Sums>& sums, const std::array<matrix<const T>, Operands>& arrays,
                 const std::array<const accumulated<T>*, Fixed>& fixed, std::index_sequence<I...>, std::index_sequence<J...>) {
  using row_of = matrix<const accumulated<T>>;
  const instruction_set set = widest_for_elements();
  const std::size_t rows = arrays[0].rows, columns = arrays[0].columns;
  if constexpr (!is_narrow<T>) {
    add_rows(set, f, sums, std::array<row_of, Operands + Fixed>{arrays[I]..., row_of{fixed[J], rows, columns, 0}...});
  } else {
    constexpr std::size_t room = 4 * strip;
    alignas(64) accumulated<T> own[Operands][room];
    const std::size_t most = room / columns;
    for (std::size_t begin = 0; begin < rows; begin += most) {
      const std::size_t count = std::min(most, rows - begin);
      for (std::size_t k = 0; k < Operands; ++k)
        for (std::size_t row = 0; row < count; ++row)
          widen(own[k] + row * columns, arrays[k].data + (begin + row) * arrays[k].stride, columns);
      add_rows(set, f, sums,
               std::array<row_of, Operands + Fixed>{row_of{own[I], count, columns}..., row_of{fixed[J], count, columns, 0}...});
    }
  }
}
template <std::size_t Sums, std::size_t Operands, std::size_t Fixed, class F, class T>
void add_widened(const F& f, const std::array<double*, Sums>& sums, const std::array<matrix<const T>, Operands>& arrays,
                 const std::array<const accumulated<T>*, Fixed>& fixed) {
  add_widened(f, sums, arrays, fixed, std::make_index_sequence<Operands>(), std::make_index_sequence<Fixed>());
}

} // namespace cairn::detail

CAIRN_KERNELS_END
