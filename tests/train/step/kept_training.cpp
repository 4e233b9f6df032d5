// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/step/kept_training.hpp>
#include <doctest/doctest.h>

#include "../apart_program.hpp"
#include "../training.hpp"

namespace kept_training_tests {

using namespace cairn;

namespace {

using Model = with_input_gradient<apart::Net>;
template <class Device>
using trained_on = trainer<Model, CrossEntropyLoss, AdamW, batch<8>, float, Device>;
using trained = trained_on<cpu>;
const AdamW adamw{.learning_rate = 0.02};

// Everything that a program can see of a trainer.
template <class Trainer>
apart::seen all_of(Trainer& t) {
  apart::seen out;
  out.add(t.steps());
  out.add(std::uint64_t{t.micro_batches()});
  out.add(t.learning_rate());
  out.add(t.gradient_norm());
  out.add(std::uint64_t{t.stop_requested() ? 1U : 0U});
  const detail::training_state numbers = t.state();
  out.add(numbers.micro_batches);
  out.add(std::uint64_t{numbers.rate_was_set ? 1U : 0U});
  t.for_each([&](const auto& q) { out.add_all(q.numbers); });
  t.for_each_buffer([&](const auto& q) { out.add_all(q.numbers); });
  t.for_each_optimizer_state([&](std::size_t, const auto& q) { out.add_all(q.numbers); });
  t.for_each_gradient([&](const auto& q) { out.add_all(q.numbers); });
  out.add_all(t.input_gradient());
  return out;
}

// Brings a trainer into the middle of training: makes a step of two micro-batches and one of one, perhaps a micro-batch that
// waits for its step, and a request to stop.
template <class Trainer>
void begin(Trainer& t, bool is_between = true) {
  const testing::samples<> s(8, 0), half(4, 1);
  t.accumulate(half.x, half.y);
  t.step(s.x, s.y);
  t.step(s.x, s.y);
  if (is_between) t.accumulate(half.x, half.y);
  t.request_stop();
}
template <class Trainer>
void spoil(Trainer& t) {
  const testing::samples<> s(6, 2);
  t.drop_micro_batches();
  t.learning_rate(0.5);
  t.accumulate(s.x, s.y);
  t.step(s.x, s.y);
  CHECK(t.stop_requested()); // this step takes the request
  t.step(s.x, s.y);
}
template <class Trainer>
apart::seen go_on(Trainer& t) {
  const testing::samples<> s(8, 3);
  apart::seen out;
  out.add(double{t.step(s.x, s.y)});
  const apart::seen now = all_of(t);
  out.bits.insert(out.bits.end(), now.bits.begin(), now.bits.end());
  out.add(double{t.step(s.x, s.y)});
  out.add(t.checksum());
  return out;
}

} // namespace

TEST_CASE_TEMPLATE("kept_training: what was made since is undone, with micro-batches that wait and what is told of the last step",
                   Device, cpu, apart::device) {
  for (const bool is_between : {true, false}) {
    const typename trained_on<Device>::options given{.seed = 5, .clip = {.max_norm = 0.1}};
    trained_on<Device> one{adamw, given}, two{adamw, given};
    begin(one, is_between);
    begin(two, is_between);
    detail::kept_training kept(one.inside());
    spoil(one);
    kept.give_back();
    CHECK(all_of(one) == all_of(two));
    CHECK(go_on(one) == go_on(two));
  }
}

TEST_CASE("kept_training: an exception that passes undoes it too") {
  trained one{adamw, {.seed = 5}}, two{adamw, {.seed = 5}};
  begin(one);
  begin(two);
  CHECK_THROWS_AS(
      [&] {
        const detail::kept_training kept(one.inside());
        spoil(one);
        throw std::runtime_error("between two steps");
      }(),
      std::runtime_error);
  CHECK(all_of(one) == all_of(two));
  CHECK(go_on(one) == go_on(two));
}

} // namespace kept_training_tests
