// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/trainer.hpp>

#include "../layer/several_layers.hpp"
#include "training.hpp"

namespace input_arrays_tests {

using namespace cairn;
using testing::has;
using testing::text_of;

namespace {

constexpr std::size_t wide = 12;
using Block = Residual<LayerNorm<wide>, Linear<wide, wide>, ReLU, Linear<wide, wide>, testing::Masked<>>;
using Net = Sequential<Inputs<dims<wide>, constant<wide>>, Linear<wide, wide>, testing::Masked<>, Repeat<2, Block>,
                       checkpoint<recompute_all, Sequential<testing::Split, Dropout<>, Linear<wide, wide>, testing::GatedPair>>,
                       Linear<wide, testing::classes>>;

// Rows of numbers, each with a mask and a class.
struct masked_samples {
  std::vector<float> hidden, mask;
  std::vector<int> classes;

  masked_samples(std::size_t rows, std::uint32_t stream) : hidden(rows * wide), mask(rows * wide), classes(rows) {
    const types::random_key key{.seed = 12, .step = 0, .position = stream};
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      hidden[i] = 2 * ops::random_uniform<float>(key, i) - 1;
      mask[i] = static_cast<float>(ops::random_bits(key, (1U << 20) + i) % 2);
    }
    for (std::size_t r = 0; r < rows; ++r)
      classes[r] = static_cast<int>(ops::random_bits(key, (1U << 21) + r) % testing::classes);
  }
};

template <class Model>
using trainer_of = trainer<Model, CrossEntropyLoss, SGD, batch<6>>;

template <class Trainer>
double step(Trainer& t, const masked_samples& s) {
  return t.step(inputs(s.hidden, s.mask), s.classes);
}

// The results of two steps, the second of two micro-batches, and of an evaluation.
struct trace {
  std::vector<double> losses;
  std::vector<float> outputs;
  std::uint64_t checksum = 0;
  bool operator==(const trace&) const = default;
};
template <class Model>
trace train() {
  trainer_of<Model> t{testing::momentum, {.seed = 3}};
  const masked_samples a(6, 1), b(4, 2), c(5, 3);
  trace out;
  out.losses.push_back(step(t, a));
  out.losses.push_back(t.accumulate(inputs(b.hidden, b.mask), b.classes));
  out.losses.push_back(step(t, c));
  out.losses.push_back(t.evaluate_loss(inputs(a.hidden, a.mask), a.classes));
  const auto view = t.evaluate(inputs(std::span(a.hidden), a.mask));
  out.outputs.assign(view.data(), view.data() + view.size());
  out.checksum = t.checksum();
  return out;
}

} // namespace

TEST_CASE("inputs: every policy trains a network of several tensors to the same bits") {
  const trace want = train<Net>();
  CHECK(want.losses[0] > 0);
  CHECK(train<checkpoint<recompute_all, Net>>() == want);
  CHECK(train<checkpoint<sqrt_n, Net>>() == want);
  CHECK(train<checkpoint<revolve<2>, Net>>() == want);
  CHECK(train<checkpoint<every<2>, Net>>() == want);
}

TEST_CASE("inputs: the mask reaches the layers") {
  trainer_of<Net> t{testing::momentum, {.seed = 3}};
  const masked_samples s(6, 1);
  const double loss = t.evaluate_loss(inputs(s.hidden, s.mask), s.classes);
  const std::vector<float> ones(s.mask.size(), 1.0F);
  CHECK(t.evaluate_loss(inputs(s.hidden, ones), s.classes) != loss);
}

TEST_CASE("inputs: ranks are micro-batches, bit for bit") {
  trainer_of<Net> alone{testing::momentum, {.seed = 3}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const masked_samples first(6, 10 * i), second(4, 10 * i + 1);
    alone.accumulate(inputs(first.hidden, first.mask), first.classes);
    step(alone, second);
  }
  const std::vector<float> want(alone.gradients().begin(), alone.gradients().end());
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<checkpoint<sqrt_n, Net>, threads::rank, bucket_bytes<512>>, CrossEntropyLoss, SGD, batch<6>> t{
        rank, testing::momentum, {.seed = 3}};
    for (std::uint32_t i = 0; i < 3; ++i)
      step(t, masked_samples(rank.rank() == 0 ? 6 : 4, 10 * i + static_cast<std::uint32_t>(rank.rank())));
    if (t.checksum() != alone.checksum()) throw error("the ranks' parameters differ from one rank's");
    if (std::memcmp(t.gradients().data(), want.data(), want.size() * sizeof(float)) != 0)
      throw error("the ranks' gradients differ from one rank's");
  });
}

TEST_CASE("inputs: what is wrong is said with the array's number") {
  trainer_of<Net> t{testing::momentum, {.seed = 3}};
  const masked_samples s(6, 1), less(5, 1);
  const std::uint64_t before = t.checksum();
  std::string said = text_of([&] { t.step(inputs(s.hidden, less.mask), s.classes); });
  CHECK(has(said, "array 1 of trainer::step, inputs: expected 6 samples, as many as array 0 has, found 5"));
  said = text_of([&] { t.evaluate(inputs(s.hidden, std::vector<float>(7))); });
  CHECK(has(said, "array 1 of trainer::evaluate, inputs: expected samples of 12 numbers, found 7"));
  said = text_of([&] { t.step(inputs(s.hidden, s.mask), less.classes); });
  CHECK(has(said, "expected targets for 6 samples"));
  CHECK(t.checksum() == before);
}

TEST_CASE("inputs: a network of one tensor takes them too") {
  using Plain = Sequential<Linear<wide, testing::classes>>;
  const masked_samples s(6, 1);
  trainer<Plain, CrossEntropyLoss, SGD, batch<6>> a{testing::momentum, {.seed = 3}}, b{testing::momentum, {.seed = 3}};
  CHECK(a.step(s.hidden, s.classes) == b.step(inputs(s.hidden), s.classes));
  CHECK(a.checksum() == b.checksum());
}

} // namespace input_arrays_tests
