// SPDX-License-Identifier: MIT
#include "networks.hpp"

using namespace cairn;

namespace blocks {

template <class... Layers>
using Rows = Sequential<Input<5, 12>, Layers...>;
template <class... Layers>
using Image = Sequential<Input<7, 9, 4>, Layers...>;

// A cell of one's own: h' = tanh(x + h), for inputs and states of one size.
template <std::size_t Size>
struct PlainCell {
  static constexpr tensor_list inputs{{Size}, {Size}};
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::input;
  static constexpr tensor outputs(const arguments&) { return inputs[1]; }
  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * Size; ++i) call.outputs[0][i] = std::tanh(call.inputs[0][i] + call.inputs[1][i]);
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>&) {}
};

} // namespace blocks

template <std::size_t Size>
struct cairn::onnx::operators<blocks::PlainCell<Size>> {
  static void write(layer_writer& at) { at.output(at.node("Tanh", {at.node("Add", {at.input(0), at.input(1)})})); }
};

void write_blocks() {
  using namespace blocks;
  write<Rows<Repeat<3, Residual<LayerNorm<12>, Linear<12, 12>>>, Gated<Sequential<Linear<12, 7>, SiLU>, Linear<12, 7>>,
             Concat<Linear<7, 3>, Sequential<Linear<7, 5>, Tanh>>>>("Repeat, Residual, Gated, Concat");
  write<Image<Residual<shortcut<Conv2d<4, 6, 1, stride<2>>>, Conv2d<4, 6, 3, stride<2>, padding<1>>, BatchNorm2d<6>>, ReLU,
              Residual<Conv2d<6, 6, 3, padding<1>>, GroupNorm<2, 6>>, Residual<ReLU>,
              Concat<Conv2d<6, 3, 1>, MaxPool2d<3, stride<1>, padding<1>>>, Softmax>>("blocks of images");
  write<checkpoint<sqrt_n, Rows<checkpoint<every<2>, Sequential<Linear<12, 8>, ReLU>>, frozen<Linear<8, 3>>,
                                in_float<Linear<3, 8>, Softmax>>>>("checkpoint, frozen, in_float");
  write<Image<DenseBlock<3, 2>, DenseTransition<5>, DenseBlock<2, 3, recompute_all>>>("DenseBlock");
  write<Rows<Unroll<5, GRUCell<12, 12>>, Unroll<5, PlainCell<12>>>>("Unroll of GRUCell and of a cell of one's own");
  write<Rows<Unroll<5, LSTMCell<12, 4>, sqrt_n>, ReLU, Unroll<5, LSTMCell<4, 3>>::last>>("Unroll of LSTMCell");

  write<Rows<
      Concat<Sequential<MultiheadAttention<12, 3>>,
             Sequential<MultiheadAttention<12, 4, attention::causal, attention::key_heads<2>, attention::dropout<percent<10>>>>,
             Sequential<MultiheadAttention<12, 2, attention::window<2>, attention::stored_probabilities>>>>>(
      "MultiheadAttention");
  write<Sequential<Inputs<dims<5, 12>, constant<5, 5>, integer_constant<>>,
                   MultiheadAttention<12, 2, attention::added_mask, attention::key_lengths>>>("a mask for each sample, lengths");
  write<Sequential<Inputs<dims<5, 12>, batch_constant<5, 5>>, MultiheadAttention<12, 3, attention::added_mask>>>(
      "a mask for all samples");
  write<Sequential<Inputs<dims<5, 12>, constant<3, 5, 5>>, MultiheadAttention<12, 3, attention::added_mask, attention::causal>>>(
      "a mask for each head");
  write<Sequential<Inputs<dims<5, 12>, batch_constant<3, 5, 5>>, MultiheadAttention<12, 3, attention::added_mask>>>(
      "a mask for each head and all samples");
  write<Sequential<Inputs<dims<7, 12>, dims<4, 12>>, MultiheadAttention<12, 3, attention::cross>,
                   MultiheadAttention<12, 2, attention::cross, attention::window<2>>>>("attention to a memory that ends early");
  write<Rows<TransformerEncoderLayer<12, 3, 20>,
             TransformerEncoderLayer<12, 3, 20, GELU, Dropout<percent<10>>, attention::norm_first, attention::causal,
                                     attention::norm<RMSNorm<12>>>>>("TransformerEncoderLayer");
  write<Sequential<Inputs<dims<6, 12>, dims<4, 12>, integer_constant<>>, LayerNorm<12>,
                   Repeat<2, TransformerDecoderLayer<12, 3, 20, attention::causal, attention::memory<attention::key_lengths>>>>>(
      "TransformerDecoderLayer");
  write<with_all_outputs<Sequential<Inputs<dims<6, 12>, dims<4, 12>>, TransformerDecoderLayer<12, 3, 20>>>>("with_all_outputs");
  write<with_all_outputs<Sequential<Input<6, 12>, LayerNorm<12>,
                                    multi::Heads<Linear<12, 5>, Sequential<Flatten, Linear<72, 8>, Tanh, Linear<8, 3>>>>>>(
      "Heads");
}
