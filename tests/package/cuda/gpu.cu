// SPDX-License-Identifier: MIT
// Trains on a GPU. On a machine without one, or without a driver, it says so in one sentence, and that is right too: whatever
// goes wrong then is to be a cairn::error, and the program starts.
#include <cstdio>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>

using namespace cairn;

using Net = Sequential<Linear<8, 16>, ReLU, Linear<16, 3>>;

int main() {
  const std::vector<float> inputs(4 * 8, 0.5F);
  const std::vector<int> labels{0, 1, 2, 0};
  try {
    trainer<Net, CrossEntropyLoss, SGD, batch<4>, float, cuda> train{SGD{.learning_rate = 0.1}};
    const double first = train.step(inputs, labels);
    double last = first;
    for (int step = 0; step < 20; ++step) last = train.step(inputs, labels);
    std::printf("%f %f\n", first, last);
    return last < first ? 0 : 1;
  } catch (const error& e) {
    std::puts(e.what());
    const bool one_sentence = std::string(e.what()).rfind("cuda: expected a GPU, found none that this program can use (", 0) == 0;
    return cuda::count() == 0 && one_sentence ? 0 : 1;
  }
}
