// SPDX-License-Identifier: MIT
#include "networks.hpp"

using namespace cairn;

namespace layers {

template <class... Layers>
using Image = Sequential<Input<8, 9, 4>, Layers...>;

// A layer of one's own, y = x^2 of each row times a weight, which says its operators.
struct ScaledSquare {
  static constexpr reads backward_reads = reads::input;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments& in) { return {{"scale", {in[0].last()}, initial::constant(1)}}; }
  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    const std::size_t columns = call.in(0).last(), count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i)
      call.outputs[0][i] = call.inputs[0][i] * call.inputs[0][i] * call.parameters[0][i % columns];
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>&) {}
  static void operators(auto& at) { at.output(at.node("Mul", {at.node("Mul", {at.input(), at.input()}), at.parameter(0)})); }
};

} // namespace layers

// Layers that take the same are the branches of one network, as a network takes long to compile.
void write_layers() {
  using namespace layers;
  write<Sequential<Input<6>, Concat<ReLU, LeakyReLU<percent<20>>, ELU<fraction{1, 2}>, GELU, TanhGELU, SiLU, Tanh, Sigmoid,
                                    Dropout<>, ScaledSquare>>>("layers of elements");
  write<Sequential<Input<6>, Concat<Linear<6, 3>, Linear<6, 3, false>, Softmax, LayerNorm<6>, RMSNorm<6>, BatchNorm1d<6>,
                                    GroupNorm<3, 6>, preprocess::Standardize<6>>>>("layers of a row");
  write<Sequential<Input<5, 6>, Concat<Linear<6, 3>, Linear<6, 3, false>, Softmax, LayerNorm<6, fraction{1, 1000}>,
                                       RMSNorm<6, fraction{1, 1000}>, BatchNorm1d<6>, GroupNorm<2, 6>>>>("layers of rows");
  write<Sequential<Input<5, 6>, Concat<LearnedPositions<5, 6>, LearnedPositions<8, 6>, SinusoidalPositions>>>("positions");
  write<Sequential<Input<5, 48>, Concat<RotaryEmbedding<4>, RotaryEmbedding<4, 1, 500, 4>>>>("RotaryEmbedding");
  write<Sequential<Input<2, 5, 6>, Linear<6, 3>, BatchNorm1d<3>, GroupNorm<1, 3>>>("layers of matrices");
  write<Linear<6, 3>, double>("a network of double");
  write<Sequential<Linear<6, 300>, in_float<LayerNorm<300>, Linear<300, 3>>>, bfloat16>("a network of bfloat16", 2e-2);
  write<Sequential<Inputs<integers<5>>, Embedding<11, 6>, Tanh, Tied<Linear<6, 11>, Embedding<11, 6>>>>("Embedding, Tied");
  write<Sequential<Inputs<integers<>>, Embedding<11, 6, padding_idx<2>>, head_in_strips<Linear<6, 9>, 8>>>("head_in_strips");
  write<Sequential<Inputs<integers<5>, dims<5, 3>>, Sum<Embedding<11, 6>, Linear<3, 6>>>>("Sum");

  write<Image<Concat<Conv2d<4, 6, 3, padding<1>>, BatchNorm2d<4>, GroupNorm<2, 4>, Softmax, LayerNorm<4>,
                     preprocess::Standardize<4>, DenseTransition<2>>>>("layers of images");
  write<Image<Conv2d<4, 6, 3, stride<2, 1>, padding<1, 2>, dilation<1, 2>, groups<2>, no_bias>, BatchNorm2d<6>, ReLU,
              Conv2d<6, 4, 3, kernel_width<5>, padding<1>>, LayerNorm<4>, Conv2d<4, 3, 1>, Flatten, Linear<84, 3>>>(
      "Conv2d, Flatten");
  write<Image<Concat<MaxPool2d<2>, AvgPool2d<2>, Conv2d<4, 1, 2, stride<2>>>>>("pools");
  write<Image<Concat<MaxPool2d<3, stride<2>, padding<1>>, AvgPool2d<3, stride<2>, padding<1>>,
                     AvgPool2d<3, stride<2>, padding<1>, no_count_include_pad>>>>("pools with padding");
  write<Image<Concat<MaxPool2d<3, stride<2>, padding<1>, ceil_mode>, AvgPool2d<3, stride<2>, padding<1>, ceil_mode>,
                     AvgPool2d<3, stride<2>, padding<1>, ceil_mode, no_count_include_pad>>>>("pools with ceil_mode");
  write<Image<MaxPool2d<2, stride<2>, padding<2, 1>, dilation<4, 3>>>>("a pool with padding wider than its kernel");
  write<Image<AdaptiveAvgPool2d<5, 4>, AdaptiveAvgPool2d<1>>>("AdaptiveAvgPool2d");
}
