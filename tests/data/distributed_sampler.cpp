// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <vector>

#include <cairn/data/distributed_sampler.hpp>

#include "spot.hpp"

namespace distributed_sampler_tests {

using namespace cairn;
using namespace cairn::detail;

using testing::spot;

namespace {

std::vector<std::size_t> order_of(const distributed_sampler& which, std::size_t samples) {
  std::vector<std::size_t> indices;
  which.order(samples, which.epoch(), indices);
  CHECK(indices.size() == which.count(samples));
  return indices;
}

// torch's DistributedSampler, step by step as documented: lengthen or cut the list, then take every size-th entry.
std::vector<std::size_t> reference(std::vector<std::size_t> list, std::size_t rank, std::size_t size, bool drop_last) {
  const std::size_t samples = list.size();
  std::size_t each = (samples + size - 1) / size;
  if (drop_last && samples % size != 0) each = samples / size;
  const std::size_t total = each * size;
  std::size_t next = 0;
  while (list.size() < total) list.push_back(list[next++ % samples]);
  list.resize(total);
  std::vector<std::size_t> own;
  for (std::size_t i = rank; i < total; i += size) own.push_back(list[i]);
  return own;
}

} // namespace

TEST_CASE("distributed_sampler shares out as torch's does") {
  for (const std::size_t samples : {0U, 1U, 2U, 5U, 6U, 7U, 100U, 101U})
    for (const std::size_t size : {1U, 2U, 3U, 7U, 16U})
      for (const bool drop_last : {false, true})
        for (const bool shuffle : {false, true})
          for (std::size_t rank = 0; rank < size; ++rank) {
            const sampler_options options{.seed = 5, .shuffle = shuffle, .drop_last = drop_last};
            std::vector<std::size_t> list(samples);
            for (std::size_t i = 0; i < samples; ++i) list[i] = i;
            if (shuffle) permute(list, samples, 5, 3);
            CHECK(order_of(distributed_sampler(rank, size, 3, options), samples) == reference(list, rank, size, drop_last));
          }
}

TEST_CASE("no sample is lost, and none is read twice but to fill up") {
  for (const std::size_t samples : {1U, 2U, 9U, 10U, 11U, 12U})
    for (int size = 1; size <= 4; ++size) {
      std::multiset<std::size_t> read;
      for (int rank = 0; rank < size; ++rank)
        for (const std::size_t index : order_of(sampler{spot{rank, size}, 0}, samples)) read.insert(index);
      for (std::size_t i = 0; i < samples; ++i) CHECK(read.count(i) >= 1);
      CHECK(read.size() < samples + static_cast<std::size_t>(size));
    }
}

TEST_CASE("drop_last reads nothing twice, and all ranks equally much") {
  std::set<std::size_t> read;
  for (int rank = 0; rank < 3; ++rank)
    for (const std::size_t index : order_of(sampler{rank, 3, 0, {.drop_last = true}}, 11)) CHECK(read.insert(index).second);
  CHECK(read.size() == 9);
  CHECK(sampler(0, 3, 0, {.drop_last = true}).count(2) == 0);
}

TEST_CASE("steps of all ranks together read what steps of one rank read") {
  const auto alone = order_of(sampler{0, 1, 4, {.seed = 9}}, 24);
  const auto first = order_of(sampler{spot{0, 2}, 4, {.seed = 9}}, 24);
  const auto second = order_of(sampler{spot{1, 2}, 4, {.seed = 9}}, 24);
  constexpr std::size_t rows = 3;
  for (std::size_t step = 0; step < 4; ++step) {
    std::set<std::size_t> together;
    std::set<std::size_t> one;
    for (std::size_t i = 0; i < rows; ++i) together.insert({first[step * rows + i], second[step * rows + i]});
    for (std::size_t i = 0; i < 2 * rows; ++i) one.insert(alone[step * 2 * rows + i]);
    CHECK(together == one);
  }
}

TEST_CASE("distributed_sampler makes the order of the epoch that it is asked for") {
  std::vector<std::size_t> indices;
  sampler{spot{1, 2}}.order(20, 6, indices);
  CHECK(indices == order_of(sampler{spot{1, 2}, 6}, 20));
  sampler{spot{1, 2}, 6}.order(20, 0, indices);
  CHECK(indices == order_of(sampler{spot{1, 2}}, 20));
}

TEST_CASE("distributed_sampler takes a communicator, numbers, or only the epoch") {
  const int epoch = 2;
  CHECK(order_of(sampler{spot{0, 1}, epoch}, 20) == order_of(sampler{epoch}, 20));
  CHECK(order_of(sampler{0U, 1UL, epoch}, 20) == order_of(sampler{epoch}, 20));
  CHECK(order_of(sampler{epoch}, 20) != order_of(sampler{epoch + 1}, 20));
  CHECK(order_of(sampler{epoch, {.seed = 1}}, 20) != order_of(sampler{epoch}, 20));
  CHECK(sampler{epoch}.epoch() == 2);
  CHECK(sampler{}.ranks() == 1);
  CHECK(sampler{spot{1, 3}}.ranks() == 3);
  CHECK(order_of(sampler{}, 20) == order_of(sampler{0}, 20));
  CHECK(order_of(sampler{{.seed = 4}}, 20) == order_of(sampler{0, {.seed = 4}}, 20));
  CHECK(order_of(sampler{spot{1, 3}}, 20) == order_of(sampler{spot{1, 3}, 0}, 20));
  CHECK(order_of(sampler{spot{1, 3}, {.seed = 4}}, 20) == order_of(sampler{1, 3, 0, {.seed = 4}}, 20));
  static_assert(!std::is_constructible_v<sampler, int, int>); // rank and epoch, or rank and size?
  CHECK_THROWS_WITH_AS(sampler(0, 1, -1), doctest::Contains("expected an epoch of 0 or more, found -1"), input_error);
  CHECK_THROWS_AS((sampler(spot{2, 2}, 0)), input_error);
}

} // namespace distributed_sampler_tests
