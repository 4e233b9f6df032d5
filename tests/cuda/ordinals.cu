// SPDX-License-Identifier: MIT
// Tests which GPU a rank takes.
#include <chrono>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "network.hpp"

namespace cuda_ordinals_tests {

using namespace cairn;

TEST_CASE("cuda: ranks of a machine take its GPUs one after the other, and share them where there are fewer") {
  const int ranks = cuda::count() + 1;
  threads{ranks, {.deadline = std::chrono::minutes(5)}}.run([](threads::rank& rank) { // long, as a tool may check every access
    using type = testing::trainer_of<ddp<testing::Net, threads::rank>, cuda>;
    type t{rank, AdamW{}};
    CHECK(t.device().ordinal() == rank.rank() % cuda::count());
    type last{rank, AdamW{}, {.ordinal = cuda::count() - 1}};
    CHECK(last.device().ordinal() == cuda::count() - 1);
  });
  using alone = testing::trainer_of<testing::Net, cuda>;
  CHECK_THROWS_WITH_AS((alone{AdamW{}, {.ordinal = cuda::count()}}), doctest::Contains("expected an ordinal of 0 to "),
                       input_error);
}

} // namespace cuda_ordinals_tests
