// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/embedding/embedding.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The next place of the same index, for each of up to `most` indices, in ascending order. The rows of one index can thus be
// summed together, in a precision for which there is no memory in every row of a weight. The scratch of one thread holds a hash
// table of the last places seen, at least twice as large as its contents, and the next place for each place.
class places {
public:
  static constexpr std::size_t most = 65536;
  static constexpr std::uint32_t none = 0x7FFFFFFF;

  places(std::span<std::byte> scratch, const std::int32_t* indices, std::size_t count) {
    static_assert(3 * most * sizeof(std::uint32_t) <= cpu::queue::scratch_bytes);
    const std::size_t size = std::bit_ceil(2 * count);
    next_ = reinterpret_cast<std::uint32_t*>(scratch.data());
    std::uint32_t* const table = next_ + most;
    std::fill_n(table, size, none);
    for (std::uint32_t i = static_cast<std::uint32_t>(count); i-- > 0;) {
      std::size_t slot = (static_cast<std::uint32_t>(indices[i]) * 0x9E3779B1U >> 7) & (size - 1);
      while (table[slot] != none && indices[table[slot]] != indices[i]) slot = (slot + 1) & (size - 1);
      next_[i] = table[slot];
      if (table[slot] != none) next_[table[slot]] |= again;
      table[slot] = i;
    }
  }

  bool is_first(std::uint32_t place) const { return (next_[place] & again) == 0; }
  std::uint32_t next(std::uint32_t place) const { return next_[place] & ~again; }

private:
  static constexpr std::uint32_t again = 0x80000000; // a flag in the next place: the index also comes earlier
  std::uint32_t* next_;
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void embedding_forward(cpu::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width, T* output,
                       const T* weight, const std::int32_t* indices) {
  detail::check_indices(indices, count, vocabulary);
  detail::for_each_row(
      queue, count, width,
      [&](std::size_t i) { std::copy_n(weight + static_cast<std::size_t>(indices[i]) * width, width, output + i * width); },
      detail::element_part);
}

// The work is divided by columns, so that every part adds rows in the same order. Divided by vocabulary, the parts would differ
// in work as much as words differ in how often they are used.
template <class T>
void embedding_backward(cpu::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width,
                        accumulated<T>* weight_gradient, const T* output_gradient, const std::int32_t* indices) {
  using sum = accumulated<T>;
  const detail::instruction_set set = detail::widest_for_elements();
  detail::for_each_row(
      queue, vocabulary, width, [&](std::size_t v) { std::fill_n(weight_gradient + v * width, width, sum{0}); },
      detail::element_part);
  detail::for_each_strip(queue, count, width, [&](std::size_t begin, std::size_t columns, std::span<std::byte> scratch) {
    detail::chained_sums<sum> sums;
    detail::widened_row<T> row;
    for (std::size_t from = 0; from < count; from += detail::places::most) {
      const std::size_t length = std::min(detail::places::most, count - from);
      const detail::places of{scratch, indices + from, length};
      for (std::uint32_t first = 0; first < length; ++first) {
        if (!of.is_first(first)) continue;
        const auto row_of = [&](std::uint32_t at) { return row.read(output_gradient + (from + at) * width + begin, columns); };
        sum* const to = weight_gradient + static_cast<std::size_t>(indices[from + first]) * width + begin;
        std::uint32_t at = of.next(first);
        if (at == detail::places::none) { // most words come once: the sum of one row is that row
          detail::add_row(to, row_of(first), columns);
          continue;
        }
        std::copy_n(row_of(first), columns, sums.chain);
        for (std::size_t i = 1; i < detail::sum_chain && at != detail::places::none; ++i, at = of.next(at))
          detail::add_row(sums.chain, row_of(at), columns);
        if (at == detail::places::none) { // one chain needs no total
          detail::add_row(to, sums.chain, columns);
          continue;
        }
        detail::start_sums(sums, columns);
        detail::end_chain(set, sums, columns);
        while (at != detail::places::none) {
          detail::start_chain(sums, columns);
          for (std::size_t i = 0; i < detail::sum_chain && at != detail::places::none; ++i, at = of.next(at))
            detail::add_row(sums.chain, row_of(at), columns);
          detail::end_chain(set, sums, columns);
        }
        for (std::size_t j = 0; j < columns; ++j) to[j] += static_cast<sum>(sums.total[j]);
      }
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
