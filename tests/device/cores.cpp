// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <initializer_list>
#include <thread>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/device/cores.hpp>
#include <doctest/doctest.h>

namespace cores_tests {

using namespace cairn;
using detail::threads_for;

TEST_CASE("cores: there is one at least, and no more than the machine has") {
  CHECK(detail::usable_cores() >= 1);
  if (const std::size_t all = std::thread::hardware_concurrency(); all > 0) CHECK(detail::usable_cores() <= all);
}

#if defined(__linux__)
TEST_CASE("cores: a thread that is bound to one core may use one") {
  std::size_t found = 0;
  int bound = -1;
  std::thread([&] { // the affinity ends with the thread
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int first = 0;
    while (first < CPU_SETSIZE && !CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    bound = sched_setaffinity(0, sizeof allowed, &allowed);
    found = detail::usable_cores();
  })
      .join();
  if (bound == 0) CHECK(found == 1);
}
#endif

TEST_CASE("cores: ranks that are bound to cores share only those that they have in common") {
  const auto cores = [](std::initializer_list<std::size_t> some) {
    detail::core_set set;
    for (const std::size_t core : some) set.bits[core / 8] = static_cast<unsigned char>(set.bits[core / 8] | 1U << core % 8);
    return set;
  };
  const std::vector all{cores({0, 1}), cores({2, 3}), cores({2, 3}), cores({3, 900})};
  CHECK(all[0].shared_by(all) == 1);
  CHECK(all[1].shared_by(all) == 3); // core 3 is in three sets
  CHECK(all[3].shared_by(all) == 3);
  CHECK(cores({}).shared_by(all) == 1);
  detail::core_set unknown;
  unknown.bits.fill(0xFF);
  const std::vector two{unknown, unknown};
  CHECK(two[0].shared_by(two) == 2);
  const std::vector own{detail::core_set::usable(), detail::core_set::usable()};
  CHECK(own[0].shared_by(own) == 2);
}

TEST_CASE("cores: a rank has its share, at least one, or the number that was asked for") {
  CHECK(threads_for(0, 1, 8) == 8);
  CHECK(threads_for(0, 2, 8) == 4);
  CHECK(threads_for(0, 3, 8) == 2);
  CHECK(threads_for(0, 8, 8) == 1);
  CHECK(threads_for(0, 9, 8) == 1);
  CHECK(threads_for(0, 1, 1) == 1);
  CHECK(threads_for(3, 2, 8) == 3);
  CHECK(threads_for(16, 2, 8) == 16);
}

TEST_CASE("cores: a negative number of threads is refused, and so is one that cannot be meant") {
  CHECK_THROWS_WITH_AS(static_cast<void>(threads_for(static_cast<std::size_t>(-1), 1, 8)),
                       doctest::Contains("expected 0, which is a rank's share of the cores, or 1 to 1024, found -1"),
                       input_error);
  CHECK_THROWS_AS(static_cast<void>(threads_for(detail::most_threads + 1, 1, 8)), input_error);
  CHECK(threads_for(detail::most_threads, 1, 8) == 1024);
}

} // namespace cores_tests
