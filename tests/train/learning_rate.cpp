// SPDX-License-Identifier: MIT
#include <cairn/train/learning_rate.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"

namespace learning_rate_tests {

using namespace cairn;

namespace {

template <learning_rate_schedule S>
double distance(const S& schedule, const std::string& name) {
  const auto& expected = reference_values("rate/" + name);
  std::vector<double> found;
  for (std::size_t step = 0; step < expected.size(); ++step) found.push_back(schedule.at(step));
  return largest_difference(found, expected);
}

} // namespace

TEST_CASE("learning rate: PyTorch's numbers") {
  CHECK(distance(step_rate{.learning_rate = 0.5, .step_size = 3, .gamma = 0.5}, "step") < 1e-14);
  CHECK(distance(cosine_rate{.learning_rate = 0.5, .total_steps = 8, .min_rate = 0.01}, "cosine") < 1e-14);
  const cosine_rate warm{.learning_rate = 0.5, .total_steps = 12, .warm_up = 4, .start_factor = 0.25, .min_rate = 0.02};
  CHECK(distance(warm, "cosine_warm_up") < 1e-14);
}

TEST_CASE("learning rate: constant, and past the end of a schedule") {
  CHECK(constant_rate{.learning_rate = 0.1}.at(1000000) == 0.1);
  CHECK(cosine_rate{.learning_rate = 0.5, .total_steps = 8, .min_rate = 0.25}.at(800) == 0.25);
  CHECK(cosine_rate{.learning_rate = 0.5, .total_steps = 4, .warm_up = 4}.at(4) == 0);
  CHECK(step_rate{.learning_rate = 0.5, .step_size = 0, .gamma = 1}.at(9) == 0.5); // 0 means every step
}

} // namespace learning_rate_tests
