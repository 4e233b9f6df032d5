// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>

namespace cairn::detail {

// A weight (n, k) as integers W from -127 to 127, one byte each, and a scale for each of its rows: the weight is about scale[j] *
// W[j, p], and the largest element of a row exactly, up to a rounding. In memory: the scales, the sums of the rows' integers, and
// the integers sliver by sliver. A sliver is some rows of the weight, a multiple of 16: for each group of 4 steps of the
// reduction the 4 bytes of each row. Rows and steps that there are not have zeros.
class weight_in_bytes {
public:
  weight_in_bytes(const void* packed, std::size_t n, std::size_t k)
      : packed_(static_cast<const std::byte*>(packed)), n_(n), k_(k) {}

  // More steps of a reduction would need more than half of a queue's scratch memory for the digits of one row.
  static constexpr std::size_t most_steps = std::size_t{1} << 19;

  static constexpr std::size_t padded(std::size_t n) { return (n + 15) / 16 * 16; }
  static constexpr std::size_t padded_steps(std::size_t k) { return (k + 3) / 4 * 4; }
  static constexpr std::size_t bytes(std::size_t n, std::size_t k) {
    return padded(n) * (sizeof(float) + sizeof(std::int32_t) + padded_steps(k));
  }

  std::size_t padded_rows() const { return padded(n_); }
  const float* scales() const { return reinterpret_cast<const float*>(packed_); }
  const std::int32_t* sums() const { return reinterpret_cast<const std::int32_t*>(packed_ + padded(n_) * sizeof(float)); }
  // The sliver that begins at row j.
  const std::int8_t* sliver(std::size_t j) const {
    return reinterpret_cast<const std::int8_t*>(packed_ + padded(n_) * (sizeof(float) + sizeof(std::int32_t))) +
           j * padded_steps(k_);
  }

  // Rounds to the nearest integer. A row with an element that is not finite has a scale that is NaN.
  static void pack(void* to, matrix<const float> weight, std::size_t rows_of_sliver) {
    const std::size_t n = weight.rows, k = weight.columns;
    const weight_in_bytes made(to, n, k);
    auto* const scales = const_cast<float*>(made.scales());
    auto* const sums = const_cast<std::int32_t*>(made.sums());
    for (std::size_t j = 0; j < made.padded_rows(); ++j) {
      const std::size_t first = j / rows_of_sliver * rows_of_sliver;
      const std::size_t rows = std::min(rows_of_sliver, made.padded_rows() - first);
      auto* const at = const_cast<std::int8_t*>(made.sliver(first)) + 4 * (j - first);
      const float* const row = weight.data + std::min(j, n - 1) * weight.stride;
      const float scale = j < n ? scale_of(row, k) : 0.0F;
      std::int32_t sum = 0;
      for (std::size_t p = 0; p < padded_steps(k); ++p) {
        const bool is_there = j < n && p < k && scale > 0;
        const auto w = static_cast<std::int8_t>(is_there ? std::clamp(std::nearbyint(row[p] / scale), -127.0F, 127.0F) : 0.0F);
        at[p / 4 * 4 * rows + p % 4] = w;
        sum += w;
      }
      scales[j] = scale;
      sums[j] = sum;
    }
  }
  // The scale of a row: that of its largest element, which is 127 or -127.
  static float scale_of(const float* row, std::size_t k) {
    float largest = 0;
    for (std::size_t p = 0; p < k; ++p) {
      if (!std::isfinite(row[p])) return row[p] - row[p];
      largest = std::max(largest, std::abs(row[p]));
    }
    return largest / 127;
  }

private:
  const std::byte* packed_;
  std::size_t n_, k_;
};

} // namespace cairn::detail
