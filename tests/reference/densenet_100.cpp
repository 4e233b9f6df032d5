// SPDX-License-Identifier: MIT
// DenseNet-BC-100 with weights and pictures from a file, for densenet_100.py. Writes the loss of a batch, all gradients, and the
// outputs of an evaluation after it. Files hold doubles; CAIRN_NUMBERS is the type that it computes in.
#include <cstdio>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/cairn.hpp>

using namespace cairn;

namespace {

constexpr std::size_t samples = 8;

template <std::size_t Channels>
using Transition = Sequential<BatchNorm2d<Channels>, ReLU, Conv2d<Channels, Channels / 2, 1, no_bias>, AvgPool2d<2>>;
using Net = Sequential<Input<32, 32, 3>, Conv2d<3, 24, 3, padding<1>, no_bias>, DenseBlock<16, 12, store_last<8>>,
                       Transition<216>, DenseBlock<16, 12, store_last<8>>, Transition<300>, DenseBlock<16, 12, store_last<8>>,
                       BatchNorm2d<342>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<342, 10>>;

template <class Numbers>
void read(std::ifstream& from, Numbers&& to) {
  for (auto& number : to) {
    double value = 0;
    from.read(reinterpret_cast<char*>(&value), sizeof value);
    number = static_cast<std::remove_reference_t<decltype(number)>>(value);
  }
}
template <class Numbers>
void write(std::ofstream& to, const Numbers& from) {
  for (const double number : from) to.write(reinterpret_cast<const char*>(&number), sizeof number);
}

} // namespace

int main(int count, char** words) {
  if (count != 3) return std::fputs("densenet_100 FROM TO\n", stderr), 2;
  using T = CAIRN_NUMBERS;
  std::ifstream from(words[1], std::ios::binary);
  std::ofstream to(words[2], std::ios::binary);
  trainer<Net, CrossEntropyLoss, SGD, batch<samples>, T> train{SGD{.learning_rate = 0}, {.seed = 1}};
  train.for_each([&](const types::named_parameter<T>& p) { read(from, p.numbers); });
  std::vector<T> pictures(samples * 32 * 32 * 3), targets(samples);
  read(from, pictures);
  read(from, targets);
  if (!from) return std::fputs("densenet_100: the file is too short\n", stderr), 1;
  const std::vector<int> classes(targets.begin(), targets.end());
  write(to, std::vector<double>{train.step(pictures, classes)});
  train.for_each_gradient([&](const types::named_parameter<T>& p) { write(to, p.numbers); });
  write(to, train.evaluate(pictures));
  return to.good() ? 0 : 1;
}
