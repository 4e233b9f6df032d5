// SPDX-License-Identifier: MIT
// A layer of one's own that does not say its operators.
// expect: error: .*write_onnx: this layer does not say which operators of ONNX compute it; give it a function
// expect: layer_without_operators<Square>
#include <string>

#include <cairn/cairn.hpp>
#include <cairn/train/onnx/onnx.hpp>

using namespace cairn;

struct Square {
  static constexpr reads backward_reads = reads::input;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.outputs[0][i] = call.inputs[0][i] * call.inputs[0][i];
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>&) {}
#ifdef EXPECT_SUCCESS
  static void operators(auto& at) { at.output(at.node("Mul", {at.input(), at.input()})); }
#endif
};

void write(model<Sequential<Input<3>, Square>, batch<1>>& net) { write_onnx(net, "net.onnx"); }
