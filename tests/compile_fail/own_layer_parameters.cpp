// SPDX-License-Identifier: MIT
// A layer of one's own whose parameters would not be found.
// expect: error: .*layer: parameters has another signature, expected static constexpr tensor_list parameters.const arguments& in.
// expect: checked_layer<Twice>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct Twice {
#ifdef EXPECT_SUCCESS
  static constexpr tensor_list parameters(const arguments&) { return {}; }
#else
  static constexpr tensor_list parameters() { return {}; }
#endif
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = 2 * call.inputs[0][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    for (std::size_t i = 0; call.input_gradients && i < call.rows * call.in(0).size(); ++i)
      call.input_gradients[0][i] = 2 * call.output_gradients[0][i];
  }
};
using Net = Sequential<Linear<784, 64>, Repeat<2, Sequential<Twice>>, Linear<64, 10>>;

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
