// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <cairn/comm/mpi/memory_of_ranks.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <doctest/doctest.h>

namespace memory_of_ranks_tests {

using namespace cairn;
using cairn::detail::memory_of_ranks;

#if defined(__linux__)
TEST_CASE("every rank reaches the block of every other") {
  threads{3}.run([](threads::rank& rank) {
    const auto me = static_cast<std::size_t>(rank.rank());
    const auto exchange = [&](std::span<const std::byte> own, std::span<std::byte> all) { rank.exchange(own, all); };
    const auto all = memory_of_ranks::join(me, 3, 1000, 4, exchange);
    REQUIRE(all != nullptr);
    CHECK(all->number() == 4);
    CHECK(all->starts().size() == 3);
    CHECK(all->starts()[me] == all->own().data());
    for (std::byte* const start : all->starts()) start[me] = std::byte{9};
    const std::byte done{};
    std::vector<std::byte> of_all(3);
    exchange({&done, 1}, of_all);
    for (std::size_t rank_ = 0; rank_ < 3; ++rank_) CHECK(all->own().data()[rank_] == std::byte{9});

    const std::byte* const first = all->own().data();
    CHECK(all->has(first, 1000));
    CHECK(all->has(first + 999, 1));
    CHECK(!all->has(first + 1, 1000));
    CHECK(!all->has(first - 1, 1));
  });
}
#endif

TEST_CASE("where one rank cannot reach another's block, no rank has any") {
  threads{3}.run([](threads::rank& rank) {
    int round = 0;
    const auto exchange = [&](std::span<const std::byte> own, std::span<std::byte> all) {
      rank.exchange(own, all);
      if (round++ == 0 && rank.rank() == 1) std::memset(all.data(), 0, own.size()); // erases what rank 0 sent
    };
    CHECK(memory_of_ranks::join(static_cast<std::size_t>(rank.rank()), 3, 1000, 0, exchange) == nullptr);
  });
}

} // namespace memory_of_ranks_tests
