// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

namespace trainer_attention_tests {

using namespace cairn;

namespace {

// The largest difference of the output and the gradients from PyTorch's. The loss is a mean of squares whose targets are chosen
// so that its gradient is PyTorch's output gradient.
template <class Layer, std::size_t Rows, std::size_t Tokens, std::size_t Width, class T>
double distance(const std::string& name) {
  using Net = checkpoint<recompute_all, Sequential<Input<Tokens, Width>, Layer>>;
  trainer<Net, MSELoss, SGD, batch<Rows>, T> t{SGD{.learning_rate = 0}, {.seed = 1}};
  std::size_t count = 0;
  for (const char* const parameter : {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}) {
    const auto from = reference_numbers<T>(name + "/parameter" + std::to_string(count++));
    const auto to = t.parameter(std::string("0.") + parameter);
    REQUIRE(to.size() == from.size());
    std::copy(from.begin(), from.end(), to.begin());
  }
  const auto input = reference_numbers<T>(name + "/input");
  const auto view = t.evaluate(input);
  const std::vector<T> output(view.data(), view.data() + view.size());
  double largest = largest_difference(output, reference_values(name + "/output"));
  const auto gradient = reference_numbers<T>(name + "/output_gradient");
  std::vector<T> targets(output.size());
  for (std::size_t i = 0; i < output.size(); ++i) targets[i] = output[i] - gradient[i] * static_cast<T>(output.size()) / 2;
  t.step(input, targets);
  std::size_t index = 0;
  t.for_each([&](const types::named_parameter<T>& p) {
    const auto* const first = t.gradients().data() + (p.numbers.data() - t.parameters().data());
    const std::vector<T> found(first, first + p.numbers.size());
    largest = std::max(largest, largest_difference(found, reference_values(name + "/gradient" + std::to_string(index++))));
  });
  CHECK(index == 4);
  return largest;
}

template <class T>
double distance_from_torch() {
  return std::max(
      {distance<MultiheadAttention<12, 3>, 2, 5, 12, T>("attention"),
       distance<MultiheadAttention<6, 2>, 3, 1, 6, T>("attention_one_token"),
       distance<MultiheadAttention<8, 2, attention::causal>, 1, 37, 8, T>("attention_causal"),
       distance<MultiheadAttention<8, 4, attention::window<4>>, 1, 35, 8, T>("attention_window"),
       distance<MultiheadAttention<8, 2, attention::causal, attention::stored_probabilities>, 1, 37, 8, T>("attention_causal")});
}

// Two blocks of a transformer, over 40 tokens: more than a strip.
constexpr std::size_t tokens = 40, width = 8;
using Block = Sequential<Residual<LayerNorm<width>, MultiheadAttention<width, 4, attention::causal, attention::key_heads<2>>>,
                         Residual<LayerNorm<width>, Linear<width, 16>, GELU, Linear<16, width>>>;
using Text = Sequential<Input<tokens, width>, Repeat<2, Block>, Flatten, Linear<tokens * width, testing::classes>>;

// The same with the probabilities in memory.
using StoringBlock = Sequential<Residual<
    LayerNorm<width>, MultiheadAttention<width, 4, attention::causal, attention::key_heads<2>, attention::stored_probabilities>>>;
using StoringText = Sequential<Input<tokens, width>, Repeat<2, StoringBlock>, Flatten, Linear<tokens * width, testing::classes>>;

struct texts {
  std::vector<float> x;
  std::vector<int> y;
  texts(std::size_t rows, std::uint32_t stream) : x(rows * tokens * width), y(rows) {
    const types::random_key key{.seed = 12, .step = 0, .position = stream};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>(key, i) - 1;
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(ops::random_bits(key, (1U << 20) + r) % testing::classes);
  }
};
texts texts_of(int rank) { return texts(rank == 1 ? 2 : 3, static_cast<std::uint32_t>(rank)); }

template <class Net>
std::vector<float> gradients_of_micro_batches(int count, std::size_t threads_of_one) {
  trainer<Net, CrossEntropyLoss, SGD, batch<3>> t{testing::momentum, {.seed = 3, .threads = threads_of_one}};
  for (int m = 0; m < count; ++m) {
    const texts s = texts_of(m);
    if (m + 1 < count) t.accumulate(s.x, s.y);
    else t.step(s.x, s.y);
  }
  return testing::copy_of(t.gradients());
}

template <class T>
std::vector<double> losses_of(int steps) {
  trainer<Text, CrossEntropyLoss, SGD, batch<3>, T> t{SGD{.learning_rate = 0.05}, {.seed = 3}};
  const texts s = texts_of(0);
  const std::vector<accumulated<T>> x(s.x.begin(), s.x.end());
  std::vector<double> out;
  for (int step = 0; step < steps; ++step) out.push_back(t.step(x, s.y));
  return out;
}

} // namespace

TEST_CASE("trainer: MultiheadAttention has PyTorch's output and gradients") {
  CHECK(distance_from_torch<double>() < 1e-12);
  CHECK(distance_from_torch<float>() < 1e-4);
}

TEST_CASE_TEMPLATE("trainer: attention on one, two and three threads, and on as many ranks, has one set of bits", Net, Text,
                   StoringText) {
  for (const int ranks : {1, 2, 3}) {
    CAPTURE(ranks);
    const std::vector<float> want = gradients_of_micro_batches<Net>(ranks, 1);
    for (const std::size_t count : {2U, 3U}) CHECK(gradients_of_micro_batches<Net>(ranks, count) == want);
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<checkpoint<sqrt_n, Net>, threads::rank>, CrossEntropyLoss, SGD, batch<3>> t{
          rank, testing::momentum, {.seed = 3}};
      const texts s = texts_of(rank.rank());
      t.step(s.x, s.y);
      CHECK(testing::copy_of(t.gradients()) == want);
    });
  }
}

TEST_CASE("trainer: attention learns, with elements of every type") {
  const std::vector<double> wanted = losses_of<float>(8);
  CHECK(wanted.back() < 0.5 * wanted.front());
  const auto near = [&](const std::vector<double>& found, double most) {
    for (std::size_t step = 0; step < wanted.size(); ++step) CHECK(std::fabs(found[step] - wanted[step]) < most);
  };
  near(losses_of<double>(8), 1e-4);
  near(losses_of<bfloat16>(8), 0.05);
  near(losses_of<float16>(8), 0.01);
}

} // namespace trainer_attention_tests
