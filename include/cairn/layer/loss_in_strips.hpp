// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace cairn::detail {

// The loss of a training step, for a layer that makes its output in strips of rows: each call replaces a strip of the output by
// its gradient, and adds the strip's part to the loss. Strips come in the order of their rows.
template <class T>
struct loss_in_strips {
  // The strip: `rows` rows of `columns` elements from row `first` on, of `all` rows in the batch.
  struct strip {
    T* output = nullptr;
    std::size_t columns = 0;
    std::size_t first = 0, rows = 0, all = 0;
  };

  void (*function)(const void* self, const strip&) = nullptr;
  const void* self = nullptr;

  void operator()(const strip& of) const { function(self, of); }
};

// The number of rows in each strip of `all` rows, except the last, which may have fewer: as many strips as rows of at most
// `most` need, of nearly equal sizes. A function of these two numbers alone, as it decides how the sums over rows are rounded.
constexpr std::size_t rows_of_strips(std::size_t all, std::size_t most) {
  if (all <= most) return all;
  const std::size_t strips = (all + most - 1) / most, even = (all + strips - 1) / strips;
  const std::size_t whole = (even + 7) / 8 * 8; // products are made in panels of 8 rows
  return whole < most ? whole : most;
}

} // namespace cairn::detail
