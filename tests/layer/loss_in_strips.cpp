// SPDX-License-Identifier: MIT
#include <cairn/layer/loss_in_strips.hpp>

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

namespace loss_in_strips_tests {

using namespace cairn;

// One strip if all rows fit, else strips of nearly equal sizes in whole panels, never more than the most.
static_assert(detail::rows_of_strips(5, 8) == 5 && detail::rows_of_strips(8, 8) == 8 && detail::rows_of_strips(9, 8) == 8);
static_assert(detail::rows_of_strips(512, 240) == 176 && detail::rows_of_strips(4096, 240) == 232);
static_assert(detail::rows_of_strips(5, 2) == 2 && detail::rows_of_strips(5, 1) == 1 && detail::rows_of_strips(20, 13) == 13);

TEST_CASE("loss_in_strips: a call passes the strip on") {
  using strips = detail::loss_in_strips<float>;
  std::vector<float> output(6, 1);
  std::size_t seen = 0;
  const auto take = [](const void* self, const strips::strip& of) {
    *static_cast<std::size_t*>(const_cast<void*>(self)) = of.first + 10 * of.rows + 100 * of.all + 1000 * of.columns;
    of.output[0] = 7;
  };
  strips{take, &seen}({output.data(), 3, 4, 2, 9});
  CHECK(seen == 3924);
  CHECK(output[0] == 7);
}

} // namespace loss_in_strips_tests
