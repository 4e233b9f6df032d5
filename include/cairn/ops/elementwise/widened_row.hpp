// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>

CAIRN_KERNELS_BEGIN

// Formulas compute in accumulated<T>. With what is here, an op that is written for rows of float serves 16 bits as well: their
// rows are widened first, and results are rounded once.
namespace cairn::detail {

// The instructions for a formula whose results have the type T. A product and a sum that are contracted into one operation
// round once, not twice. For 16 bits that would move one result in tens of thousands by a last place, of which they have few, so
// nothing is contracted there, and the results of all x86-64 machines are equal.
template <class T>
using set_for_results = std::conditional_t<is_narrow<T>, uncontracted_set, instruction_set>;
template <class T>
set_for_results<T> widest_for_results() {
  if constexpr (is_narrow<T>) return widest_uncontracted();
  else return widest_for_elements();
}

// Copies neighbours in memory, and widens those of 16 bits.
template <class T>
void copy_widened(accumulated<T>* to, const T* from, std::size_t count) {
  if constexpr (is_narrow<T>) widen(to, from, count);
  else std::copy_n(from, count, to);
}

// Up to `Most` elements of a row: of float and double the row itself.
template <class T, std::size_t Most = strip>
struct widened_row {
  const T* read(const T* row, std::size_t) { return row; }
  T* room(T* row) { return row; } // for results, which write() then rounds
  void write(T*, std::size_t) const {}
};
template <narrow_element T, std::size_t Most>
struct widened_row<T, Most> {
  using wide = accumulated<T>;
  alignas(64) wide own[Most];

  const wide* read(const T* row, std::size_t columns) {
    widen(own, row, columns);
    return own;
  }
  wide* room(T*) { return own; }
  void write(T* row, std::size_t columns) const { round_once(row, own, columns); }
};

// The same for rows of any length, side by side in a part's scratch memory.
class widened_rows {
public:
  explicit widened_rows(std::span<std::byte> scratch) : room_(scratch) {}

  // Whether there is room for so many rows: else they are to be read as they are.
  template <narrow_element T>
  bool fit(std::size_t rows, std::size_t columns) const {
    return rows * align_up(columns * sizeof(accumulated<T>)) <= room_.size();
  }
  template <narrow_element T>
  accumulated<T>* take(std::size_t columns) {
    auto* const to = reinterpret_cast<accumulated<T>*>(room_.data());
    room_ = room_.subspan(align_up(columns * sizeof(accumulated<T>)));
    return to;
  }
  template <narrow_element T>
  const accumulated<T>* read(const T* row, std::size_t columns) {
    accumulated<T>* const to = take<T>(columns);
    widen(to, row, columns);
    return to;
  }

private:
  std::span<std::byte> room_;
};

// Rows of 16 bits to rows without gaps, and rows of floats to 16 bits.
template <narrow_element T>
void widen_rows(accumulated<T>* to, matrix<const T> from) {
  if (from.stride == from.columns) return widen(to, from.data, from.rows * from.columns);
  for (std::size_t row = 0; row < from.rows; ++row) widen(to + row * from.columns, from.data + row * from.stride, from.columns);
}
template <narrow_element T>
void round_rows(matrix<T> to, matrix<const accumulated<T>> from) {
  if (to.stride == to.columns && from.stride == to.columns) return round_once(to.data, from.data, to.rows * to.columns);
  for (std::size_t row = 0; row < to.rows; ++row)
    round_once(to.data + row * to.stride, from.data + row * from.stride, to.columns);
}
// A matrix as its sums are: those of 16 bits are widened to `room`, without gaps. Without data it remains without.
template <class T>
matrix<const accumulated<T>> widened(matrix<const T> from, [[maybe_unused]] accumulated<T>* room) {
  if constexpr (!is_narrow<T>) {
    return from;
  } else {
    if (from.data == nullptr) return {nullptr, from.rows, from.columns};
    widen_rows(room, from);
    return {room, from.rows, from.columns};
  }
}

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
