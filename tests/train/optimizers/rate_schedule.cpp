// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>

#include <cairn/train/optimizers/rate_schedule.hpp>

#include "../training.hpp"

namespace rate_schedule_tests {

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

// A user's own schedule.
struct halving {
  double first = 0.1;
  double at(std::uint64_t step) const { return first / static_cast<double>(std::uint64_t{1} << step); }
};

constexpr cosine_rate warm{.learning_rate = 0.3, .total_steps = 5, .warm_up = 2};

template <class Model>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<6>>;

template <class Model>
void check_bits() {
  training<Model> given{testing::momentum, {.seed = 3, .learning_rate = warm}};
  training<Model> by_hand{testing::momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 6; ++step) {
    const samples s(6, step);
    CHECK(given.learning_rate() == warm.at(step));
    by_hand.learning_rate(warm.at(by_hand.steps()));
    CHECK(given.step(s.x, s.y) == by_hand.step(s.x, s.y));
    CHECK(given.checksum() == by_hand.checksum());
  }
}

} // namespace

TEST_CASE("rate_schedule: it keeps any schedule, and none") {
  const rate_schedule none;
  CHECK(!none);
  const rate_schedule own = halving{.first = 0.5};
  const rate_schedule copy = own;
  REQUIRE(copy);
  CHECK(copy.at(0) == 0.5);
  CHECK(copy.at(3) == 0.0625);
  const rate_schedule cosine = warm;
  for (std::uint64_t step = 0; step < 7; ++step) CHECK(cosine.at(step) == warm.at(step));
}

TEST_CASE("rate_schedule: a number is the same rate in every step") {
  const rate_schedule whole = 1, part = 0.25;
  for (const std::uint64_t step : {0U, 7U}) {
    CHECK(whole.at(step) == 1);
    CHECK(part.at(step) == 0.25);
  }
  training<Net> given{SGD{.learning_rate = 0.5}, {.seed = 3, .learning_rate = 0.25}};
  training<Net> by_hand{SGD{.learning_rate = 0.25}, {.seed = 3}};
  const samples s(6, 1);
  given.step(s.x, s.y);
  by_hand.step(s.x, s.y);
  CHECK(given.checksum() == by_hand.checksum());
}

namespace {

// g++ 12 fails on such a member if the schedule's constructor is defaulted.
struct owner {
  training<Net> train{testing::momentum, {.seed = 3, .learning_rate = warm}};
};

} // namespace

TEST_CASE("rate_schedule: a trainer with options is a member of a class") {
  const owner one;
  CHECK(one.train.learning_rate() == warm.at(0));
}

TEST_CASE("rate_schedule: a table is kept as it is") {
  const rate_table table({{0, 0.1}, {2, 0.3}, {4, 0.05}}, true);
  training<Net> t{testing::momentum, {.seed = 3, .learning_rate = table}};
  for (std::uint32_t step = 0; step < 6; ++step) {
    CHECK(t.learning_rate() == table.at(step));
    const samples s(6, step);
    t.step(s.x, s.y);
  }
}

TEST_CASE("rate_schedule: given once, it has the bits of a rate that is set before each step") {
  check_bits<Net>();
  check_bits<checkpoint<sqrt_n, Net>>();
  check_bits<fused_update<Net>>();
}

TEST_CASE("rate_schedule: a micro-batch is no step of it") {
  training<Net> t{testing::momentum, {.seed = 3, .learning_rate = halving{}}};
  const samples s(6, 1);
  t.accumulate(s.x, s.y);
  CHECK(t.learning_rate() == 0.1);
  t.step(s.x, s.y);
  CHECK(t.learning_rate() == 0.05);
}

TEST_CASE("rate_schedule: a rate that is set by hand takes its place") {
  training<Net> t{testing::momentum, {.seed = 3, .learning_rate = halving{}}};
  const samples s(6, 1);
  t.step(s.x, s.y);
  t.learning_rate(0);
  const std::uint64_t before = t.checksum();
  t.step(s.x, s.y);
  CHECK(t.learning_rate() == 0);
  CHECK(t.checksum() == before);
}

TEST_CASE("rate_schedule: without one the optimizer's rate holds") {
  training<Net> t{SGD{.learning_rate = 0.25}, {.seed = 3}};
  CHECK(t.learning_rate() == 0.25);
}

TEST_CASE("rate_schedule: it is known by its numbers, or by its type and bytes") {
  const rate_schedule known = step_rate{.learning_rate = 0.5, .step_size = 3, .gamma = 0.25};
  CHECK(known.text() == "step_rate(0.5, 3, 0.25)");
  CHECK(known.text(false) == known.text());
  CHECK(rate_schedule(warm).text().starts_with("cosine_rate(0.3, 5, 2, 0.333"));
  CHECK(rate_schedule().text() == "none");
  const rate_schedule own = halving{};
  CHECK(own.text(false).ends_with("halving"));
  CHECK(own.text() == rate_schedule(halving{}).text());
  CHECK(own.text() != rate_schedule(halving{.first = 0.2}).text());
  CHECK(rate_schedule(own).text() == own.text()); // a copy has its bytes
}

} // namespace rate_schedule_tests
