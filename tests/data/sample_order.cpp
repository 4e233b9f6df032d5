// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/sample_order.hpp>
#include <cairn/data/sequential_sampler.hpp>

namespace sample_order_tests {

using namespace cairn;

namespace {

struct backwards { // a user's own
  std::size_t count(std::size_t samples) const { return samples; }
  void order(std::size_t samples, std::uint64_t /*epoch*/, std::vector<std::size_t>& indices) const {
    indices.clear();
    while (samples-- > 0) indices.push_back(samples);
  }
};
struct unfinished {
  std::size_t count(std::size_t samples) const { return samples; }
};
struct of_every_epoch : backwards { // the former signature of an order, without the epoch
  void order(std::size_t samples, std::vector<std::size_t>& indices) const { backwards::order(samples, 0, indices); }
};
struct from_seven : backwards {
  std::uint64_t epoch() const { return 7; }
};
struct one_of_four {
  int rank() const { return 1; }
  int size() const { return 4; }
};

} // namespace

TEST_CASE("sample_order and ranked accept what answers their questions") {
  static_assert(detail::sample_order<sequential_sampler>);
  static_assert(detail::sample_order<distributed_sampler>);
  static_assert(detail::sample_order<backwards>);
  static_assert(!detail::sample_order<unfinished>);
  static_assert(!detail::sample_order<of_every_epoch>);
  static_assert(detail::ranked<one_of_four>);
  static_assert(!detail::ranked<int>);
}

TEST_CASE("the first epoch is the one that an order names, or 0") {
  CHECK(detail::first_epoch(backwards{}) == 0);
  CHECK(detail::first_epoch(from_seven{}) == 7);
  CHECK(detail::first_epoch(sampler{9}) == 9);
  CHECK(detail::first_epoch(sampler{}) == 0);
}

TEST_CASE("a place is one of its ranks") {
  CHECK(detail::checked_share(1, 4U, "x").rank == 1);
  CHECK_THROWS_WITH_AS(detail::checked_share(4, 4, "mine"),
                       doctest::Contains("mine: expected a rank below the number of ranks, found rank 4 of 4"), input_error);
  CHECK_THROWS_AS(detail::checked_share(0, 0, "mine"), input_error);
  CHECK_THROWS_WITH_AS(detail::checked_share(-1, 4, "mine"), doctest::Contains("expected a rank of 0 or more, found -1"),
                       input_error);
}

} // namespace sample_order_tests
