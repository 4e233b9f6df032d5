// SPDX-License-Identifier: MIT
// Prints the bits of what networks learn: of every element type, the slow kernels of images of 16 bits left out.
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include <cairn/cairn.hpp>

using namespace cairn;

namespace {

using Text = Sequential<Inputs<integers<6>>, Embedding<11, 8>, LayerNorm<8>, MultiheadAttention<8, 2, attention::causal>,
                        MultiheadAttention<8, 2, attention::dropout<percent<20>>>, GELU, Flatten, Linear<48, 16>, Tanh,
                        Dropout<percent<20>>, Linear<16, 5>>;
using Images = Sequential<Input<8, 8, 3>, Conv2d<3, 8, 3>, BatchNorm2d<8>, ReLU, MaxPool2d<2>, Conv2d<8, 8, 1>, GroupNorm<2, 8>,
                          Sigmoid, AvgPool2d<3>, Flatten, Linear<8, 5>>;

template <class Net, class Optimizer, class T, class In>
void train(const char* name, const Optimizer& optimizer, const std::vector<In>& inputs) {
  trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, Optimizer, batch<4>, T> t{optimizer, {.seed = 7}};
  const std::vector<int> labels{0, 4, 2, 1};
  double loss = 0;
  for (int step = 0; step < 3; ++step) loss = t.step(inputs, labels);
  std::printf("%s %a %016llx\n", name, loss, static_cast<unsigned long long>(t.checksum()));
  const model<Net, batch<4>, T> other{{.seed = 7}}; // which packs its weights
  std::vector<accumulated<T>> outputs(4 * 5);
  other.evaluate(inputs, outputs);
  std::printf("%s %a\n", name, static_cast<double>(outputs[7]));
}

template <class T, class Given>
void train_with(const char* name) {
  std::vector<std::int32_t> words;
  for (int i = 0; i < 4 * 6; ++i) words.push_back(i * 7 % 11);
  std::printf("%s\n", name);
  train<Text, AdamW, T>("text", AdamW{.learning_rate = 0.01}, words);
  std::vector<Given> pixels;
  for (int i = 0; i < 4 * 8 * 8 * 3; ++i) pixels.push_back(static_cast<Given>(i * 29 % 97) / Given{97});
  if constexpr (std::is_same_v<T, Given>) train<Images, SGD, T>("images", SGD{.learning_rate = 0.1, .momentum = 0.9}, pixels);
}

} // namespace

int main() {
  train_with<float, float>("float");
  train_with<double, double>("double");
  train_with<bfloat16, float>("bfloat16");
  train_with<float16, float>("float16");
}
