// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A row's integers without a sign: round(x * inverse) + 2^23, at most 2^24 - 1. Half of a unit is rounded away from zero.
inline std::uint32_t integer_of(float x, float inverse) {
  const float in_units = x * inverse; // exact: a power of two
  const auto rounded = static_cast<std::int32_t>(in_units + (in_units < 0 ? -0.5F : 0.5F));
  return static_cast<std::uint32_t>(std::min(rounded, (1 << 23) - 1) + (1 << 23));
}

// Kernels for weights in bytes on any machine, and what is common to all: see multiply_by_bytes.hpp. T is float: as templates
// they cost nothing where they are not used.
template <class T>
struct bytes_plain {
  static constexpr std::size_t sliver = 16;
  static constexpr std::size_t digit_bytes = 16; // of a group of 4 elements of a row

  static void find_largest(std::uint32_t& largest, const T* x, std::size_t k) {
    for (std::size_t p = 0; p < k; ++p) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, x + p, sizeof bits);
      largest = std::max(largest, bits & 0x7FFFFFFFU);
    }
  }
  static void write_digits(std::byte* to, const T* x, std::size_t k, T inverse) {
    for (std::size_t p = 0; p < (k + 3) / 4 * 4; ++p) {
      const std::uint32_t whole = p < k ? integer_of(x[p], inverse) : 0;
      std::memcpy(to + p * sizeof whole, &whole, sizeof whole);
    }
  }
  // totals[r * sliver + j]: the sums of rows of digits times the sliver's rows.
  static void sums(double* totals, const std::byte* digits, std::size_t row_bytes, std::size_t rows, const std::int8_t* weight,
                   std::size_t columns, std::size_t groups) {
    for (std::size_t r = 0; r < rows; ++r) {
      std::int64_t exact[sliver] = {};
      for (std::size_t g = 0; g < groups; ++g) {
        std::uint32_t x[4];
        std::memcpy(x, digits + r * row_bytes + g * sizeof x, sizeof x);
        for (std::size_t j = 0; j < columns; ++j)
          for (std::size_t i = 0; i < 4; ++i) exact[j] += static_cast<std::int64_t>(x[i]) * weight[(g * columns + j) * 4 + i];
      }
      for (std::size_t j = 0; j < columns; ++j) totals[r * sliver + j] = static_cast<double>(exact[j]);
    }
  }
  // The sums as floats: exact until they are rounded.
  static void scale(float* values, const double* totals, const std::int32_t* sums, const float* scales, double step,
                    std::size_t columns) {
    for (std::size_t j = 0; j < columns; ++j)
      values[j] = static_cast<float>((totals[j] - 8388608.0 * sums[j]) * (static_cast<double>(scales[j]) * step));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
