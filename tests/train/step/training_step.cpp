// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/step/training_step.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

namespace training_step_tests {

using namespace cairn;
using testing::classes;
using testing::copy_of;
using testing::features;
using testing::Net;
using testing::samples;

namespace {

template <class Model>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<6>>;

} // namespace

TEST_CASE("training_step: a generator before its discriminator learns as the two in one network do") {
  using Generator = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Dropout<percent<30>>, Linear<8, features>>;
  using Judge = Sequential<Linear<features, 12>, LayerNorm<12>, ReLU, Linear<12, classes>>;
  using Whole = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Dropout<percent<30>>, Linear<8, features>, frozen<Judge>>;
  training<Whole> whole{testing::momentum, {.seed = 3}};
  training<Generator> generator{testing::momentum, {.seed = 3}};
  training<with_input_gradient<Judge>> discriminator{testing::momentum, {.seed = 4}};
  // Copies the parameters into the whole network: the generator's first, then the discriminator's.
  std::vector<std::span<float>> from;
  generator.for_each([&](const types::named_parameter<float>& p) { from.push_back(p.numbers); });
  discriminator.for_each([&](const types::named_parameter<float>& p) { from.push_back(p.numbers); });
  std::size_t next = 0;
  whole.for_each([&](const types::named_parameter<float>& p) {
    std::copy(from[next].begin(), from[next].end(), p.numbers.begin());
    ++next;
  });
  REQUIRE(next == from.size());
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples s(step == 1 ? 4 : 6, step);
    const auto fake = generator.forward(s.x);
    const std::vector<float> before = copy_of(generator.buffers());
    const double loss = discriminator.accumulate(fake, s.y);
    CHECK(copy_of(generator.buffers()) == before); // forward() updates no statistics
    generator.step_from(s.x, discriminator.input_gradient());
    discriminator.drop_micro_batches();
    CHECK(loss == whole.step(s.x, s.y));
    std::vector<float> apart, together;
    generator.for_each(
        [&](const types::named_parameter<float>& p) { apart.insert(apart.end(), p.numbers.begin(), p.numbers.end()); });
    whole.for_each([&](const types::named_parameter<float>& p) {
      if (!p.is_frozen) together.insert(together.end(), p.numbers.begin(), p.numbers.end());
    });
    CHECK(apart == together);
  }
}

TEST_CASE("training_step: a generator learns from its discriminator as in PyTorch") {
  using Generator = Sequential<Linear<3, 6>, BatchNorm1d<6>, ReLU, Linear<6, 5>>;
  using Judge = Sequential<Linear<5, 7>, Tanh, Linear<7, 1>>;
  trainer<Generator, MSELoss, SGD, batch<4>, double> generator{SGD{.learning_rate = 0.5}};
  trainer<with_input_gradient<checkpoint<sqrt_n, Judge>>, BCEWithLogitsLoss, SGD, batch<4>, double> judge{SGD{}};
  const auto take = [](auto& train, const std::string& name) {
    std::size_t next = 0;
    train.for_each([&](const types::named_parameter<double>& q) {
      const auto from = reference_numbers<double>("generator/" + name + std::to_string(next++));
      REQUIRE(from.size() == q.numbers.size());
      std::copy(from.begin(), from.end(), q.numbers.begin());
    });
  };
  take(generator, "made");
  take(judge, "judge");
  const std::vector<double> real(4, 1.0);
  std::vector<double> losses;
  for (int step = 0; step < 2; ++step) {
    const std::string number = std::to_string(step);
    const auto noise = reference_numbers<double>("generator/noise" + number);
    const auto fakes = generator.forward(noise);
    CHECK(largest_difference(std::vector<double>(fakes.begin(), fakes.end()), reference_values("generator/fakes" + number)) <
          1e-14);
    losses.push_back(judge.accumulate(fakes, real));
    const auto gradient = judge.input_gradient();
    CHECK(largest_difference(std::vector<double>(gradient.begin(), gradient.end()),
                             reference_values("generator/input_gradient" + number)) < 1e-14);
    generator.step_from(noise, gradient);
    judge.drop_micro_batches();
  }
  CHECK(largest_difference(losses, reference_values("generator/losses")) < 1e-14);
  std::size_t next = 0;
  generator.for_each([&](const types::named_parameter<double>& q) {
    const std::vector<double> trained(q.numbers.begin(), q.numbers.end());
    CHECK(largest_difference(trained, reference_values("generator/trained" + std::to_string(next++))) < 1e-14);
  });
  const auto mean = generator.buffer("1.running_mean");
  CHECK(largest_difference(std::vector<double>(mean.begin(), mean.end()), reference_values("generator/running_mean")) < 1e-14);
}

TEST_CASE("training_step: micro-batches of given gradients add up as those of a loss do") {
  training<with_input_gradient<Net>> by_loss{testing::momentum, {.seed = 3}};
  training<Net> given{testing::momentum, {.seed = 3}};
  // Computes the gradient of a loss by the network's output, as the input gradient of an identity.
  using Nothing = Sequential<Input<classes>, Flatten>;
  training<with_input_gradient<Nothing>> loss{testing::momentum, {.seed = 3}};
  for (std::uint32_t stream = 0; stream < 3; ++stream) {
    const samples s(6, stream);
    loss.step(given.forward(s.x), s.y);
    if (stream < 2) {
      by_loss.accumulate(s.x, s.y);
      given.accumulate_from(s.x, loss.input_gradient());
    } else {
      by_loss.step(s.x, s.y);
      given.step_from(s.x, loss.input_gradient());
    }
  }
  CHECK(given.checksum() == by_loss.checksum());
  CHECK(given.steps() == 1);
}

TEST_CASE("training_step: what does not fit is refused and leaves everything as it was") {
  training<Net> t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  const std::uint64_t before = t.checksum();
  const std::vector<float> few(5 * classes, 1.0F);
  CHECK(testing::has(testing::text_of([&] { t.step_from(s.x, few); }),
                     "trainer::step_from: expected the gradient of 6 outputs, as many as there are inputs, found that of 5"));
  CHECK(testing::text_of([&] { t.forward(std::vector<float>(7 * features)); }) != "");
  CHECK(t.checksum() == before);
  t.accumulate(s.x, s.y);
  t.drop_micro_batches();
  training<Net> other{testing::momentum, {.seed = 3}};
  CHECK(t.step(s.x, s.y) == other.step(s.x, s.y));
  CHECK(t.checksum() == other.checksum());
}

} // namespace training_step_tests
