// SPDX-License-Identifier: MIT
// A layer of one's own without a backward.
// expect: error: .*layer: backward is missing or has another signature, expected template <class Queue, class T> static void
// expect: checked_calls<Twice,
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Twice {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr shape output_shape(const shape& in) { return in; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * call.input_shape->size(); ++i) call.output[i] = 2 * call.input[i];
  }
#ifdef EXPECT_SUCCESS
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    for (std::size_t i = 0; i < call.rows * call.input_shape->size(); ++i)
      call.input_gradient[i] = 2 * call.output_gradient[i];
  }
#endif
};
using Net = Sequential<Linear<784, 64>, Residual<Twice>, Linear<64, 10>>;

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, seed{7}};
  return train.step(images, labels);
}
