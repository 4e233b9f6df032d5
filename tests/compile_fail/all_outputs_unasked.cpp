// SPDX-License-Identifier: MIT
// A loss, which takes the first output, on a network with two heads: the other one would learn nothing.
// expect: error: .*Sequential: what the layer at this position makes is used by no layer after it and not by the loss, .* train with_all_outputs<Net> by step_by
// expect: unused<2, Linear<16, 4>>
#include <array>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

// (x, x)
struct Twice {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor_list outputs(const arguments& in) { return {in[0], in[0]}; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};
// (b, a) = (a, b)
struct Turn {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr tensor_list outputs(const arguments& in) { return {in[1], in[0]}; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output != input; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};
using Net = Sequential<Linear<784, 16>, Twice, Linear<16, 4>, Turn, Linear<16, 3>>;

#ifdef EXPECT_SUCCESS
double learn(trainer<with_all_outputs<Net>, MSELoss, SGD, batch<32>>& train, const std::vector<float>& images) {
  return train.step_by(images, [](const auto& outputs, const auto& gradients) {
    gradients[1][0] = 1;
    return double(outputs[1][0]);
  });
}
#else
double learn(trainer<Net, MSELoss, SGD, batch<32>>& train, const std::vector<float>& images, const std::vector<float>& boxes) {
  return train.step(images, boxes);
}
#endif
