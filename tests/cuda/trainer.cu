// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "network.hpp"

namespace cuda_trainer_tests {

using namespace cairn;
using testing::Net, testing::trained;

TEST_CASE("cuda: five steps of a network agree with those on a cpu") {
  const auto there = trained<Net, cuda>(), here = trained<Net, cpu>();
  REQUIRE(there.size() == here.size());
  double worst_loss = 0, worst = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const double far = std::abs(static_cast<double>(there[i]) - static_cast<double>(here[i]));
    (i < 6 ? worst_loss : worst) = std::max(i < 6 ? worst_loss : worst, far);
  }
  CHECK(worst_loss < 1e-5);
  CHECK(worst < 1e-4);
}

TEST_CASE("cuda: every policy has the same bits") {
  const auto expected = trained<Net, cuda>();
  CHECK(trained<Net, cuda>() == expected);
  CHECK(trained<checkpoint<sqrt_n, Net>, cuda>() == expected);
  CHECK(trained<checkpoint<recompute_all, Net>, cuda>() == expected);
}

} // namespace cuda_trainer_tests
