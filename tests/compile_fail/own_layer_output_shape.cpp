// SPDX-License-Identifier: MIT
// A layer of one's own whose output_shape takes something else.
// expect: error: .*layer: output_shape is missing or has another signature, expected static constexpr shape output_shape
// expect: checked_layer<Twice>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct Twice {
#ifdef EXPECT_SUCCESS
  static constexpr shape output_shape(const shape& in) { return in; }
#else
  static constexpr shape output_shape(std::size_t in) { return {in}; }
#endif
  static constexpr reads backward_reads = reads::nothing;

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * call.input_shape->size(); ++i) call.output[i] = 2 * call.input[i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    for (std::size_t i = 0; i < call.rows * call.input_shape->size(); ++i)
      call.input_gradient[i] = 2 * call.output_gradient[i];
  }
};
using Net = Sequential<Linear<784, 64>, Repeat<2, Sequential<Twice>>, Linear<64, 10>>;

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
