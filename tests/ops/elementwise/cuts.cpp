// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/cuts.hpp>

#include <atomic>
#include <vector>

#include <doctest/doctest.h>

namespace elementwise_cuts_tests {

using namespace cairn;

TEST_CASE("for_each_strip: every column once, whole blocks but in the last strip, as many strips as threads "
          "if worth it") {
  for (const std::size_t threads : {1U, 2U, 3U})
    for (const std::size_t rows : {std::size_t{1}, std::size_t{100'000}})
      for (const std::size_t columns : {0U, 1U, 16U, 17U, 100U, 512U, 513U, 2000U}) {
        cpu device({.threads = threads});
        std::vector<int> seen(columns);
        std::atomic<std::size_t> strips{0};
        std::atomic<bool> right{true};
        detail::for_each_strip(device.compute(), rows, columns, [&](std::size_t begin, std::size_t width) {
          ++strips;
          const bool last = begin + width == columns;
          if (begin % detail::element_block != 0 || width > detail::strip || width == 0) right = false;
          if (!last && width % detail::element_block != 0) right = false;
          for (std::size_t j = begin; j < begin + width; ++j) ++seen[j];
        });
        CHECK(right);
        CHECK(seen == std::vector<int>(columns, 1));
        if (rows > 1 && columns >= 100) CHECK(strips >= threads);
        if (rows == 1) CHECK(strips == (columns + detail::strip - 1) / detail::strip);
      }
}

TEST_CASE("for_each_row: every row once, of any width") {
  for (const std::size_t threads : {1U, 2U})
    for (const std::size_t columns : {0U, 1U, 100U, 10'000U}) {
      cpu device({.threads = threads});
      std::vector<int> seen(300);
      detail::for_each_row(device.compute(), 300, columns, [&](std::size_t row) { ++seen[row]; });
      CHECK(seen == std::vector<int>(300, 1));
    }
}

} // namespace elementwise_cuts_tests
