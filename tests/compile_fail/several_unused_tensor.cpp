// SPDX-License-Identifier: MIT
// One of the tensors of a network that nothing uses: the trainer gives no second error.
// expect: error: .*Sequential: one of the tensors that the layer at this position makes is used by no layer
// expect: unused_tensor<0, 0, Inputs<dims<16>, integers<4>>>
#include <vector>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

// The second of two values.
struct Second {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[1].is_real(); }
  static constexpr tensor outputs(const arguments& in) { return in[1]; }
  static constexpr bool depends(std::size_t, std::size_t input) { return input == 1; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};
// Tokens behind numbers, which are not read.
struct Tokens {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr bool accepts(const arguments& in) { return in[0].is_real(); }
  static constexpr tensor outputs(const arguments&) { return tensor(shape{8}); }
  static constexpr bool depends(std::size_t, std::size_t) { return false; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<16>, dims<8>>, Second, Linear<8, 4>>;
using second = float;
#else
using Net = Sequential<Inputs<dims<16>, integers<4>>, Tokens, Linear<8, 4>>;
using second = int;
#endif

double learn(trainer<Net, CrossEntropyLoss, SGD, batch<8>>& train, const std::vector<float>& a, const std::vector<second>& b,
             const std::vector<int>& labels) {
  return train.step(inputs(a, b), labels);
}
