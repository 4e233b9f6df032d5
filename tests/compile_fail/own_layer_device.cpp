// SPDX-License-Identifier: MIT
// A layer of one's own with loops for the queue of a cpu, in a network that is trained on another device.
// expect: error: .*layer: this device cannot run it with these elements, and a cpu can: .* written for the queue of a cpu;
// expect: checked_calls<Twice, (recording::)?(queue|device::queue), float>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

#include "../train/recording.hpp"

using namespace cairn;

struct doubled {
  CAIRN_HOST_DEVICE auto operator()(auto x) const { return 2 * x; }
};

struct Twice {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
#ifdef EXPECT_SUCCESS
  static void forward(auto& queue, const auto& call) {
    elementwise(queue, call.rows * call.in(0).size(), doubled{}, call.outputs[0], call.inputs[0]);
  }
  static void backward(auto& queue, const auto& call) {
    if (call.input_gradients)
      elementwise(queue, call.rows * call.in(0).size(), doubled{}, call.input_gradients[0], call.output_gradients[0]);
  }
#else
  static void forward(cpu::queue&, const auto& call) {
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.outputs[0][i] = 2 * call.inputs[0][i];
  }
  static void backward(cpu::queue&, const auto& call) {
    if (!call.input_gradients) return;
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.input_gradients[0][i] = 2 * call.output_gradients[0][i];
  }
#endif
};
using Net = Sequential<Linear<784, 64>, Residual<Twice>, Linear<64, 10>>;

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>, float, recording::device> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
