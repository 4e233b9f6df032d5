// SPDX-License-Identifier: MIT
// The trace of a step on a device whose queue does not tell how long its work takes.
// expect: error: .*trace_step: this device does not tell how long its work takes
#include <array>

#include <cairn/layer/linear.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/report/step_trace.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

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

int main() {
  trainer<Sequential<Linear<4, 2>>, MSELoss, SGD, batch<8>, float, Timeless> train{SGD{}};
  const std::array<float, 32> x{};
  const std::array<float, 16> y{};
  return static_cast<int>(report::trace_step(train, x, y).rank);
}
