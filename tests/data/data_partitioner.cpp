// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include <cairn/data/data_partitioner.hpp>

using namespace cairn;

namespace {

struct place {
  int rank() const { return 1; }
  int size() const { return 2; }
};

std::vector<std::size_t> part(const data_partitioner& which, std::size_t samples) {
  std::vector<std::size_t> indices;
  which.order(samples, indices);
  CHECK(indices.size() == which.count(samples));
  return indices;
}

} // namespace

TEST_CASE("data_partitioner cuts the shuffled list and drops what is left over") {
  std::vector<std::size_t> list;
  permute(list, 11, 7, 0);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto own = part(data_partitioner(rank, 3), 11);
    REQUIRE(own.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) CHECK(own[k] == list[rank * 3 + k]);
  }
}

TEST_CASE("the parts do not overlap, and stay the same in every epoch") {
  std::set<std::size_t> seen;
  for (int rank = 0; rank < 4; ++rank) {
    const auto own = part(data_partitioner(rank, 4), 40);
    CHECK(own == part(data_partitioner(rank, 4, {.epoch = 3}), 40));
    for (const std::size_t index : own) CHECK(seen.insert(index).second);
  }
  CHECK(seen.size() == 40);
  CHECK(part(data_partitioner(place{}), 40) == part(data_partitioner(1, 2), 40));
  CHECK(part(data_partitioner(place{}), 40) != part(data_partitioner(place{}, {.seed = 1234}), 40));
}

TEST_CASE("more ranks than samples leave every part empty") {
  CHECK(part(data_partitioner(0, 4), 3).empty());
  CHECK(part(data_partitioner(3, 4), 0).empty());
  CHECK_THROWS_AS(data_partitioner(4, 4), error);
}
