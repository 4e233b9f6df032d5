// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/matmul/pack_avx2.hpp>
#include <cairn/ops/matmul/plain.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The rows [begin, end) of a matrix.
template <class T>
matrix<T> rows_between(matrix<T> all, std::size_t begin, std::size_t end) {
  return {all.data + begin * all.stride, end - begin, all.columns, all.stride};
}

// The keys and values of one head from the key `first` on, and their gradients, each (keys, width), for the products of all its
// strips.
//
// In the operands, rows lie as far apart as a row of all heads is long: thousands of keys have a page each, and share few sets of
// a cache. If there is room, products read and add to copies without gaps instead. A product whose second operand is transposed
// would turn it again for each strip, so copies for those are turned. No bit of a result depends on it.
template <class T>
struct head_of_keys {
  std::size_t first = 0;
  matrix<const T> key{}, value{};
  matrix<const T> turned_key{}, turned_value{}; // (width, keys); null: there is none
  matrix<T> key_gradient{}, value_gradient{};

  // The keys [begin, end) of one of these matrices, or their columns of a turned one.
  template <class U>
  matrix<U> between(matrix<U> all, std::size_t begin, std::size_t end) const {
    return rows_between(all, begin - first, end - first);
  }
  matrix<const T> columns_between(matrix<const T> all, std::size_t begin, std::size_t end) const {
    return {all.data + (begin - first), all.rows, end - begin, all.stride};
  }

  void copy_for_forward(std::span<std::byte> room) {
    if (2 * bytes_of_copy() > room.size()) return;
    turned_key = turned(key, take(room));
    value = copied(value, take(room));
  }
  void copy_for_query_gradients(std::span<std::byte> room) {
    if (3 * bytes_of_copy() > room.size()) return;
    turned_key = turned(key, take(room));
    turned_value = turned(value, take(room));
    key = copied(key, take(room));
  }
  void copy_for_backward(std::span<std::byte> room) {
    if (5 * bytes_of_copy() > room.size()) return;
    turned_key = turned(key, take(room));
    turned_value = turned(value, take(room));
    key = copied(key, take(room));
    key_gradient = {take(room), key.rows, key.columns};
    value_gradient = {take(room), key.rows, key.columns};
  }

  void clear_gradients(std::size_t begin, std::size_t end) {
    for (const matrix<T>& all : {key_gradient, value_gradient})
      for (std::size_t j = begin - first; j < end - first; ++j) std::fill_n(all.data + j * all.stride, all.columns, T{0});
  }
  // Copies the gradients to where they belong, if they were added up elsewhere.
  void write_gradients(matrix<T> of_key, matrix<T> of_value) const {
    if (key_gradient.data == of_key.data) return;
    copy_rows(of_key, key_gradient);
    copy_rows(of_value, value_gradient);
  }

private:
  // Elements from one row of a turned copy to the next: rows a power of two apart would share the sets of a cache.
  std::size_t turned_stride() const { return (key.rows + element_block - 1) / element_block * element_block + element_block; }
  std::size_t bytes_of_copy() const { return align_up(turned_stride() * key.columns * sizeof(T)); }

  T* take(std::span<std::byte>& room) const {
    T* const at = reinterpret_cast<T*>(room.data());
    room = room.subspan(bytes_of_copy());
    return at;
  }
  static void copy_rows(matrix<T> to, matrix<const T> from) {
    for (std::size_t j = 0; j < from.rows; ++j) std::copy_n(from.data + j * from.stride, from.columns, to.data + j * to.stride);
  }
  static matrix<const T> copied(matrix<const T> from, T* to) {
    copy_rows({to, from.rows, from.columns}, from);
    return {to, from.rows, from.columns};
  }
  matrix<const T> turned(matrix<const T> from, T* to) const {
    const std::size_t stride = turned_stride();
#if CAIRN_X86
    if (widest_instruction_set() != instruction_set::plain)
      pack_transposed_avx2(to, stride, from.data, from.stride, from.rows, from.columns);
    else
#endif
      plain_kernels<T>::pack_transposed(to, stride, from.data, from.stride, from.rows, from.columns);
    return {to, from.columns, from.rows, stride};
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
