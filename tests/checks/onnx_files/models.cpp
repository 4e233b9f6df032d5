// SPDX-License-Identifier: MIT
// The networks of examples/, as they are or smaller.
#include "networks.hpp"

using namespace cairn;

namespace models {

// examples/mnist
using Digits = Sequential<Linear<784, 64>, ReLU, Dropout<percent<20>>, Repeat<6, Residual<Linear<64, 64>, ReLU>>, Linear<64, 10>>;

// examples/resnet
template <std::size_t From, std::size_t To, class... Stride>
using Conv3x3 = Sequential<Conv2d<From, To, 3, padding<1>, no_bias, Stride...>, BatchNorm2d<To>>;
template <std::size_t Channels>
using Block = Sequential<Residual<Conv3x3<Channels, Channels>, ReLU, Conv3x3<Channels, Channels>>, ReLU>;
template <std::size_t From, std::size_t To>
using Half = Sequential<Residual<shortcut<Conv2d<From, To, 1, stride<2>, no_bias>, BatchNorm2d<To>>, Conv3x3<From, To, stride<2>>,
                                 ReLU, Conv3x3<To, To>>,
                        ReLU>;
using ResNet = Sequential<Input<16, 16, 3>, Conv3x3<3, 8>, ReLU, Repeat<2, Block<8>>, Half<8, 16>, Block<16>, Half<16, 32>,
                          AdaptiveAvgPool2d<1>, Flatten, Linear<32, 10>>;

// examples/densenet
template <std::size_t Channels>
using Transition = Sequential<DenseTransition<Channels / 2>, AvgPool2d<2>>;
using DenseNet =
    Sequential<Input<16, 16, 3>, Conv2d<3, 8, 3, padding<1>, no_bias>, DenseBlock<3, 4>, Transition<20>,
               DenseBlock<3, 4, recompute_all>, BatchNorm2d<22>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<22, 10>>;

// examples/gpt
using Words = initialized<Embedding<40, 24>, normal_weights<percent<2>>>;
using Layer = TransformerEncoderLayer<24, 4, 96, GELU, attention::norm_first, attention::causal>;
using Characters =
    Sequential<Inputs<integers<16>>, Words, LearnedPositions<16, 24>, Repeat<2, Layer>, LayerNorm<24>, Linear<24, 40>>;

} // namespace models

void write_models() {
  using namespace models;
  write<Digits>("mnist");
  write<ResNet>("resnet");
  write<DenseNet>("densenet");
  write<Characters>("gpt");
  write<transformers::gpt2<50, 12, 24, 4, 2, Dropout<percent<10>>>>("GPT-2", 1e-5, {.largest_file = 0});
  write<transformers::bert<50, 12, 24, 4, 2>>("BERT");
}
