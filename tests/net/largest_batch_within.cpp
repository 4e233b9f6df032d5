// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/largest_batch.hpp>
#include <cairn/net/largest_batch_within.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <doctest/doctest.h>

namespace largest_batch_within_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<32, 64>, ReLU, Repeat<6, Residual<Linear<64, 64>, ReLU>>, Linear<64, 10>>;

} // namespace

TEST_CASE("largest batch at run time: the compiler's answer, where it is one of those that are asked for") {
  constexpr std::size_t stored = plan::largest_batch<Net, 300_KiB>;
  constexpr std::size_t dearer = plan::largest_batch<Net, 300_KiB, percent<20>>;
  static_assert(dearer > stored + 1);
  const auto some = [](double excess) {
    return plan::largest_batch_within<Net, stored, 8, dearer + 1, dearer, stored + 1>(300_KiB, excess);
  };
  CHECK(some(0).batch == stored);
  CHECK(some(0).bytes == peak_activation_bytes<Net, stored>);
  CHECK(some(0).cost == 1);
  CHECK(some(percent<20>).batch == dearer);
  CHECK(some(percent<20>).bytes <= 300_KiB);
  CHECK(some(percent<20>).cost > 1);
  CHECK(some(percent<20>).cost <= 1.2);
  CHECK(some(percent<300>).batch == dearer + 1);
}
TEST_CASE("largest batch at run time: none fits") {
  const auto none = plan::largest_batch_within<Net, 8, 16>(1_KiB, percent<300>);
  CHECK(none.batch == 0);
  CHECK(none.bytes == 0);
  CHECK(none.cost == 0);
}
TEST_CASE("largest batch at run time: an element of twice the size has room for half of the rows") {
  const std::size_t bytes = peak_activation_bytes<Net, 32>;
  CHECK(plan::largest_batch_within<Net, 16, 32>(bytes, 0).batch == 32);
  CHECK(plan::largest_batch_within<Net, double, 16, 32>(bytes, 0).batch == 16);
}
TEST_CASE("largest batch at run time: measured costs decide, in any unit and of any batch") {
  using blueprint = blueprint_of<Net, 1>;
  const std::size_t bytes = peak_activation_bytes<Net, 64> * 3 / 4;
  const auto with = [&](std::size_t unit, std::size_t forward) {
    return plan::largest_batch_within<Net, 16, 64>(
        bytes, percent<20>, std::vector<plan::stage_cost>(blueprint::size, {unit * forward, unit * forward, unit * 100}));
  };
  CHECK(with(1, 1).batch == 64); // to run a stage again costs nothing
  CHECK(with(1000, 1).batch == 64);
  CHECK(with(1, 1000).batch == 16); // nearly all of the time is in what would be run again
  CHECK(with(1000, 1000).batch == 16);
}
TEST_CASE("largest batch at run time: as many costs as stages") {
  CHECK_THROWS_WITH_AS((plan::largest_batch_within<Net, 64>(1_MiB, 0, std::vector<plan::stage_cost>(3))),
                       doctest::Contains("expected a cost for each of"), input_error);
}

} // namespace largest_batch_within_tests
