// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "../ops/every_op.hpp"
#include "network.hpp"

namespace cuda_trainer_tests {

using namespace cairn;
using testing::Net, testing::trained;

static_assert(testing::has_every_op<cuda::queue, float> && testing::has_every_op<cuda::queue, double>);

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

TEST_CASE("cuda: a model with a trainer's parameters evaluates any number of rows to the trainer's bits") {
  using type = testing::trainer_of<checkpoint<sqrt_n, Net>, cuda>;
  type t{AdamW{.learning_rate = 0.02}, {.seed = 5}};
  for (std::size_t step = 0; step < 3; ++step) {
    const testing::samples s(testing::most_rows, step);
    t.step(s.x, s.y);
  }
  model<Net, batch<testing::most_rows>, float, cuda> net({.seed = 9});
  CHECK(net.checksum() != t.checksum());
  net.copy_parameters(t);
  CHECK(net.checksum() == t.checksum());
  const testing::samples all(testing::most_rows, 50);
  const auto expected = t.evaluate(all.x);
  for (std::size_t rows = 1; rows <= testing::most_rows; ++rows) {
    testing::samples some(rows, 0);
    some.x.assign(all.x.begin(), all.x.begin() + static_cast<std::ptrdiff_t>(rows * testing::features));
    const auto of_trainer = t.evaluate(some.x), of_model = net.evaluate(some.x);
    REQUIRE(of_model.size() == rows * testing::classes);
    CHECK(std::equal(of_model.begin(), of_model.end(), of_trainer.begin()));
    for (std::size_t i = 0; i < of_model.size(); ++i) CHECK(of_model[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

} // namespace cuda_trainer_tests
