// SPDX-License-Identifier: MIT
// Attention with key lengths, an additive mask and dropout of probabilities, where it is trained.
//
// long to compile
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace trainer_attention_extras_tests {

using namespace cairn;

namespace {

constexpr std::size_t tokens = 37, width = 8, heads = 4; // more than a strip
using Layer = TransformerEncoderLayer<width, heads, 16, GELU, attention::key_lengths, attention::added_mask,
                                      attention::dropout<percent<20>>, Dropout<percent<10>>>;
using Text = Sequential<Inputs<dims<tokens, width>, batch_constant<heads, tokens, tokens>, integer_constant<>>, Repeat<2, Layer>,
                        Flatten, Linear<tokens * width, testing::classes>>;

struct texts {
  std::vector<float> x, mask;
  std::vector<std::int32_t> lengths;
  std::vector<int> y;

  texts(std::size_t rows, std::uint32_t stream)
      : x(rows * tokens * width), mask(heads * tokens * tokens), lengths(rows), y(rows) {
    const types::random_key key{.seed = 12, .position = stream};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>(key, i) - 1;
    for (std::size_t i = 0; i < mask.size(); ++i) // the further away, the less, as each head has it, and some not at all
      mask[i] = i % 7 == 3 ? -std::numeric_limits<float>::infinity() : -static_cast<float>(i % 11) / 8;
    for (std::size_t r = 0; r < rows; ++r) {
      lengths[r] = static_cast<std::int32_t>(ops::random_bits(key, (1U << 21) + r) % (tokens + 1));
      y[r] = static_cast<int>(ops::random_bits(key, (1U << 20) + r) % testing::classes);
    }
  }
  auto given() const { return inputs(x, mask, lengths); }
};
texts texts_of(int rank) { return texts(rank == 1 ? 2 : 3, static_cast<std::uint32_t>(rank)); }

template <class Model>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<3>>;

// The gradients of some micro-batches, after a step.
template <class Model>
std::vector<float> gradients_of(int micro_batches, std::size_t of_threads) {
  training<Model> t{testing::momentum, {.seed = 3, .threads = of_threads}};
  for (int step = 0; step < 2; ++step)
    for (int m = 0; m < micro_batches; ++m) {
      const texts s = texts_of(m);
      if (m + 1 < micro_batches) t.accumulate(s.given(), s.y);
      else t.step(s.given(), s.y);
    }
  return testing::copy_of(t.gradients());
}

} // namespace

TEST_CASE("trainer: attention with extras has one set of bits under every policy, on threads and on ranks") {
  for (const int ranks : {1, 2, 3}) {
    CAPTURE(ranks);
    const std::vector<float> want = gradients_of<Text>(ranks, 1);
    for (const std::size_t count : {2U, 3U}) CHECK(gradients_of<Text>(ranks, count) == want);
    CHECK(gradients_of<checkpoint<recompute_all, Text>>(ranks, 1) == want);
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<checkpoint<sqrt_n, Text>, threads::rank>, CrossEntropyLoss, SGD, batch<3>> t{
          rank, testing::momentum, {.seed = 3}};
      const texts s = texts_of(rank.rank());
      for (int step = 0; step < 2; ++step) t.step(s.given(), s.y);
      CHECK(testing::copy_of(t.gradients()) == want);
    });
  }
}

TEST_CASE("trainer: each extra of an attention reaches the loss, and dropout only in training") {
  training<Text> t{SGD{.learning_rate = 0}, {.seed = 3}};
  const texts s = texts_of(0);
  const double loss = t.step(s.given(), s.y);
  CHECK(t.step(s.given(), s.y) != loss); // another mask
  const double evaluated = t.evaluate_loss(s.given(), s.y);
  CHECK(t.evaluate_loss(s.given(), s.y) == evaluated);
  texts shorter = s, masked = s;
  shorter.lengths[0] = s.lengths[0] > 1 ? s.lengths[0] - 1 : 2;
  masked.mask[5] += 1;
  CHECK(t.evaluate_loss(shorter.given(), s.y) != evaluated);
  CHECK(t.evaluate_loss(masked.given(), s.y) != evaluated);
}

TEST_CASE("trainer: a key length that does not fit is an error, and changes nothing") {
  training<Text> t{testing::momentum, {.seed = 3}};
  texts s = texts_of(0);
  const auto before = t.checksum();
  s.lengths[1] = static_cast<std::int32_t>(tokens) + 1;
  CHECK_THROWS_WITH_AS(t.step(s.given(), s.y), "attention: the key length of sample 1 is 38, but there are 0 to 37 keys", error);
  CHECK(t.checksum() == before);
  s.lengths[1] = 4;
  CHECK_NOTHROW(t.step(s.given(), s.y));
}

} // namespace trainer_attention_extras_tests
