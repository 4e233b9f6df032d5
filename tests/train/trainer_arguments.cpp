// SPDX-License-Identifier: MIT
#include <cairn/train/trainer_arguments.hpp>

#include <span>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <doctest/doctest.h>

namespace trainer_arguments_tests {

using namespace cairn;

namespace {

struct options {};
template <bool Distributed>
using arguments = detail::trainer_arguments<threads::rank, Distributed, SGD, options, cpu>;

template <bool Distributed, class... Given>
inline constexpr int fault = detail::fault_of_arguments<arguments<Distributed>, Given...>();

} // namespace

// Programs that cause these errors are in tests/compile_fail/.
TEST_CASE("trainer_arguments: those that fit a constructor are known, and why others do not") {
  static_assert(std::is_constructible_v<arguments<false>, SGD>);
  static_assert(std::is_constructible_v<arguments<false>, cpu&, SGD, options>);
  static_assert(std::is_constructible_v<arguments<true>, threads::rank&, SGD, options>);
  static_assert(std::is_constructible_v<arguments<true>, cpu&, threads::rank&, SGD>);
  static_assert(!std::is_constructible_v<arguments<false>, threads::rank&, SGD>);
  static_assert(!std::is_constructible_v<arguments<true>, SGD, options>);

  static_assert(fault<true, SGD, options> == 1);
  static_assert(fault<false, threads::rank&, SGD> == 2);
  static_assert(fault<true, loopback::rank&, SGD> == 3);
  static_assert(fault<false, const Adam&, options> == 4);
  static_assert(fault<false, SGD, int> == 5);
  static_assert(fault<false, SGD, options, options> == 6);
}

TEST_CASE("trainer_arguments: what a step cannot read, and why") {
  using detail::fault_of_call;
  static_assert(fault_of_call<const float*, std::vector<int>>() == 1);
  static_assert(fault_of_call<float[4], std::vector<int>>() == 1);
  static_assert(fault_of_call<std::vector<float>, std::vector<std::vector<int>>>() == 2);
  static_assert(fault_of_call<std::vector<float>, std::vector<bool>>() == 3);
  static_assert(fault_of_call<std::span<float>>() == 4);
}

} // namespace trainer_arguments_tests
