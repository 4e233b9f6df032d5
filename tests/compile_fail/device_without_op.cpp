// SPDX-License-Identifier: MIT
// A device that has no product of matrices: a network without Linear can run there, this one cannot.
// expect: error: .*layer: this device cannot run it with these elements, and a cpu can: the device lacks an op
// expect: checked_calls<(cairn::)?Linear<784, 10(, true)?>, poor::(device::)?queue, float>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

namespace poor {

struct queue : cpu::queue {
  using cpu::queue::queue;
};
#ifndef EXPECT_SUCCESS
void matmul(queue&, auto...) = delete;
#endif

struct device : cpu {
  using queue = poor::queue;
  explicit device(types::device_options) {}
  queue& compute() { return line; }
  queue& transfers() { return line; }
  queue line{1};
};

} // namespace poor

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>, float, poor::device> train{SGD{.learning_rate = 0.1}};
  return train.step(images, labels);
}
