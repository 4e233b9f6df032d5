// SPDX-License-Identifier: MIT
// A mask of another shape than the tensor that it is for, inside a block.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<1, Linear<16, 24>, tensors_of<dims<24>, constant<16>>, Masked>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct Masked {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool accepts(const arguments& in) { return in.has_constant(0, in[0]); }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = call.constants[0][i] * call.inputs[0][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; call.input_gradients[0] != nullptr && i < count; ++i)
      call.input_gradients[0][i] = call.constants[0][i] * call.output_gradients[0][i];
  }
};

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<8>, constant<16>>, Linear<8, 16>, Residual<Linear<16, 16>, Masked>, Linear<16, 4>>;
#else
using Net =
    Sequential<Inputs<dims<8>, constant<16>>, Linear<8, 16>, Residual<Linear<16, 24>, Masked, Linear<24, 16>>, Linear<16, 4>>;
#endif

static_assert(peak_activation_bytes<Net, 32> < 1_MiB);
