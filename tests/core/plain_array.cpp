// SPDX-License-Identifier: MIT
#include <span>

#include <cairn/core/plain_array.hpp>
#include <doctest/doctest.h>

namespace plain_array_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Uses an array as the plan does: makes room, writes items, adds them up.
template <std::size_t Capacity>
constexpr int sum_of_squares(int count) {
  plain_array<int, Capacity> squares(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) squares.items[i] += i * i; // items are 0 at first
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += squares[static_cast<std::size_t>(i)];
  return sum;
}

} // namespace

TEST_CASE("plain_array: one of known capacity works in a constant, one of any size at run time, with the same code") {
  static_assert(sum_of_squares<5>(5) == 30);
  static_assert(plain_array<int, 0>{}.data() != nullptr);
  CHECK(sum_of_squares<at_run_time>(5) == 30);
  CHECK(sum_of_squares<at_run_time>(0) == 0);
}

TEST_CASE("room made again is zeros again") {
  plain_array<int, at_run_time> numbers(2);
  numbers[1] = 7;
  numbers.make_room(3);
  CHECK(numbers.size() == 3);
  CHECK(std::span<const int>(numbers)[1] == 0);
}

TEST_CASE("a capacity known at run time stays so with more room") {
  static_assert(plus(3, 2) == 5);
  static_assert(plus(at_run_time, 2) == at_run_time);
}

} // namespace plain_array_tests
