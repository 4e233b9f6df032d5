// SPDX-License-Identifier: MIT
// A dense block in training.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/dense_block.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

using namespace cairn;

namespace {

using Dense = DenseBlock<3, 4, store_last<1>>;
using Net = Sequential<Input<5, 5, 6>, Dense, AdaptiveAvgPool2d<1>, Flatten, Linear<18, 3>>;
constexpr std::size_t pixels = 5 * 5 * 6;

struct images {
  std::vector<float> x;
  std::vector<int> y;
  images(std::size_t rows, std::uint32_t stream) : x(rows * pixels), y(rows) {
    const random_key key{.seed = 11, .position = stream};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * random_uniform<float>(key, i) - 1;
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(random_bits(key, (1U << 20) + r) % 3);
  }
};

// What a job of three steps leaves, the second of fewer rows.
template <class Model, class T = float>
std::vector<float> run(std::size_t threads = 1) {
  trainer<Model, CrossEntropyLoss, SGD, batch<6>, T> t{testing::momentum, {.seed = 3, .threads = threads}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const images s(step == 1 ? 2 : 6, step);
    t.step(s.x, s.y);
  }
  std::vector<float> out;
  t.for_each([&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  t.for_each_buffer([&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  return out;
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
  // Targets for which the derivative of the loss is the one that PyTorch was given.
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

TEST_CASE("trainer of bfloat16: a dense block learns as that of float does") {
  const auto narrow = run<Net, bfloat16>(), wide = run<Net>();
  REQUIRE(narrow.size() == wide.size());
  double sum = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) sum += std::abs(static_cast<double>(narrow[i] - wide[i]));
  CHECK(sum / static_cast<double>(wide.size()) < 0.02);
}

TEST_CASE("trainer: two ranks of a dense block are two micro-batches, bit for bit") {
  std::array<std::vector<float>, 2> parameters;
  threads{2}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const images s(r == 0 ? 6 : 4, 2 * step + static_cast<std::uint32_t>(r));
      t.step(s.x, s.y);
    }
    parameters[r] = testing::copy_of(t.parameters());
  });
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> alone{testing::momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const images first(6, 2 * step), second(4, 2 * step + 1);
    alone.accumulate(first.x, first.y);
    alone.step(second.x, second.y);
  }
  CHECK(parameters[0] == parameters[1]);
  CHECK(parameters[0] == testing::copy_of(alone.parameters()));
}
