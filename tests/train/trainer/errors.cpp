// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace trainer_errors_tests {

using namespace cairn;
using testing::has;
using testing::Net;
using testing::samples;
using testing::text_of;

namespace {

using net_trainer = trainer<Net, CrossEntropyLoss, SGD, batch<6>>;

// Asks for one state more than an optimizer can have.
struct greedy {
  double learning_rate = 0.1;
  std::size_t states() const { return detail::most_optimizer_states + 1; }
  template <class T>
  void update(auto&, const update_call<T>&) const {}
};
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

} // namespace

TEST_CASE("trainer: inputs that do not fit are refused") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1), more(7, 1);
  const std::uint64_t before = t.checksum();
  const std::string odd = text_of([&] { t.step(std::vector<float>(25), s.y); });
  CHECK(has(odd, "expected samples of 10 numbers"));
  CHECK(has(odd, "found 25 numbers"));
  const std::string many = text_of([&] { t.step(more.x, more.y); });
  CHECK(has(many, "expected at most 6 samples"));
  CHECK(has(many, "found 7"));
  CHECK(has(many, "batch<6>"));
  CHECK(has(text_of([&] { t.step(std::vector<float>{}, std::vector<int>{}); }), "found 0 numbers"));
  CHECK(has(text_of([&] { t.accumulate(more.x, more.y); }), "expected at most 6 samples"));
  const std::string evaluated = text_of([&] { t.evaluate(more.x); });
  CHECK(has(evaluated, "expected at most 6 samples"));
  CHECK(has(evaluated, "evaluate"));
  CHECK(t.checksum() == before);
  CHECK(t.steps() == 0);
}

TEST_CASE("trainer: numbers that make no sense are refused at the start, and where they are changed") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto starting = [](SGD optimizer, net_trainer::options options = {}) {
    return text_of([&] { net_trainer{optimizer, options}; });
  };
  CHECK(has(starting({.learning_rate = -0.1}), "a learning rate of 0 or more, found -0.1"));
  CHECK(has(starting({.learning_rate = none}), "a learning rate of 0 or more"));
  CHECK(has(starting({.momentum = -1}), "SGD: expected a momentum of 0 or more, found -1"));
  CHECK(has(starting({.weight_decay = none}), "SGD: expected a weight_decay of 0 or more"));
  CHECK(has(starting({.nesterov = true}), "a momentum above 0 and no dampening with nesterov, found a momentum of 0"));
  CHECK(starting({}, {.threads = 0}) == ""); // its share of the cores
  CHECK(has(starting({}, {.threads = static_cast<std::size_t>(-1)}), "or 1 to 1024, found -1"));
  CHECK(has(starting({}, {.clip = {-1}}), "clip.max_norm of 0, which clips nothing, or more, found -1"));
  CHECK(has(starting({}, {.clip = {none}}), "clip.max_norm"));
  CHECK(starting({}, {.clip = {std::numeric_limits<double>::infinity()}}) == ""); // only measures the norm
  using adam_trainer = trainer<Net, CrossEntropyLoss, Adam, batch<6>>;
  CHECK(has(text_of([] { adam_trainer{Adam{.betas = {0.9, 1}}}; }), "betas of 0 or more and below 1, found 1"));
  CHECK(has(text_of([&] { adam_trainer{Adam{.eps = none}}; }), "an eps of 0 or more"));

  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  CHECK(has(text_of([&] { t.learning_rate(none); }), "a learning rate of 0 or more"));
  CHECK(has(text_of([&] { t.optimizer(SGD{.momentum = -1}); }), "a momentum of 0 or more"));
  CHECK(has(text_of([&] { t.optimizer(SGD{}); }), "an optimizer of 1 states, as before, found one of 0"));
  net_trainer falling{testing::momentum, {.seed = 3, .learning_rate = constant_rate{-1}}};
  const std::uint64_t before = falling.checksum();
  CHECK(has(text_of([&] { falling.step(s.x, s.y); }), "a schedule's learning rate of 0 or more, found -1"));
  CHECK(falling.checksum() == before);
}

TEST_CASE("trainer: the optimizer's numbers and the loss can be changed while it trains") {
  const samples s(6, 1);
  trainer<Net, CrossEntropyLoss, AdamW, batch<6>> t{AdamW{.weight_decay = 0}, {.seed = 3}};
  trainer<Net, CrossEntropyLoss, AdamW, batch<6>> other{AdamW{}, {.seed = 3, .loss = {.label_smoothing = 0.1}}};
  CHECK(t.optimizer().weight_decay == 0);
  t.optimizer(AdamW{});
  t.loss({.label_smoothing = 0.1});
  CHECK(t.loss().label_smoothing == 0.1);
  t.step(s.x, s.y);
  other.step(s.x, s.y);
  CHECK(t.checksum() == other.checksum());
}

TEST_CASE("trainer: another optimizer brings its rate, and beside a schedule it may not") {
  const samples s(6, 1);
  const auto with_rate = [](double rate) { return SGD{.learning_rate = rate, .momentum = 0.9}; };
  net_trainer t{with_rate(0.1), {.seed = 3}}, other{with_rate(0.5), {.seed = 3}};
  t.optimizer(with_rate(0.5));
  CHECK(t.learning_rate() == 0.5);
  t.step(s.x, s.y);
  other.step(s.x, s.y);
  CHECK(t.checksum() == other.checksum());

  t.learning_rate(0.25); // an optimizer with the same rate as the last one does not change it
  t.optimizer(SGD{.learning_rate = 0.5, .momentum = 0.5});
  CHECK(t.learning_rate() == 0.25);

  // A restored run has the rate of the new optimizer.
  net_trainer later{with_rate(0.1), {.seed = 3}};
  t.optimizer(with_rate(0.125));
  later.restore(t.state());
  CHECK(later.learning_rate() == 0.125);

  net_trainer falling{with_rate(0.1), {.seed = 3, .learning_rate = step_rate{.learning_rate = 0.1}}};
  CHECK(has(text_of([&] { falling.optimizer(with_rate(0.5)); }),
            "expected the learning_rate 0.1 of the optimizer before, as a schedule was given in the options, found 0.5"));
  CHECK(falling.optimizer().learning_rate == 0.1);
  falling.optimizer(SGD{.learning_rate = 0.1, .momentum = 0.5});
  CHECK(falling.learning_rate() == 0.1);
}

TEST_CASE("trainer: an optimizer with more states than there can be is refused") {
  const std::string text = text_of([] { trainer<Net, CrossEntropyLoss, greedy, batch<6>>{greedy{}}; });
  CHECK(has(text, "at most 4 states, found 5"));
}

TEST_CASE("trainer: targets that do not fit are refused before anything has run") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  const std::string few = text_of([&] { t.step(s.x, std::vector<int>(5)); });
  CHECK(has(few, "expected targets for 6 samples"));
  CHECK(has(few, "found 5"));
  CHECK(has(text_of([&] { t.evaluate_loss(s.x, std::vector<int>(4)); }), "found 4"));
  CHECK(t.buffers()[0] == 0); // not even a first forward
  const std::string wrong = text_of([&] { t.step(s.x, std::vector<int>(6, 4)); });
  CHECK(has(wrong, "the classes are 0 to 3"));
  CHECK(t.steps() == 0);
}

TEST_CASE("trainer: a loss that is no number is refused before anything is updated") {
  net_trainer t{testing::momentum, {.seed = 3, .check_loss = true}};
  net_trainer other{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  std::vector<float> bad = s.x;
  bad[17] = not_a_number;
  t.step(s.x, s.y);
  other.step(s.x, s.y);
  const std::uint64_t before = t.checksum();
  const std::string text = text_of([&] { t.step(bad, s.y); });
  CHECK(has(text, "expected a finite loss"));
  CHECK(has(text, "found"));
  CHECK(has(text, "nan"));
  CHECK(has(text, "step 2"));
  CHECK(t.checksum() == before);
  CHECK(t.steps() == 1);
  // The next step is what it would have been.
  CHECK(t.step(s.x, s.y) == other.step(s.x, s.y));
  CHECK(t.checksum() == other.checksum());
}

TEST_CASE("trainer: without the check a loss that is no number is returned") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  std::vector<float> bad = s.x;
  bad[17] = not_a_number;
  const double loss = t.step(bad, s.y);
  CHECK(loss != loss);
}

} // namespace trainer_errors_tests
