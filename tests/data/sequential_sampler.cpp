// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <vector>

#include <cairn/data/sequential_sampler.hpp>

namespace sequential_sampler_tests {

TEST_CASE("sequential_sampler reads everything from the first to the last") {
  const cairn::sequential_sampler order;
  std::vector<std::size_t> indices{9, 9};
  order.order(4, 0, indices);
  CHECK(order.count(4) == 4);
  CHECK(indices == std::vector<std::size_t>{0, 1, 2, 3});
  order.order(4, 3, indices);
  CHECK(indices == std::vector<std::size_t>{0, 1, 2, 3}); // the same in every epoch
  order.order(0, 0, indices);
  CHECK(indices.empty());
}

} // namespace sequential_sampler_tests
