// SPDX-License-Identifier: MIT
// What a project with Cairn begins with. Whichever way Cairn comes into it, this compiles, and the loss falls.
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>

using namespace cairn;

using Net = Sequential<Linear<4, 8>, ReLU, Linear<8, 3>>;

int main() {
  trainer<Net, CrossEntropyLoss, SGD, batch<2>> train{SGD{.learning_rate = 0.1}};
  const std::vector<float> inputs{1, 2, 3, 4, 5, 6, 7, 8}; // (2, 4)
  const std::vector<int> labels{0, 2};
  const double first = train.step(inputs, labels);
  const double second = train.step(inputs, labels);
  std::printf("loss %.4f, then %.4f\n", first, second);
  return second < first ? 0 : 1;
}
