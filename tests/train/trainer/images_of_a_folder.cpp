// SPDX-License-Identifier: MIT
// A network learns from a folder of files, as a program would use it.
#include <cstddef>
#include <filesystem>
#include <string>

#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/images/image_folder.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"

namespace trainer_images_of_a_folder_tests {

using namespace cairn;

TEST_CASE("trainer: a network learns the two classes of a folder of images, with the same weights by one thread and by three") {
  const folder here;
  const auto put = [&](const std::string& kind, const char* name) {
    std::filesystem::create_directories(here.path / kind);
    std::filesystem::copy_file(CAIRN_TEST_DATA_DIR "/images/" + std::string(name), here.path / kind / name);
  };
  for (const char* name : {"colour.jpg", "colour_444.jpg", "progressive.jpg", "colour_8.png", "interlaced.png"})
    put("coloured", name);
  for (const char* name : {"grey.jpg", "grey_4.png", "grey_8.png", "grey_16.png", "grey_alpha_8.png"}) put("grey", name);

  using Net = Sequential<Input<12, 12, 3>, Conv2d<3, 8, 3>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<8, 2>>;
  const vision::image_folder data(here.path, shape{12, 12, 3},
                                  {.fit = vision::image_fit::crop, .scales = {{0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}}});
  REQUIRE(data.size() == 10);
  const auto loss_after = [&](std::size_t threads) {
    trainer<Net, CrossEntropyLoss, SGD, batch<4>> train{SGD{.learning_rate = 0.2, .momentum = 0.9}, {.seed = 3}};
    loader batches{data, sampler{}, batch<4>{}, {.prefetch = 4, .threads = threads}};
    double last = 0;
    for (int epoch = 0; epoch < 30; ++epoch)
      for (const auto& [images, labels] : batches) last = static_cast<double>(train.step(images, labels));
    CHECK(accuracy(train, loader{data, sequential_sampler{}, batch<4>{}}) == 1);
    return last;
  };
  const double by_one = loss_after(1);
  CHECK(by_one < 0.1);
  CHECK(loss_after(3) == by_one);
}

} // namespace trainer_images_of_a_folder_tests
