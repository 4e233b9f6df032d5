// SPDX-License-Identifier: MIT
// A layer of one's own without a backward.
// expect: error: .*layer: backward is missing or has another signature, expected template <class Queue, class T> static void
// expect: checked_calls<Twice,
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Twice {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = 2 * call.inputs[0][i];
  }
#ifdef EXPECT_SUCCESS
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    for (std::size_t i = 0; call.input_gradients && i < call.rows * call.in(0).size(); ++i)
      call.input_gradients[0][i] = 2 * call.output_gradients[0][i];
  }
#endif
};
using Net = Sequential<Linear<784, 64>, Residual<Twice>, Linear<64, 10>>;

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
