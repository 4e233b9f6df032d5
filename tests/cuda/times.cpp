// SPDX-License-Identifier: MIT
// What a GPU's clock tells: on the fake runtime, which reckons time.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/layer/tanh.hpp>
#include <cairn/report/step_trace.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/predicted_step.hpp>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_times_tests {

using namespace cairn;

namespace {

constexpr std::size_t rows = 8;
using Deep = Sequential<Linear<12, 256>, Tanh, Linear<256, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 5>>;

} // namespace

TEST_CASE("cuda, times: costs of stages are what the GPU's clock says") {
  fake::reset();
  const std::vector<stage_cost> costs = measured_costs<Deep, rows, float, cuda>();
  REQUIRE(costs.size() == 7);
  const std::uint64_t wide = fake::time_of_launch(rows * 256), narrow = fake::time_of_launch(256);
  for (const auto& c : costs) MESSAGE(c.forward, " ", c.backward, " ", c.tape);
  MESSAGE(wide, " ", narrow, " ", fake::time_of_product(rows, 256, 12));
}

} // namespace cuda_times_tests
