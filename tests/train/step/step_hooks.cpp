// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/step/step_hooks.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace step_hooks_tests {

using namespace cairn;
using testing::has;
using testing::samples;
using testing::text_of;

namespace {

using Net = Sequential<Linear<testing::features, 12>, ReLU, LayerNorm<12>, Linear<12, testing::classes>>;
constexpr std::size_t rows = 6;
constexpr SGD plain{.learning_rate = 0.1};

template <class Model>
using trainer_of = trainer<Model, CrossEntropyLoss, SGD, batch<rows>>;
using replicas = trainer_of<ddp<Net, threads::rank, bucket_bytes<1>>>;

double squares_of(std::span<const float> all) {
  double sum = 0;
  for (const float g : all) sum += double{g} * double{g};
  return sum;
}

// Rounds gradients to 16 bits before the ranks sum them, as torch's fp16_compress_hook does.
void round_to_half(std::span<float> gradients) {
  for (float& g : gradients) g = static_cast<float>(float16(g));
}

} // namespace

TEST_CASE("step_hooks: hooks are called at each op of their kind, in the order of the list, and change no bit") {
  const samples s(rows, 1);
  trainer_of<checkpoint<recompute_all, Net>> hooked{plain, {.seed = 2}}, unhooked{plain, {.seed = 2}};
  std::vector<std::string> seen, expected;
  const auto write = [&seen](const char* when) {
    return [&seen, when](const auto& now) {
      seen.push_back(when + std::string(name_of(now.op.kind)) + " " + std::to_string(now.op.index));
    };
  };
  using enum plan::step_op_kind;
  const double found = hooked.step(s.x, s.y, before_op<recompute>(write("before ")), after_op<recompute>(write("after ")),
                                   after_op<backward>(write("after ")), before_op<update>(write("before ")));
  CHECK(found == unhooked.step(s.x, s.y));
  CHECK(hooked.checksum() == unhooked.checksum());
  for (const plan::step_op& o : hooked.step_ops()) {
    const std::string op = std::string(name_of(o.kind)) + " " + std::to_string(o.index);
    if (o.kind == recompute || o.kind == update) expected.push_back("before " + op);
    if (o.kind == recompute || o.kind == backward) expected.push_back("after " + op);
  }
  CHECK(seen == expected);
  CHECK(seen.size() > 8);
}

TEST_CASE("step_hooks: norms of each layer's gradient for a log, by the names of its parameters") {
  const samples s(rows, 1);
  trainer_of<checkpoint<sqrt_n, Net>> train{plain, {.seed = 2}};
  std::map<std::string, double> found, of_stages;
  const auto log = [&](const auto& now) {
    double sum = 0;
    now.for_each_gradient([&](const types::named_parameter<float>& q) { sum += found[q.name] = squares_of(q.numbers); });
    if (!now.gradients.empty()) of_stages[std::to_string(now.op.stage)] = sum;
    CHECK(sum == doctest::Approx(squares_of(now.gradients))); // padding is 0
  };
  train.step(s.x, s.y, after_op<plan::step_op_kind::backward>(log));
  std::size_t count = 0;
  train.for_each_gradient(
      [&](const types::named_parameter<float>& q) { // with one rank and one micro-batch, those that were applied
        CHECK(found.at(q.name) == squares_of(q.numbers));
        CHECK(found.at(q.name) > 0);
        ++count;
      });
  CHECK(count == 6);
  CHECK(found.size() == count);
  CHECK(of_stages.size() == 3);
}

TEST_CASE("step_hooks: gradients that are compressed to float16 before they leave, as torch's fp16_compress_hook") {
  const std::array<samples<float>, 2> s{samples<float>(rows, 1), samples<float>(rows, 2)};
  // Each rank's gradients, rounded.
  std::array<std::vector<float>, 2> own;
  std::vector<float> start;
  for (std::size_t r = 0; r < 2; ++r) {
    trainer_of<Net> alone{plain, {.seed = 2}};
    start.assign(alone.parameters().begin(), alone.parameters().end());
    alone.accumulate(s[r].x, s[r].y);
    own[r].assign(alone.gradients().begin(), alone.gradients().end());
    round_to_half(own[r]);
  }
  std::array<std::vector<float>, 2> learnt;
  threads{2}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    replicas train{rank, plain, {.seed = 2}};
    std::size_t met = 0, wrong = 0;
    train.step(s[r].x, s[r].y, before_op<plan::step_op_kind::reduce>([](const auto& now) { round_to_half(now.gradients); }),
               after_op<plan::step_op_kind::wait>([&](const auto& now) {
                 const std::size_t begin = replicas::buckets[now.op.index].begin;
                 for (std::size_t i = 0; i < now.gradients.size(); ++i, ++met)
                   wrong += now.gradients[i] == own[0][begin + i] + own[1][begin + i] ? 0U : 1U;
               }));
    CHECK(met == own[0].size());
    CHECK(wrong == 0);
    learnt[r].assign(train.parameters().begin(), train.parameters().end());
  });
  CHECK(learnt[0] == learnt[1]);
  double most = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double expected = double{start[i]} - 0.1 * 0.5 * (double{own[0][i]} + double{own[1][i]});
    most = std::max(most, std::abs(double{learnt[0][i]} - expected));
  }
  CHECK(most < 1e-7);
}

TEST_CASE("step_hooks: with a fused update the gradients of a bucket are there when it is used") {
  const samples s(rows, 1);
  trainer_of<fused_update<Net>> fused{plain, {.seed = 2}};
  trainer_of<Net> whole{plain, {.seed = 2}};
  std::map<std::string, double> found;
  std::size_t backwards = 0;
  fused.step(s.x, s.y, before_op<plan::step_op_kind::update>([&](const auto& now) {
               now.for_each_gradient([&](const types::named_parameter<float>& q) { found[q.name] = squares_of(q.numbers); });
             }),
             after_op<plan::step_op_kind::backward>([&](const auto& now) { backwards += now.gradients.empty() ? 1U : 0U; }));
  whole.step(s.x, s.y);
  whole.for_each_gradient([&](const types::named_parameter<float>& q) { CHECK(found.at(q.name) == squares_of(q.numbers)); });
  CHECK(backwards == 4);
}

TEST_CASE("step_hooks: what a hook throws comes out of the step, whose parameters are as they were") {
  const samples s(rows, 1);
  trainer_of<Net> train{plain, {.seed = 2}}, other{plain, {.seed = 2}};
  const std::uint64_t before = train.checksum();
  const auto fail = [](const auto&) { throw std::runtime_error("the log is full"); };
  CHECK_THROWS_WITH_AS(train.step(s.x, s.y, after_op<plan::step_op_kind::forward>(fail)), "the log is full", std::runtime_error);
  CHECK(train.checksum() == before);
  const auto again = [&](const auto&) { train.evaluate(s.x); };
  CHECK(has(text_of([&] { train.step(s.x, s.y, before_op<plan::step_op_kind::loss>(again)); }), "half made"));
  CHECK(train.checksum() == before);
  CHECK(train.micro_batches() == 0);
  CHECK(train.step(s.x, s.y) == other.step(s.x, s.y));
  // From the first update on, some parameters may be new, so the next step is refused.
  const std::uint64_t once = train.checksum();
  CHECK_THROWS_WITH_AS(train.step(s.x, s.y, before_op<plan::step_op_kind::update>(fail)), "the log is full", std::runtime_error);
  CHECK(train.checksum() == once);
  CHECK(has(text_of([&] { train.step(s.x, s.y); }), "expected synchronize() on every rank before the next step, as one has "
                                                    "failed: the log is full"));
}

TEST_CASE("step_hooks: every way to make a step or a micro-batch takes them, and fit among its callbacks") {
  const samples s(rows, 1);
  trainer_of<Net> hooked{plain, {.seed = 2}}, unhooked{plain, {.seed = 2}};
  int losses = 0, updates = 0;
  const auto count_loss = after_op<plan::step_op_kind::loss>([&](const auto&) { ++losses; });
  const auto count_update = after_op<plan::step_op_kind::update>([&](const auto&) { ++updates; });
  const std::vector<float> gradient(rows * testing::classes, 0.01F);
  const auto own_loss = [](const auto& outputs, const auto& gradients) {
    for (std::size_t i = 0; i < outputs.size(); ++i) gradients.data()[i] = 0.1F * outputs[i];
    return 1.0;
  };
  const auto all_ways = [&](auto& t, const auto&... hooks) {
    t.accumulate(s.x, s.y, hooks...);
    t.accumulate_from(s.x, gradient, hooks...);
    t.accumulate_by(s.x, own_loss, hooks...);
    t.step(s.x, s.y, hooks...);
    t.step_from(s.x, gradient, hooks...);
    t.step_by(s.x, own_loss, hooks...);
  };
  all_ways(unhooked);
  all_ways(hooked, count_loss, count_update);
  CHECK(losses == 6);
  CHECK(updates == 3);
  CHECK(hooked.checksum() == unhooked.checksum());

  const samples all(4 * rows, 2);
  const tensor_dataset<float, int> data{shape{testing::features}, all.x, 1, all.y};
  loader batches{data, sequential_sampler{}, batch<rows>{}, {.prefetch = 0}};
  losses = updates = 0;
  fit(hooked, batches, {.max_epochs = 1, .accumulate_grad_batches = 2, .handle_signals = false}, count_loss, count_update);
  CHECK(losses == 4);
  CHECK(updates == 2);
}

TEST_CASE("step_hooks: a hook that throws behind the loss or the comparison leaves nothing half counted") {
  const samples s(rows, 1);
  trainer_of<Net> t{plain, {.seed = 2}}, other{plain, {.seed = 2}};
  const auto fail = [](const auto&) { throw std::runtime_error("the hook fails"); };
  t.accumulate(s.x, s.y);
  CHECK_THROWS_WITH(t.accumulate(s.x, s.y, after_op<plan::step_op_kind::loss>(fail)), "the hook fails");
  CHECK(t.micro_batches() == 1);
  CHECK_THROWS_WITH(t.step(s.x, s.y, after_op<plan::step_op_kind::compare>(fail)), "the hook fails");
  CHECK(t.micro_batches() == 0);
  CHECK(t.steps() == 0);
  t.step(s.x, s.y);
  other.step(s.x, s.y);
  CHECK(t.checksum() == other.checksum());
}

} // namespace step_hooks_tests
