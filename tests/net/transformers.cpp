// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/transformers.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace transformers_tests {

using namespace cairn;
using attention::causal;
using attention::norm_first;
using transformers::bert;
using transformers::gpt2;
using transformers::gpt2_weights;

namespace {

template <class Net>
constexpr std::size_t parameters = blueprint_of<Net, 1>::parameters;
// The published sizes.
static_assert(parameters<gpt2<>> == 124'439'808);
static_assert(parameters<gpt2<50257, 1024, 1024, 16, 24>> == 354'823'168);
static_assert(parameters<gpt2<50257, 1024, 1280, 20, 36>> == 774'030'080);
static_assert(parameters<gpt2<50257, 1024, 1600, 25, 48>> == 1'557'611'200);
static_assert(parameters<bert<>> == 109'514'298);
static_assert(parameters<bert<30522, 512, 1024, 16, 24>> == 335'174'458);

template <class... Options>
using gpt2_layer = detail::gpt2_layer<8, 2, Options...>;
template <class... Options>
using bert_layer = detail::bert_layer<8, 2, Options...>;
using Tenth = Dropout<percent<10>>;
using bert_norm = attention::norm<LayerNorm<8, fraction{1, 1'000'000'000'000}>>;

template <class Trainer>
std::map<std::string, std::vector<float>> weights_of(const Trainer& train) {
  std::map<std::string, std::vector<float>> all;
  train.for_each([&](const auto& p) { all[p.name].assign(p.numbers.begin(), p.numbers.end()); });
  return all;
}
// The deviation from 0 of one kind of tensors, by the end of their names.
double deviation(const std::map<std::string, std::vector<float>>& all, const std::string& end) {
  double squares = 0;
  std::size_t count = 0;
  for (const auto& [name, numbers] : all) {
    if (!name.ends_with(end)) continue;
    count += numbers.size();
    for (const float x : numbers) squares += static_cast<double>(x) * static_cast<double>(x);
  }
  REQUIRE(count > 0);
  return std::sqrt(squares / static_cast<double>(count));
}

std::vector<std::int32_t> integers_of(std::size_t count, std::size_t below, std::uint32_t stream) {
  const types::random_key key{.seed = 6, .position = stream};
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::int32_t>(ops::random_bits(key, i) % below));
  return out;
}

constexpr std::size_t words = 13, length = 5;
using SmallGpt = gpt2<words, length, 8, 2, 2, Tenth>;
using SmallBert = bert<words, length, 8, 2, 2, Tenth>;

// The weights after two steps.
template <class Model>
auto learnt() {
  trainer<Model, CrossEntropyLoss, AdamW, batch<3>> train{AdamW{.learning_rate = 0.01}, {.seed = 3}};
  for (std::uint32_t step = 0; step < 2; ++step) {
    const auto tokens = integers_of(3 * length, words, step), targets = integers_of(3 * length, words, 10 + step);
    if constexpr (std::is_same_v<detail::function_of<Model>, detail::function_of<SmallGpt>>) train.step(tokens, targets);
    else train.step(inputs(tokens, integers_of(3 * length, 2, 20 + step)), targets);
  }
  return weights_of(train);
}
template <class Net>
void check_policies() {
  const auto plain = learnt<Net>();
  CHECK(learnt<checkpoint<sqrt_n, Net>>() == plain);
  CHECK(learnt<checkpoint<recompute_all, Net>>() == plain);
  CHECK(learnt<checkpoint<recompute_cheap, Net>>() == plain);
  CHECK(learnt<checkpoint<budget_fraction<60>, Net>>() == plain);
}

} // namespace

TEST_CASE("transformers: gpt2 and bert are the networks of their comments") {
  using GptLayer = TransformerEncoderLayer<8, 2, 32, norm_first, causal, TanhGELU>;
  using Gpt = Sequential<Inputs<integers<7>>, Embedding<9, 8>, LearnedPositions<7, 8>, Repeat<3, GptLayer>, LayerNorm<8>,
                         Tied<Linear<8, 9, false>, Embedding<9, 8>>>;
  static_assert(std::is_same_v<gpt2<9, 7, 8, 2, 3>, initialized<Gpt, gpt2_weights<3>>>);

  using Norm = LayerNorm<8, fraction{1, 1'000'000'000'000}>;
  using Words = Sum<Embedding<9, 8>, Embedding<2, 8>>;
  using BertLayer = TransformerEncoderLayer<8, 2, 32, attention::norm<Norm>, GELU>;
  using Bert = Sequential<Inputs<integers<7>, integers<7>>, Words, LearnedPositions<7, 8>, Norm, Repeat<3, BertLayer>,
                          Linear<8, 8>, GELU, Norm, Tied<Linear<8, 9>, Words>>;
  static_assert(std::is_same_v<bert<9, 7, 8, 2, 3>, initialized<Bert, normal_weights<percent<2>>>>);
  static_assert(Norm::eps == 1e-12);
}

TEST_CASE("transformers: options take the place of an option of their kind, and Dropout is after the embeddings too") {
  static_assert(std::is_same_v<gpt2_layer<GELU>, TransformerEncoderLayer<8, 2, 32, norm_first, causal, GELU>>);
  static_assert(std::is_same_v<gpt2_layer<attention::window<3>, Tenth>,
                               TransformerEncoderLayer<8, 2, 32, norm_first, TanhGELU, attention::window<3>, Tenth>>);
  static_assert(std::is_same_v<gpt2_layer<attention::key_heads<1>>,
                               TransformerEncoderLayer<8, 2, 32, norm_first, causal, TanhGELU, attention::key_heads<1>>>);
  static_assert(std::is_same_v<bert_layer<SiLU, causal>, TransformerEncoderLayer<8, 2, 32, bert_norm, SiLU, causal>>);
  static_assert(std::is_same_v<bert_layer<attention::norm<RMSNorm<8>>>,
                               TransformerEncoderLayer<8, 2, 32, GELU, attention::norm<RMSNorm<8>>>>);
  static_assert(!detail::made_of<gpt2_layer<norm_first>>::is_right && !detail::made_of<gpt2_layer<GELU, SiLU>>::is_right);

  using Gpt = detail::transformers_of<causal, Tenth>::gpt2<9, 7, 8, 3, gpt2_layer<Tenth>>;
  static_assert(std::is_same_v<detail::pack_element<3, detail::made_of<Gpt>::parts>, Tenth>);
  using Bert = detail::transformers_of<Tenth>::bert<9, 7, 8, 3, bert_layer<Tenth>>;
  static_assert(std::is_same_v<detail::pack_element<4, detail::made_of<Bert>::parts>, Tenth>);
}

TEST_CASE("transformers: the names of parameters are those of the layers") {
  const auto names_in = [](const std::vector<std::string>& all, const std::string& place) {
    std::size_t count = 0;
    for (const std::string& name : all) count += name.starts_with(place) ? 1U : 0U;
    return count;
  };
  const std::vector<std::string> gpt = testing::names_of<gpt2<9, 7, 8, 2, 2>>();
  CHECK(gpt.size() == 2 + 2 * 12 + 2);
  CHECK(gpt[0] == "0.weight");
  CHECK(gpt[1] == "1.weight");
  CHECK(gpt[4] == "2.self_attn.in_proj_weight");
  CHECK(names_in(gpt, "3.") == 12);
  CHECK(gpt.back() == "4.bias");
  const std::vector<std::string> all = testing::names_of<bert<9, 7, 8, 2, 2>>();
  CHECK(all.size() == 3 + 2 + 2 * 12 + 5);
  CHECK(all[0] == "0.0.weight");
  CHECK(all[1] == "0.1.weight");
  CHECK(all[2] == "1.weight");
  CHECK(names_in(all, "4.") == 12);
  CHECK(all.back() == "8.bias");
}

TEST_CASE("transformers: GPT-2's weights have a deviation of 0.02, and less where they end in one of its sums") {
  using Char = gpt2<65, 64, 128, 4, 4>;
  trainer<Char, CrossEntropyLoss, AdamW, batch<4>> train{AdamW{}, {.seed = 5}};
  const auto all = weights_of(train);
  const double last = 0.02 / std::sqrt(8.0);
  for (const std::string n : {"2.", "3.", "4.", "5."}) {
    CAPTURE(n);
    for (const auto& [name, expected] : std::map<std::string, double>{{"self_attn.in_proj_weight", 0.02},
                                                                      {"self_attn.out_proj.weight", last},
                                                                      {"linear1.weight", 0.02},
                                                                      {"linear2.weight", last}})
      CHECK(deviation(all, n + name) == doctest::Approx(expected).epsilon(0.03));
  }
  CHECK(deviation(all, "0.weight") == doctest::Approx(0.02).epsilon(0.03));
  CHECK(deviation(all, "1.weight") == doctest::Approx(0.02).epsilon(0.03));
  CHECK(deviation(all, "bias") == 0);
  for (const char* const norm : {"norm1.weight", "norm2.weight", "6.weight"})
    for (const auto& [name, numbers] : all)
      if (name.ends_with(norm)) CHECK(numbers == std::vector<float>(128, 1));

  // The head is tied, and the first loss is nearly that of guessing among 65 characters: 4.17.
  const auto tokens = integers_of(4 * 64, 65, 1), targets = integers_of(4 * 64, 65, 2);
  CHECK(train.evaluate_loss(tokens, targets) == doctest::Approx(std::log(65.0)).epsilon(0.03));
}

TEST_CASE("transformers: BERT's weights have a deviation of 0.02") {
  trainer<bert<65, 64, 128, 4, 2>, CrossEntropyLoss, AdamW, batch<2>> train{AdamW{}, {.seed = 5}};
  const auto all = weights_of(train);
  for (const std::string name :
       {"in_proj_weight", "out_proj.weight", "linear1.weight", "linear2.weight", "0.0.weight", "5.weight"})
    CHECK(deviation(all, name) == doctest::Approx(0.02).epsilon(0.03));
  CHECK(deviation(all, "0.1.weight") == doctest::Approx(0.02).epsilon(0.15)); // 256 numbers
  CHECK(deviation(all, "bias") == 0);
  const auto tokens = integers_of(2 * 64, 65, 1), segments = integers_of(2 * 64, 2, 2), targets = integers_of(2 * 64, 65, 3);
  CHECK(train.evaluate_loss(inputs(tokens, segments), targets) == doctest::Approx(std::log(65.0)).epsilon(0.03));
}

TEST_CASE("transformers: every policy has the same bits") {
  check_policies<SmallGpt>();
  check_policies<SmallBert>();
}

} // namespace transformers_tests
