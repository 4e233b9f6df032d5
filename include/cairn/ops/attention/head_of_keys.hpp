// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
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

// Copies rows, which are widened or rounded if the elements' types are not the same.
template <class To, class From>
void copy_rows(matrix<To> to, matrix<const From> from) {
  for (std::size_t j = 0; j < from.rows; ++j) {
    if constexpr (std::is_same_v<To, From>) std::copy_n(from.data + j * from.stride, from.columns, to.data + j * to.stride);
    else if constexpr (is_narrow<From>) widen(to.data + j * to.stride, from.data + j * from.stride, from.columns);
    else round_once(to.data + j * to.stride, from.data + j * from.stride, from.columns);
  }
}
template <class To, class From>
void copy_rows(matrix<To> to, matrix<From> from) {
  copy_rows(to, matrix<const From>(from));
}

// The keys and values of one head from the key `first` on, and their gradients, each (keys, width), for the products of all its
// strips.
//
// In the operands, rows lie as far apart as a row of all heads is long: thousands of keys have a page each, and share few sets of
// a cache. If there is room, products read and add to copies without gaps instead. A product whose second operand is transposed
// would turn it again for each strip, so copies for those are turned. No bit of a result depends on it.
//
// Operands of 16 bits, S, are widened when they are copied. Without room for that there are no copies of them: key and value are
// null.
template <class T, class S = T>
struct head_of_keys {
  std::size_t first = 0;
  matrix<const S> stored_key{}, stored_value{};
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

  // `spare` is memory that copies of 16-bit elements pass through.
  void copy_for_forward(std::span<std::byte> room, std::span<std::byte> spare) {
    if (2 * bytes_of_copy() > room.size()) return;
    turned_key = turned(stored_key, take(room), spare);
    value = copied(stored_value, take(room));
  }
  void copy_for_query_gradients(std::span<std::byte> room, std::span<std::byte> spare) {
    if (3 * bytes_of_copy() > room.size()) return;
    turned_key = turned(stored_key, take(room), spare);
    turned_value = turned(stored_value, take(room), spare);
    key = copied(stored_key, take(room));
  }
  void copy_for_backward(std::span<std::byte> room, std::span<std::byte> spare) {
    if (copies_for_backward * bytes_of_copy() > room.size()) return;
    turned_key = turned(stored_key, take(room), spare);
    turned_value = turned(stored_value, take(room), spare);
    key = copied(stored_key, take(room));
    key_gradient = {take(room), key.rows, key.columns};
    value_gradient = {take(room), key.rows, key.columns};
  }
  static constexpr std::size_t copies_for_backward = 5;

  // The bytes of one copy of so many keys.
  static constexpr std::size_t bytes_of_copy(std::size_t keys, std::size_t width) {
    return align_up(turned_stride(keys) * width * sizeof(T));
  }

  void clear_gradients(std::size_t begin, std::size_t end) {
    for (const matrix<T>& all : {key_gradient, value_gradient})
      for (std::size_t j = begin - first; j < end - first; ++j) std::fill_n(all.data + j * all.stride, all.columns, T{0});
  }
  // Copies the gradients to where they belong, if they were added up elsewhere.
  void write_gradients(matrix<S> of_key, matrix<S> of_value) const {
    if constexpr (std::is_same_v<T, S>) {
      if (key_gradient.data == of_key.data) return;
    }
    copy_rows(of_key, key_gradient);
    copy_rows(of_value, value_gradient);
  }

private:
  // Elements from one row of a turned copy to the next: rows a power of two apart would share the sets of a cache.
  static constexpr std::size_t turned_stride(std::size_t keys) {
    return (keys + element_block - 1) / element_block * element_block + element_block;
  }
  std::size_t bytes_of_copy() const { return bytes_of_copy(stored_key.rows, stored_key.columns); }

  T* take(std::span<std::byte>& room) const {
    T* const at = reinterpret_cast<T*>(room.data());
    room = room.subspan(bytes_of_copy());
    return at;
  }
  static matrix<const T> copied(matrix<const S> from, T* to) {
    copy_rows(matrix<T>{to, from.rows, from.columns}, from);
    return {to, from.rows, from.columns};
  }
  static matrix<const T> turned(matrix<const S> from, T* to, [[maybe_unused]] std::span<std::byte> spare) {
    const std::size_t stride = turned_stride(from.rows);
    if constexpr (std::is_same_v<T, S>) {
      turn(to, stride, from);
    } else {
      const std::size_t most = std::max<std::size_t>(1, spare.size() / sizeof(T) / from.columns / element_block) * element_block;
      for (std::size_t begin = 0; begin < from.rows; begin += most) {
        const matrix<const S> some = rows_between(from, begin, std::min(from.rows, begin + most));
        turn(to + begin, stride, copied(some, reinterpret_cast<T*>(spare.data())));
      }
    }
    return {to, from.columns, from.rows, stride};
  }
  static void turn(T* to, std::size_t stride, matrix<const T> from) {
#if CAIRN_X86
    if (widest_instruction_set() != instruction_set::plain)
      return pack_transposed_avx2(to, stride, from.data, from.stride, from.rows, from.columns);
#endif
    plain_kernels<T>::pack_transposed(to, stride, from.data, from.stride, from.rows, from.columns);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
