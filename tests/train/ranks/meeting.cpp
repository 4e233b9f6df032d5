// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ranks/meeting.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace meeting_tests {

using namespace cairn;

TEST_CASE("meeting: ranks begin with the parameters of rank 0, and take those of any when they are asked to") {
  using Net = Sequential<Linear<testing::features, 8>, ReLU, Linear<8, 4>>;
  using trained = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<8>>;
  std::array<std::uint64_t, 3> at_first{}, later{}, steps{};
  threads{3}.run([&](threads::rank& rank) {
    const auto at = static_cast<std::size_t>(rank.rank());
    trained t{rank, SGD{.momentum = 0.9}, {.seed = 4}};
    at_first[at] = t.checksum();
    const testing::samples<> s(8, static_cast<std::uint32_t>(at));
    t.step(s.x, s.y);
    if (at == 2) t.parameters()[0] = 7;
    detail::take_replica_of(t.inside(), 2, "test");
    CHECK(t.parameters()[0] == 7);
    later[at] = t.checksum();
    steps[at] = t.steps();
  });
  CHECK(at_first[1] == at_first[0]);
  CHECK(at_first[2] == at_first[0]);
  CHECK(later[0] != at_first[0]);
  CHECK(later == std::array{later[0], later[0], later[0]});
  CHECK(steps == std::array<std::uint64_t, 3>{1, 1, 1});
}

} // namespace meeting_tests
