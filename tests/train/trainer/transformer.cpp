// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

namespace trainer_transformer_tests {

using namespace cairn;
using attention::causal;
using attention::norm_first;

namespace {

// The largest difference of the output and the gradients from PyTorch's. The loss is a mean of squares whose targets are chosen so
// that its gradient is PyTorch's output gradient.
template <class Layer, std::size_t Rows, std::size_t Tokens, std::size_t Width, class T>
double distance(const std::string& name) {
  using Net = checkpoint<recompute_all, Sequential<Input<Tokens, Width>, Layer>>;
  trainer<Net, MSELoss, SGD, batch<Rows>, T> t{SGD{.learning_rate = 0}, {.seed = 1}};
  const std::vector<std::string> names{"self_attn.in_proj_weight",
                                       "self_attn.in_proj_bias",
                                       "self_attn.out_proj.weight",
                                       "self_attn.out_proj.bias",
                                       "linear1.weight",
                                       "linear1.bias",
                                       "linear2.weight",
                                       "linear2.bias",
                                       "norm1.weight",
                                       "norm1.bias",
                                       "norm2.weight",
                                       "norm2.bias"}; // torch's order
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto from = reference_numbers<T>(name + "/parameter" + std::to_string(i));
    const auto to = t.parameter("0." + names[i]);
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
  std::size_t seen = 0;
  t.for_each([&](const types::named_parameter<T>& p) {
    const auto which = static_cast<std::size_t>(std::find(names.begin(), names.end(), p.name.substr(2)) - names.begin());
    REQUIRE(which < names.size());
    const auto* const first = t.gradients().data() + (p.numbers.data() - t.parameters().data());
    const std::vector<T> found(first, first + p.numbers.size());
    largest = std::max(largest, largest_difference(found, reference_values(name + "/gradient" + std::to_string(which))));
    ++seen;
  });
  CHECK(seen == names.size());
  return largest;
}

template <class T>
double distance_from_torch() {
  return std::max(distance<TransformerEncoderLayer<8, 2, 12>, 2, 5, 8, T>("encoder"),
                  distance<TransformerEncoderLayer<8, 2, 12, norm_first, GELU, causal>, 2, 6, 8, T>("encoder_norm_first"));
}

constexpr std::size_t tokens = 9, width = 8;
using Text =
    Sequential<Input<tokens, width>, Repeat<2, TransformerEncoderLayer<width, 2, 16, norm_first, GELU, causal>>,
               TransformerEncoderLayer<width, 4, 16, Dropout<percent<10>>>, Flatten, Linear<tokens * width, testing::classes>>;

struct texts {
  std::vector<float> x;
  std::vector<int> y;
  explicit texts(int rank) : x(rows(rank) * tokens * width), y(rows(rank)) {
    const types::random_key key{.seed = 12, .step = 0, .position = static_cast<std::uint32_t>(rank)};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>(key, i) - 1;
    for (std::size_t r = 0; r < y.size(); ++r) y[r] = static_cast<int>(ops::random_bits(key, (1U << 20) + r) % testing::classes);
  }
  static std::size_t rows(int rank) { return rank == 1 ? 2 : 3; }
};

std::vector<float> gradients_of_micro_batches(int count) {
  trainer<Text, CrossEntropyLoss, SGD, batch<3>> t{testing::momentum, {.seed = 3}};
  for (int m = 0; m < count; ++m) {
    const texts s(m);
    if (m + 1 < count) t.accumulate(s.x, s.y);
    else t.step(s.x, s.y);
  }
  return testing::copy_of(t.gradients());
}

} // namespace

TEST_CASE("trainer: TransformerEncoderLayer has PyTorch's output and gradients") {
  CHECK(distance_from_torch<double>() < 1e-12);
  CHECK(distance_from_torch<float>() < 1e-4);
}

TEST_CASE("trainer: ranks with TransformerEncoderLayers are micro-batches, bit for bit, under a budget too") {
  for (const int ranks : {1, 2, 3}) {
    CAPTURE(ranks);
    const std::vector<float> want = gradients_of_micro_batches(ranks);
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<checkpoint<budget_fraction<60>, Text>, threads::rank>, CrossEntropyLoss, SGD, batch<3>> t{
          rank, testing::momentum, {.seed = 3}};
      const texts s(rank.rank());
      t.step(s.x, s.y);
      CHECK(testing::copy_of(t.gradients()) == want);
    });
  }
}

} // namespace trainer_transformer_tests
