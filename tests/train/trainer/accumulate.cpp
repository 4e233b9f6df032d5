// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace trainer_accumulate_tests {

using namespace cairn;
using testing::samples;

namespace {

// Without Dropout, whose draws would differ between the micro-batches.
using Net = Sequential<Linear<testing::features, 16>, ReLU, Residual<LayerNorm<16>, Linear<16, 16>>,
                       checkpoint<recompute_all, Sequential<Linear<16, 20>, ReLU, Linear<20, 16>>>, Linear<16, testing::classes>>;
using one_trainer = trainer<Net, CrossEntropyLoss, SGD, batch<6>>;

std::vector<float> gradients_of(const samples<>& s) {
  one_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  t.step(s.x, s.y);
  return {t.gradients().begin(), t.gradients().end()};
}

} // namespace

TEST_CASE("trainer: micro-batches of any size add their gradients in order") {
  const samples a(6, 1), b(1, 2), c(4, 3);
  one_trainer t{SGD{.learning_rate = 0.5}, {.seed = 3}};
  const std::vector<float> before(t.parameters().begin(), t.parameters().end());
  t.accumulate(a.x, a.y);
  t.accumulate(b.x, b.y);
  CHECK(t.steps() == 0);
  CHECK(std::vector<float>(t.parameters().begin(), t.parameters().end()) == before);
  t.step(c.x, c.y);
  CHECK(t.steps() == 1);
  const std::vector<float> ga = gradients_of(a), gb = gradients_of(b), gc = gradients_of(c);
  for (std::size_t i = 0; i < ga.size(); ++i) {
    const float sum = ga[i] + gb[i] + gc[i];
    // The step averages over its micro-batches, and so do the gradients that it shows.
    CHECK(t.gradients()[i] == sum * static_cast<float>(1.0 / 3));
    CHECK(t.parameters()[i] == doctest::Approx(before[i] - 0.5F * sum / 3).epsilon(1e-5));
  }
}

TEST_CASE("trainer: gradients are shown by the names of their parameters") {
  const samples a(6, 1);
  one_trainer t{SGD{.learning_rate = 0.5}, {.seed = 3}};
  std::vector<std::string> parameters, gradients;
  t.for_each([&](const types::named_parameter<float>& q) { parameters.push_back(q.name); });
  t.step(a.x, a.y);
  const float* last = nullptr;
  t.for_each_gradient([&](const types::named_parameter<float>& q) {
    gradients.push_back(q.name);
    CHECK(q.numbers.data() >= t.gradients().data());
    CHECK(q.numbers.data() + q.numbers.size() <= t.gradients().data() + t.gradients().size());
    CHECK(q.numbers.data() != last);
    last = q.numbers.data();
  });
  CHECK(gradients == parameters);
}

TEST_CASE("trainer: gradients start anew after a step") {
  const samples a(6, 1), b(3, 2);
  one_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  t.accumulate(a.x, a.y);
  t.step(a.x, a.y);
  t.step(b.x, b.y);
  CHECK(std::vector<float>(t.gradients().begin(), t.gradients().end()) == gradients_of(b));
}

TEST_CASE("trainer: what is clipped is the mean over the micro-batches") {
  const samples a(6, 1), b(3, 2);
  one_trainer t{SGD{.learning_rate = 1}, {.seed = 3, .clip = {0.125}}};
  const std::vector<float> before(t.parameters().begin(), t.parameters().end());
  t.accumulate(a.x, a.y);
  t.step(b.x, b.y);
  double squares = 0, moved = 0, shown = 0;
  const std::vector<float> ga = gradients_of(a), gb = gradients_of(b);
  for (std::size_t i = 0; i < before.size(); ++i) {
    squares += std::pow((double{ga[i]} + gb[i]) / 2, 2);
    shown += std::pow(double{t.gradients()[i]}, 2);
    moved += std::pow(double{t.parameters()[i]} - before[i], 2);
  }
  REQUIRE(std::sqrt(squares) > 0.2);
  CHECK(t.gradient_norm() == doctest::Approx(std::sqrt(squares)).epsilon(1e-6));
  CHECK(std::sqrt(moved) == doctest::Approx(0.125).epsilon(1e-4));
  CHECK(std::sqrt(shown) == doctest::Approx(0.125).epsilon(1e-4)); // they are shown clipped, as in torch
}

TEST_CASE("trainer: an evaluation between micro-batches changes nothing") {
  const samples a(6, 1), b(3, 2);
  const auto run = [&](bool looks) {
    one_trainer t{testing::momentum, {.seed = 3}};
    t.accumulate(a.x, a.y);
    if (looks) t.evaluate_loss(b.x, b.y);
    t.step(b.x, b.y);
    return t.checksum();
  };
  CHECK(run(true) == run(false));
}

} // namespace trainer_accumulate_tests
