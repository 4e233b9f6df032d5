// SPDX-License-Identifier: MIT
// long to compile
// A network with every layer for images, in training.
#include <cmath>
#include <cstddef>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/group_norm.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/trainer.hpp>

#include "../apart_ops.hpp"
#include "../image_training.hpp"
#include "../order.hpp"
#include "../training.hpp"

namespace trainer_image_layers_tests {

using namespace cairn;

namespace {

// The network of make.py.
using Branches = Concat<Conv2d<8, 4, 1>, Conv2d<8, 6, 3, padding<1>, groups<2>>, AvgPool2d<3, stride<1>, padding<1>>>;
using Net =
    Sequential<Input<8, 6, 3>, Conv2d<3, 8, 3, padding<1>, no_bias>, BatchNorm2d<8>, ReLU, MaxPool2d<2>, Branches,
               GroupNorm<3, 18>, Conv2d<18, 10, 3, stride<2>, padding<1>>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<10, 4>>;
constexpr std::size_t pixels = 8 * 6 * 3;

using testing::image_trace;
using images = testing::image_samples<pixels>;
template <class Model, class T = float, class Device = cpu>
image_trace run(std::size_t threads = 1) {
  return testing::run_images<pixels, Model, T, Device>(threads);
}
template <class Model, class T>
double distance() {
  return testing::distance_of_images<Model, T>("images", 13, "1");
}

} // namespace

TEST_CASE("trainer: a network of images has PyTorch's losses, gradients, parameters and running statistics") {
  CHECK(distance<Net, double>() < 1e-12);
  CHECK(distance<Net, float>() < 2e-5);
  CHECK(distance<checkpoint<recompute_all, Net>, double>() < 1e-12);
}

TEST_CASE("trainer: a network of images has the same bits under every policy and on any number of threads") {
  const image_trace plain = run<Net>();
  CHECK(run<checkpoint<recompute_all, Net>>() == plain);
  CHECK(run<checkpoint<sqrt_n, Net>>() == plain);
  CHECK(run<checkpoint<every<3>, Net>>() == plain);
  CHECK(run<fused_update<checkpoint<sqrt_n, Net>>>() == plain);
  CHECK(run<Net>(2) == plain);
  CHECK(run<Net>(3) == plain);
}

TEST_CASE("trainer: two ranks of images are two micro-batches, bit for bit, and rank 0's running statistics count") {
  const auto ran = testing::run_images_on_two_ranks<pixels, checkpoint<sqrt_n, Net>, Net>();
  CHECK(ran.parameters[0] == ran.parameters[1]);
  CHECK(ran.parameters[0] == ran.alone);
  CHECK(ran.buffers[0] != ran.buffers[1]); // each rank updates its own, from its own rows
}

TEST_CASE("trainer of bfloat16: a network of images has the same bits under every policy, and float's loss") {
  const image_trace own = run<Net, bfloat16>();
  CHECK(run<checkpoint<recompute_all, Net>, bfloat16>() == own);
  CHECK(run<Net, bfloat16>(3) == own);
  const image_trace wide = run<Net>();
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::fabs(own.losses[i] - wide.losses[i]) < 0.03);
}

TEST_CASE("trainer: images on a device apart have a cpu's bits, and its ops are in order") {
  CHECK((run<checkpoint<sqrt_n, Net>, float, apart::device>() == run<Net>()));
  CHECK(apart::device::unfinished == 0);
  trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, SGD, batch<6>, float, recording::device> t{testing::momentum, {.seed = 3}};
  const images s(6, 1);
  for (int step = 0; step < 2; ++step) t.step(s.x, s.y);
  CHECK(recording::fault_of(t.device().log(), t.arena()) == "");
}

} // namespace trainer_image_layers_tests
