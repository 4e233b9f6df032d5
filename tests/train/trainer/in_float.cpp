// SPDX-License-Identifier: MIT
// Layers that stay float in a network of 16 bits.
//
// long to compile
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/in_float.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace trainer_in_float_tests {

using namespace cairn;
using testing::classes;
using testing::copy_of;
using testing::features;
using samples = testing::samples<float>;

namespace {

// Everything that a layer can have: buffers, a tape, a workspace, random numbers, a fused activation.
using Body = Sequential<Linear<features, 24>, BatchNorm1d<24>, Tanh, Dropout<percent<20>>, LayerNorm<24>, Linear<24, 24>, ReLU,
                        Linear<24, classes>>;
constexpr AdamW adamw{.learning_rate = 0.01};

// Numbers that bfloat16 has too.
template <class T>
std::vector<float> rounded(std::vector<float> numbers) {
  for (float& x : numbers) x = static_cast<float>(T(x));
  return numbers;
}
template <class Trainer>
std::vector<float> learnt(Trainer& t) {
  std::vector<float> out;
  t.for_each([&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  t.for_each_buffer([&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  return out;
}

// Steps of a network that is in float as a whole: the same bits as those of a float network. Only what enters and leaves is
// rounded, and what the test gives has no more bits.
template <class T>
void check_whole() {
  trainer<with_input_gradient<Sequential<in_float<Body>>>, MSELoss, AdamW, batch<8>, T> own{adamw, {.seed = 3}};
  // An Input is one layer, as a border is: random numbers depend on positions.
  trainer<with_input_gradient<Sequential<Input<features>, Body>>, MSELoss, AdamW, batch<8>, float> wide{adamw, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples s(7, step);
    const std::vector<float> x = rounded<T>(s.x);
    std::vector<float> gradient(7 * classes);
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(static_cast<int>(i % 7) - 3) / 32;
    CHECK(copy_of(own.forward(x)) == rounded<T>(copy_of(wide.forward(x))));
    own.step_from(x, gradient);
    wide.step_from(x, gradient);
    REQUIRE(learnt(own) == learnt(wide));
    CHECK(copy_of(own.input_gradient()) == rounded<T>(copy_of(wide.input_gradient())));
    CHECK(copy_of(own.evaluate(x)) == rounded<T>(copy_of(wide.evaluate(x))));
  }
}

using Mixed = Sequential<Linear<features, 24>, ReLU, Residual<in_float<LayerNorm<24>, Linear<24, 24>>, GELU, Linear<24, 24>>,
                         in_float<BatchNorm1d<24>, Dropout<percent<20>>, Linear<24, classes>>>;

template <class Model, class T>
std::vector<float> trained(std::size_t threads = 1, std::uint64_t seed = 3) {
  trainer<Model, CrossEntropyLoss, AdamW, batch<8>, T> t{adamw, {.seed = seed, .threads = threads}};
  for (std::uint32_t step = 0; step < 5; ++step) {
    const samples s(step == 2 ? 5 : 8, step % 3);
    t.step(s.x, s.y);
  }
  return learnt(t);
}

} // namespace

TEST_CASE("in_float: all layers of a network inside have the bits of a float network") {
  check_whole<bfloat16>();
  check_whole<float16>();
}

TEST_CASE("in_float: in a float network it changes no bit") {
  using Twin = Sequential<in_float<Linear<features, 24>, LayerNorm<24>>, GELU, in_float<Linear<24, classes>>>;
  using Same = Sequential<Linear<features, 24>, LayerNorm<24>, GELU, Linear<24, classes>>;
  trainer<Twin, CrossEntropyLoss, AdamW, batch<8>> own{adamw};
  trainer<Same, CrossEntropyLoss, AdamW, batch<8>> other{adamw};
  own.for_each([&](const auto& q) {
    const auto from = other.parameter(q.name);
    std::copy(from.begin(), from.end(), q.numbers.begin());
  });
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples s(8, step);
    CHECK(own.step(s.x, s.y) == other.step(s.x, s.y));
    CHECK(learnt(own) == learnt(other));
  }
}

TEST_CASE("in_float: every policy, a fused update and any number of threads leave the same bits") {
  const std::vector<float> plain = trained<Mixed, bfloat16>();
  CHECK(trained<checkpoint<sqrt_n, Mixed>, bfloat16>() == plain);
  CHECK(trained<checkpoint<recompute_all, Mixed>, bfloat16>() == plain);
  CHECK(trained<fused_update<checkpoint<every<2>, Mixed>>, bfloat16>() == plain);
  CHECK(trained<Mixed, bfloat16>(2) == plain);
  CHECK(trained<checkpoint<sqrt_n, Mixed>, float16>(2) == trained<Mixed, float16>());
}

TEST_CASE("in_float: two ranks are two micro-batches, bit for bit") {
  std::array<std::vector<float>, 2> of_ranks;
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Mixed, threads::rank>, CrossEntropyLoss, AdamW, batch<8>, bfloat16> t{rank, adamw, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const samples s(rank.rank() == 0 ? 8 : 6, 2 * step + static_cast<std::uint32_t>(rank.rank()));
      t.step(s.x, s.y);
    }
    of_ranks[static_cast<std::size_t>(rank.rank())].assign(t.parameters().begin(), t.parameters().end());
  });
  trainer<Mixed, CrossEntropyLoss, AdamW, batch<8>, bfloat16> alone{adamw, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples first(8, 2 * step), second(6, 2 * step + 1);
    alone.accumulate(first.x, first.y);
    alone.step(second.x, second.y);
  }
  CHECK(of_ranks[0] == of_ranks[1]);
  CHECK(of_ranks[0] == std::vector<float>(alone.parameters().begin(), alone.parameters().end()));
}

// Frozen parameters lie among the buffers, and inside they are the master copy.
TEST_CASE("in_float: in a frozen block, and with tokens") {
  trainer<Sequential<frozen<in_float<Linear<features, classes>>>, Linear<classes, classes>>, CrossEntropyLoss, AdamW, batch<8>,
          bfloat16>
      own{adamw};
  model<Sequential<Linear<features, classes>>, batch<8>> wide;
  wide.for_each([&](const auto& q) {
    const auto from = own.parameter(q.name);
    std::copy(from.begin(), from.end(), q.numbers.begin());
  });
  for (float& w : own.parameter("1.weight")) w = 0;
  for (std::size_t i = 0; i < classes; ++i) own.parameter("1.weight")[i * classes + i] = 1;
  for (float& b : own.parameter("1.bias")) b = 0;
  const samples s(8, 1);
  const std::vector<float> x = rounded<bfloat16>(s.x);
  CHECK(copy_of(own.evaluate(x)) == rounded<bfloat16>(copy_of(wide.evaluate(x))));

  using Words = Sequential<Inputs<integers<3>>, in_float<Embedding<12, 8>, LayerNorm<8>>, Linear<8, 12>>;
  trainer<Words, CrossEntropyLoss, AdamW, batch<4>, bfloat16> words{AdamW{.learning_rate = 0.05}};
  const std::vector<std::int32_t> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0};
  const double first = words.step(tokens, tokens);
  double last = first;
  for (int step = 0; step < 30; ++step) last = words.step(tokens, tokens);
  CHECK(last < 0.3 * first);
}

} // namespace trainer_in_float_tests
