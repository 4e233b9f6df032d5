// SPDX-License-Identifier: MIT
// One network that is trained here and in PyTorch by turns, through files. exchange.py beside this file runs the whole round:
//
//   python3 examples/pytorch_exchange/exchange.py build/examples/pytorch_exchange
//
// This program trains some epochs, from weights of a file or from its own, and prints the loss on the test images before and
// after. It also writes the images as .npy, so that PyTorch sees the same.
//
// long to compile
// needs: safetensors
// test: --save pytorch_exchange.safetensors --images pytorch_exchange --epochs 1
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/data/npy.hpp>
#include <cairn/train/state/safetensors.hpp>

#include "../command_line.hpp"
#include "../digits.hpp"

namespace mine {

using namespace cairn;

namespace {

// In PyTorch: Sequential(Linear(784, 64), BatchNorm1d(64), GELU(), Linear(64, 10)).
using Net = Sequential<Linear<784, 64>, BatchNorm1d<64>, GELU, Linear<64, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<100>>;

// All images of a part, and their labels, in the order in which a sequential sampler reads them.
void write_images(const vision::image_dataset<float>& part, const std::string& name) {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  for (const auto& [x, y] : loader{part, sequential_sampler{}, batch<100>{}}) {
    images.insert(images.end(), x.begin(), x.end());
    labels.insert(labels.end(), y.begin(), y.end());
  }
  files::write_npy(name + "_images.npy", images, {labels.size(), 784});
  files::write_npy(name + "_labels.npy", labels, {labels.size()});
}

double mean_loss(training& train, const vision::image_dataset<float>& part) {
  double sum = 0, count = 0;
  for (const auto& [x, y] : loader{part, sequential_sampler{}, batch<100>{}}) {
    const auto rows = static_cast<double>(x.rows());
    sum += train.evaluate_loss(x, y) * rows;
    count += rows;
  }
  return sum / count;
}

} // namespace

int program(int count, char** words) {
  std::string load, save, images;
  std::size_t epochs = 1;
  command_line given("pytorch_exchange", "trains a network whose weights come from PyTorch, and go there");
  given.add("load", load, "weights to begin with, a safetensors file [its own]")
      .add("save", save, "file for the weights at the end")
      .add("images", images, "write the images as this name and _train_images.npy, _test_images.npy, ...")
      .add("epochs", epochs, "times that all images are seen, in order")
      .parse(count, words);
  try {
    const auto digits = generated_digits({.train = 2000, .test = 500});
    if (!images.empty()) {
      write_images(digits.train, images + "_train");
      write_images(digits.test, images + "_test");
    }
    training train{SGD{.learning_rate = 0.05, .momentum = 0.9}, {.seed = 1}};
    if (!load.empty()) load_weights(train, load);
    std::printf("cairn: loss %.6f before", mean_loss(train, digits.test));
    for (std::size_t epoch = 0; epoch < epochs; ++epoch)
      for (const auto& [x, y] : loader{digits.train, sequential_sampler{}, batch<100>{}}) train.step(x, y);
    std::printf(", %.6f after %zu epochs\n", mean_loss(train, digits.test), epochs);
    if (!save.empty()) save_weights(train, save);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "pytorch_exchange: %s\n", fault.what());
    return 1;
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
