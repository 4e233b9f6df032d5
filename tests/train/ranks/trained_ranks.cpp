// SPDX-License-Identifier: MIT
#include <chrono>
#include <type_traits>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/train/ranks/trained_ranks.hpp>
#include <doctest/doctest.h>

namespace trained_ranks_tests {

using namespace cairn;

TEST_CASE("trained_ranks: a trainer of no ddp is alone, one of a ddp has the ranks that it was given") {
  cpu device;
  using alone = detail::trained_ranks<loopback::rank, cpu, false>;
  alone one(device, nullptr, 0, 0, std::chrono::seconds(1));
  CHECK(one.count() == 1);
  CHECK(one.comm().size() == 1);
  threads{2}.run([](threads::rank& rank) {
    cpu own;
    detail::trained_ranks<threads::rank, cpu, true> two(own, &rank, 0, 0, std::chrono::seconds(1));
    CHECK(two.count() == 2);
    CHECK(&two.comm() == &rank); // the host reads a cpu's memory
    static_assert(!decltype(two)::through);
  });
}

} // namespace trained_ranks_tests
