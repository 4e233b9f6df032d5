// SPDX-License-Identifier: MIT
// A dense block in training.
//
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../apart_ops.hpp"
#include "../image_training.hpp"
#include "../order.hpp"

namespace trainer_dense_block_tests {

using namespace cairn;

namespace {

using Dense = DenseBlock<3, 4, store_last<1>>;
using Net = Sequential<Input<5, 5, 6>, Dense, AdaptiveAvgPool2d<1>, Flatten, Linear<18, 4>>;
constexpr std::size_t pixels = 5 * 5 * 6;

template <class Model, class T = float, class Device = cpu>
testing::image_trace run(std::size_t threads = 1) {
  return testing::run_images<pixels, Model, T, Device>(threads);
}

} // namespace

TEST_CASE("trainer: a dense block has PyTorch's output, gradients and running statistics") {
  using Model = with_input_gradient<Sequential<Input<5, 5, 6>, Dense>>;
  trainer<Model, MSELoss, SGD, batch<3>, double> t{SGD{.learning_rate = 1e-30}, {.seed = 1}};
  const auto values = [](const std::string& name) { return reference_numbers<double>("dense_block/" + name); };
  std::size_t count = 0;
  t.for_each([&](const auto& p) {
    const auto from = values("parameter" + std::to_string(count++));
    REQUIRE(from.size() == p.numbers.size());
    std::copy(from.begin(), from.end(), p.numbers.begin());
  });
  REQUIRE(count == 18);
  // Targets for which the loss has the output gradient that PyTorch was given.
  const auto input = values("input"), output = values("output"), gradient = values("output_gradient");
  std::vector<double> targets(output.size());
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = output[i] - gradient[i] * static_cast<double>(output.size()) / 2;
  t.step(input, targets);

  const auto distance = [&](const auto& found, const std::string& name) {
    return largest_difference(std::vector<double>(found.begin(), found.end()), reference_values("dense_block/" + name));
  };
  CHECK(distance(t.input_gradient(), "input_gradient") < 1e-9);
  std::size_t index = 0;
  t.for_each_gradient([&](const auto& p) { CHECK(distance(p.numbers, "gradient" + std::to_string(index++)) < 1e-9); });
  index = 0;
  t.for_each_buffer([&](const auto& p) { CHECK(distance(p.numbers, "buffer" + std::to_string(index++)) < 1e-11); });
  CHECK(index == 12);
  CHECK(distance(t.evaluate(input), "evaluated") < 1e-9);
}

TEST_CASE("trainer: a dense block has the same bits with an update inside backward, and on any number of threads") {
  const auto plain = run<Net>();
  CHECK(run<fused_update<checkpoint<recompute_all, Net>>>() == plain);
  CHECK(run<Net>(3) == plain);
}

TEST_CASE("trainer: a dense block on a device with memory of its own has the cpu's bits") {
  const auto expected = run<Net>();
  CHECK(run<Net, float, apart::device>() == expected);
  CHECK(run<checkpoint<recompute_all, Net>, float, apart::device>() == expected);
}

TEST_CASE("trainer: a dense block reads nothing that is not there") {
  using Model = checkpoint<recompute_all, Net>;
  trainer<Model, CrossEntropyLoss, SGD, batch<6>, float, recording::device> t{testing::momentum, {.seed = 3}};
  const testing::image_samples<pixels> s(6, 1);
  for (int step = 0; step < 2; ++step) t.step(s.x, s.y);
  CHECK(recording::fault_of(t.device().log(), t.arena()) == "");
}

TEST_CASE("trainer of bfloat16: a dense block learns as that of float does") {
  const auto narrow = run<Net, bfloat16>().parameters, wide = run<Net>().parameters;
  REQUIRE(narrow.size() == wide.size());
  double sum = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) sum += std::abs(static_cast<double>(narrow[i] - wide[i]));
  CHECK(sum / static_cast<double>(wide.size()) < 0.02);
}

TEST_CASE("trainer: two ranks of a dense block are two micro-batches, bit for bit") {
  const auto ran = testing::run_images_on_two_ranks<pixels, Net, Net>();
  CHECK(ran.parameters[0] == ran.parameters[1]);
  CHECK(ran.parameters[0] == ran.alone);
}

} // namespace trainer_dense_block_tests
