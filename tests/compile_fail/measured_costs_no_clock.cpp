// SPDX-License-Identifier: MIT
// Costs of a device whose queue does not tell how long its work takes.
// expect: error: .*measured_costs: this device does not tell how long its work takes
#include <cairn/layer/linear.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/measured_costs.hpp>

using namespace cairn;

struct Timeless : cpu {
  struct queue : cpu::queue {
    using cpu::queue::queue;
#ifndef EXPECT_SUCCESS
    using stopwatch = void;
#endif
  };
  explicit Timeless(cpu::options) {}
  queue& compute() { return line; }
  queue& transfers() { return line; }
  queue line{1};
};

int main() { return static_cast<int>(plan::measured_costs<Sequential<Linear<4, 2>>, 8, float, Timeless>().size()); }
