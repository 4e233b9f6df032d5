// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/comm/loopback.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/predicted_step.hpp>

namespace predicted_step_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<16, 64>, ReLU, Linear<64, 64>, ReLU, Linear<64, 16>>;
template <class Model, class... Options>
using on_ranks = ddp<Model, loopback::rank, Options...>;
template <class Model, class T = float>
using costs_of = plan::op_times<Model, batch<32>, T>;

// A layer that reports no operations.
struct Silent : Linear<8, 8> {
  static constexpr work flops(const arguments&) { return {}; }
};

using Early = on_ranks<Net, bucket_bytes<4_KiB>>;
using Late = on_ranks<Net, bucket_bytes<4_KiB>, after_backward>;

constexpr plan::cluster four{.machines = 4, .latency = 1e-3, .bandwidth = 1e6};

template <class Costs>
double sum_of(const Costs& costs) {
  return std::accumulate(costs.ops().begin(), costs.ops().end(), costs.update());
}
// The seconds of all calls one after another; the first bucket has `facts` bytes more, for the facts of all ranks.
template <class Costs>
double on_the_link(const plan::cluster& on, std::size_t facts) {
  double sum = 0;
  for (std::size_t b = 0; b < Costs::buckets.size(); ++b) {
    const std::size_t bytes = Costs::buckets[b].size() * sizeof(float) + (b == 0 ? facts : 0);
    sum += detail::all_reduce_time(on, bytes).link;
  }
  return sum;
}

} // namespace

TEST_CASE("predicted_step: one machine only works") {
  constexpr auto alone = predicted_step(costs_of<Early>::of_step(0.5, 0.1), {});
  static_assert(alone.exposed == 0 && alone.efficiency() == 1);
  CHECK(alone.seconds() == doctest::Approx(0.5));
  CHECK(alone.samples_per_second() == doctest::Approx(64));
}

TEST_CASE("predicted_step: what is known of a step is a constant, so it can be held") {
  constexpr auto p = predicted_step(costs_of<Early>::of_step(0.5), four);
  static_assert(p.efficiency() > 0.8);
  static_assert(p.buckets.size() == costs_of<Early>::buckets.size());
  CHECK(p.machines == 4);
}

TEST_CASE("predicted_step: costs are shared out by the operations of each op") {
  const auto whole = costs_of<Early>::of_step(2, 0.5);
  const auto rated = costs_of<Early>::at_rate(1e9);
  const auto& schedule = costs_of<Early>::plan::training;
  REQUIRE(whole.ops().size() == schedule.count);
  CHECK(sum_of(whole) == doctest::Approx(2));
  CHECK(whole.update() == 0.5);
  const double flops_of_step = 32.0 * static_cast<double>(flops(costs_of<Early>::plan::whole, schedule.ops()));
  CHECK(sum_of(rated) == doctest::Approx(flops_of_step / 1e9));
  for (std::size_t t = 0; t < schedule.count; ++t) CHECK(whole.ops()[t] / 1.5 == doctest::Approx(rated.ops()[t] / sum_of(rated)));
}

TEST_CASE("predicted_step: the costs of ops outlive the object that they are asked of") {
  constexpr double sum = [] {
    double all = 0;
    for (const double seconds : costs_of<Early>::of_step(2, 0.5).ops()) all += seconds;
    return all;
  }();
  CHECK(sum == doctest::Approx(1.5));
}

TEST_CASE("predicted_step: where no layer states its operations every op takes as long as any other") {
  const auto times = costs_of<Sequential<Silent, Silent>>::of_step(4);
  std::size_t works = 0;
  for (const double seconds : times.ops()) {
    CHECK((seconds == 0 || seconds == 1));
    works += seconds > 0 ? 1U : 0U;
  }
  CHECK(works == 4);
}

TEST_CASE("predicted_step: a forward that makes the tape alone has a cost of its own") {
  using Block = on_ranks<checkpoint<recompute_all, Sequential<Linear<16, 64>, Residual<Linear<64, 64>, ReLU>, Linear<64, 16>>>>;
  const std::vector<plan::stage_cost> stages(3, plan::stage_cost{1000, 10, 5000});
  const auto times = costs_of<Block>::of_stages(stages);
  std::size_t whole = 0, tapes = 0;
  for (const double seconds : times.ops()) {
    whole += seconds == 1000 * 1e-9 ? 1U : 0U;
    tapes += seconds == 10 * 1e-9 ? 1U : 0U;
  }
  CHECK(tapes == 1); // the block's last run, for its backward
  CHECK(whole > 3);
}

TEST_CASE("predicted_step: costs of stages are those of the forwards and backwards that the schedule has") {
  using Less = on_ranks<checkpoint<recompute_all, Net>>;
  std::vector<plan::stage_cost> stages(costs_of<Early>::plan::size, plan::stage_cost{1000, 1000, 5000});
  const auto plain = costs_of<Early>::of_stages(stages, 1e-6);
  const auto again = costs_of<Less>::of_stages(stages, 1e-6);
  std::size_t forwards = 0, backwards = 0;
  for (const detail::op& o : costs_of<Less>::plan::training.ops()) {
    forwards += o.kind == detail::op_kind::forward ? 1U : 0U;
    backwards += o.kind == detail::op_kind::backward ? 1U : 0U;
  }
  CHECK(forwards > backwards);
  CHECK(sum_of(plain) == doctest::Approx((5 + 5 * 5 + 1) * 1e-6));
  CHECK(sum_of(again) == doctest::Approx(static_cast<double>(forwards + 5 * backwards + 1) * 1e-6));
  stages.pop_back();
  CHECK_THROWS_WITH_AS(costs_of<Early>::of_stages(stages), doctest::Contains("as many as the network has"), input_error);
}

TEST_CASE("predicted_step: after the whole backward pass nothing is hidden, but the latency of all calls but one") {
  using Costs = costs_of<Late>;
  const auto p = predicted_step(Costs::of_step(0.5, 0.1), four);
  const std::size_t facts = detail::facts_of_ranks<float>::size(4) * sizeof(float);
  REQUIRE(Costs::buckets.size() == 6); // a bucket for each of three weights and three biases
  for (const plan::bucket_times& b : p.buckets) CHECK(b.leaves == doctest::Approx(0.4));
  CHECK(p.compute == doctest::Approx(0.5));
  CHECK(p.exposed == doctest::Approx(on_the_link<Costs>(four, facts) + 2 * four.latency).epsilon(0.1));
}

TEST_CASE("predicted_step: nothing hides the statistics of a sync_batch_norm") {
  using Normed = Sequential<Linear<16, 64>, BatchNorm1d<64>, ReLU, Linear<64, 16>>;
  const auto without = predicted_step(costs_of<on_ranks<Normed>>::of_step(0.5), four);
  const auto with = predicted_step(costs_of<on_ranks<Normed, sync_batch_norm>>::of_step(0.5), four);
  const double calls = detail::all_reduce_time(four, (129 + 1) * sizeof(double)).whole() +
                       detail::all_reduce_time(four, 128 * sizeof(double)).whole();
  CHECK(with.exposed == doctest::Approx(without.exposed + calls));
  CHECK(with.buckets[0].leaves == doctest::Approx(without.buckets[0].leaves + calls));
  const auto fused = predicted_step(costs_of<on_ranks<fused_update<Normed>, sync_batch_norm>>::of_step(0.5), four);
  CHECK(fused.exposed > predicted_step(costs_of<on_ranks<fused_update<Normed>>>::of_step(0.5), four).exposed);
}

TEST_CASE("predicted_step: a bucket leaves after the backward that completes it") {
  using Costs = costs_of<Early>;
  const auto costs = Costs::of_step(0.5);
  const auto p = predicted_step(costs, four);
  const auto& plan = Costs::plan::training;
  for (std::size_t b = 0; b < p.buckets.size(); ++b) {
    // The bucket's last element belongs to this stage.
    std::size_t stage = Costs::plan::size - 1;
    while (Costs::plan::parameter_begin[stage] + Costs::plan::stages[stage].parameter_block < Costs::buckets[b].end) --stage;
    double done = 0, now = 0;
    for (std::size_t t = 0; t < plan.count; ++t) {
      now += costs.ops()[t];
      if (plan.storage[t].kind == detail::op_kind::backward && plan.storage[t].position == stage) done = now;
    }
    CHECK(p.buckets[b].leaves == doctest::Approx(done));
    CHECK(p.buckets[b].arrives > done);
  }
  CHECK(p.buckets.back().leaves == doctest::Approx(0.5));
  CHECK(p.exposed == doctest::Approx(p.buckets.back().arrives - 0.5));
  CHECK(predicted_step(costs_of<Late>::of_step(0.5), four).exposed > 2 * p.exposed);
}

TEST_CASE("predicted_step: a fused update waits in the backward pass, and hides communication behind updates too") {
  using Fused = on_ranks<fused_update<Net>, bucket_bytes<4_KiB>>;
  const auto costs = costs_of<Fused>::of_step(0.5, 0.1);
  const auto p = predicted_step(costs, four);
  CHECK(p.compute == doctest::Approx(0.5));
  CHECK(p.exposed < predicted_step(costs_of<Early>::of_step(0.5, 0.1), four).exposed);
  // A slow network blocks the backward pass: a bucket leaves late that leaves in time without a fused update.
  const plan::cluster slow{.machines = 4, .latency = 1e-3, .bandwidth = 1e4};
  const auto late = predicted_step(costs, slow);
  const auto plain = predicted_step(costs_of<Early>::of_step(0.5, 0.1), slow);
  CHECK(late.buckets.back().leaves > 0.5);
  CHECK(plain.buckets.back().leaves < 0.5);
  // There is memory for two buckets: after the second has left, and before the third is written, the step waits for the first.
  REQUIRE(late.buckets.size() == 3);
  CHECK(late.buckets[1].leaves < late.buckets[0].arrives);
  CHECK(late.buckets[2].leaves > late.buckets[0].arrives);
}

TEST_CASE("predicted_step: what communication takes from the work counts in the step and in its efficiency") {
  const auto times = costs_of<Early>::of_step(0.5);
  plan::cluster on = four;
  on.taken = 1;
  const auto p = predicted_step(times, on);
  CHECK(p.taken > 0);
  CHECK(p.seconds() == doctest::Approx(0.5 + p.taken + p.exposed));
  CHECK(p.efficiency() == doctest::Approx(0.5 / p.seconds()));
  CHECK(p.seconds() > predicted_step(times, four).seconds());
}

TEST_CASE("predicted_step: the facts of all ranks go with the first bucket") {
  const auto times = costs_of<Early>::of_step(0.5);
  plan::cluster many = four;
  many.machines = 300;
  for (const plan::cluster& on : {four, many}) {
    const auto p = predicted_step(times, on);
    const std::size_t facts = detail::facts_of_ranks<float>::size(on.machines) * sizeof(float);
    const std::size_t bytes = costs_of<Early>::buckets[0].size() * sizeof(float) + facts;
    CHECK(p.buckets[0].arrives - p.buckets[0].leaves == doctest::Approx(detail::all_reduce_time(on, bytes).whole()));
  }
}

TEST_CASE("predicted_step: where nothing is learnt nothing is awaited, and more machines or less bandwidth are never quicker") {
  using Fixed = on_ranks<Sequential<frozen<Linear<16, 64>>, ReLU>>;
  static_assert(costs_of<Fixed>::buckets.size() == 0);
  CHECK(predicted_step(costs_of<Fixed>::of_step(0.5), four).seconds() == doctest::Approx(0.5));
  const auto costs = costs_of<Early>::of_step(0.5);
  double before = 0;
  for (std::size_t machines = 1; machines <= 4096; machines *= 2) {
    plan::cluster on = four;
    on.machines = machines;
    const double now = predicted_step(costs, on).seconds();
    CHECK(now >= before);
    before = now;
    on.bandwidth /= 2;
    CHECK(predicted_step(costs, on).seconds() >= now);
    on.bandwidth = std::numeric_limits<double>::infinity();
    on.latency = 0;
    CHECK(predicted_step(costs, on).exposed == 0);
  }
}

TEST_CASE("predicted_step: gradients travel in the type of their sums, and a model without ranks has the default buckets") {
  using Narrow = costs_of<Early, bfloat16>;
  const plan::cluster free{.machines = 2, .bandwidth = 1e6, .calls_at_once = 100};
  const auto narrow = predicted_step(Narrow::of_step(0.5), free);
  const auto wide = predicted_step(costs_of<Early>::of_step(0.5), free);
  CHECK(narrow.exposed == doctest::Approx(wide.exposed));
  const auto plain = predicted_step(costs_of<Net>::of_step(0.5), four);
  const auto twin = predicted_step(costs_of<on_ranks<Net>>::of_step(0.5), four);
  CHECK(plain.seconds() == twin.seconds());
  CHECK(plain.buckets.size() == twin.buckets.size());
}

TEST_CASE("predicted_step: clusters and costs that there cannot be are refused") {
  const auto costs = costs_of<Early>::of_step(0.5);
  const auto refused = [&](const plan::cluster& on, const char* text) {
    CHECK_THROWS_WITH_AS(predicted_step(costs, on), doctest::Contains(text), input_error);
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  refused({.machines = 0}, "expected at least 1 machine, found 0");
  refused({.latency = -1e-6}, "expected a latency of 0 seconds or more, found -1e-06");
  refused({.latency = nan}, "expected a latency");
  refused({.bandwidth = 0}, "expected a bandwidth of more than 0 bytes per second, found 0");
  refused({.bandwidth = nan}, "expected a bandwidth");
  refused({.per_message = -1}, "for a message, found -1");
  refused({.least_part = 0}, "parts of at least 1 byte, found 0");
  refused({.calls_at_once = 0}, "at least 1 call at once, found 0");
  refused({.taken = 1.5}, "from 0 to 1 of the work is taken, found 1.5");
  refused({.taken = nan}, "is taken, found nan");
  const auto no_costs = [](auto make, const char* text) { CHECK_THROWS_WITH_AS(make(), doctest::Contains(text), input_error); };
  no_costs([] { return costs_of<Early>::of_step(0); }, "a step of more than 0 seconds, found 0");
  no_costs([] { return costs_of<Early>::of_step(1, 1); }, "shorter than the step, found 1");
  no_costs([] { return costs_of<Early>::at_rate(-5); }, "a rate of more than 0 operations per second, found -5");
  no_costs([] { return costs_of<Early>::at_rate(5, nan); }, "an update of 0 seconds or more, found nan");
}

} // namespace predicted_step_tests
