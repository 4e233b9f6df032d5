// SPDX-License-Identifier: MIT
#include <cairn/train/fit/fit.hpp>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <doctest/doctest.h>

#include "../apart_ops.hpp"
#include "../default_signals.hpp"
#include "../digits.hpp"
#include "../training.hpp"

namespace fit_tests {

using namespace cairn;
using testing::classes;
using testing::digits;
using testing::features;
using testing::samples;
using testing::text_of;

namespace {

using Net = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
using plain = trainer<Net, CrossEntropyLoss, SGD, batch<8>>;
using distributed = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<8>>;

auto reading(const digits& d) { return loader{d.data, sampler{types::sampler_options{.seed = 5}}, batch<8>{}, {.prefetch = 0}}; }

auto reading_ahead(const digits& d) {
  return loader{d.data, sampler{types::sampler_options{.seed = 5}}, batch<8>{}, {.prefetch = 2}};
}

// Records the calls of its members, and where the run was then.
struct recorded {
  std::vector<std::string> calls;
  std::vector<std::size_t> rows;
  std::vector<double> losses;

  template <class Run>
  void note(const char* what, Run& run) {
    calls.push_back(what + std::string(" ") + std::to_string(run.epoch()) + "." + std::to_string(run.step_of_epoch()) + " " +
                    std::to_string(run.step()));
  }
  void on_resume(auto& run) { note("resume", run); }
  void on_begin(auto& run) { note("begin", run); }
  void on_epoch_begin(auto& run) { note("epoch_begin", run); }
  void on_step(auto& run) {
    note("step", run);
    rows.push_back(run.rows());
    losses.push_back(run.loss());
  }
  void on_log(auto& run) {
    note("log", run);
    CHECK(run.metrics()[0] == types::metric_value{"train_loss_step", run.loss()});
  }
  void on_validate(auto& run) { note("validate", run); }
  void on_epoch(auto& run) { note("epoch", run); }
  void on_save(auto& run) { note("save", run); }
  void on_end(auto& run) { note("end", run); }
};

struct killed {
  int rank;
  void on_step(auto& run) {
    if (run.step() == 3 && run.rank() == rank) ::kill(::getpid(), SIGTERM);
  }
};

// Adds a metric in on_validate(), and records what on_epoch() sees.
struct checked_parts {
  std::vector<std::size_t> metrics{};
  std::vector<bool> whole{};
  void on_validate(auto& run) { run.add_metric("val_loss", static_cast<double>(run.step())); }
  void on_epoch(auto& run) {
    metrics.push_back(run.metrics().size());
    whole.push_back(run.epoch_is_over());
    CHECK(run.validated() == (run.metrics().size() == 3));
  }
};
// Keeps the notes and the loader's place from one call of fit() to the next.
struct noted {
  types::state_notes* notes;
  types::loader_place* next;
  void on_resume(auto& run) {
    run.batches().go_to(*next);
    run.take_notes(*notes);
  }
  void on_end(auto& run) {
    *next = run.batches().place();
    *notes = run.notes();
  }
};

std::vector<float> numbers_of(const plain& train) { return {train.parameters().begin(), train.parameters().end()}; }

} // namespace

TEST_CASE("fit: makes the steps of a loop over the loader, and calls what a callback has") {
  const digits d(20); // three batches an epoch
  plain by_hand{testing::momentum, {.seed = 1}};
  auto a = reading(d);
  std::vector<double> losses;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& [x, y] : a) losses.push_back(by_hand.step(x, y));

  plain train{testing::momentum, {.seed = 1}};
  auto b = reading(d);
  recorded seen;
  const types::fit_result all = fit(train, b, {.max_epochs = 2, .check_val_every_n_epoch = 2, .log_every_n_steps = 4}, seen);
  CHECK(numbers_of(train) == numbers_of(by_hand));
  CHECK(seen.losses == losses);
  CHECK(seen.calls == std::vector<std::string>{"resume 0.0 0", "begin 0.0 0", "epoch_begin 0.0 0", "step 0.1 1", "step 0.2 2",
                                               "step 0.3 3", "epoch 0.3 3", "save 0.3 3", "epoch_begin 1.0 3", "step 1.1 4",
                                               "log 1.1 4", "step 1.2 5", "step 1.3 6", "validate 1.3 6", "epoch 1.3 6",
                                               "save 1.3 6", "end 1.3 6"});
  CHECK(all.why == "max_epochs");
  CHECK_FALSE(all.interrupted);
  CHECK(all.steps == 6);
  CHECK(all.epochs == 2);
  REQUIRE(all.history.size() == 2);
  // 8, 8 and 4 samples.
  CHECK(all.metric("train_loss") == doctest::Approx((losses[3] * 8 + losses[4] * 8 + losses[5] * 4) / 20).epsilon(1e-12));
  CHECK(all.metric("learning_rate") == 0.1);
  CHECK_THROWS_WITH_AS(all.metric("val_acc"), "fit_result: expected a metric 'val_acc', found train_loss, learning_rate",
                       input_error);
  CHECK(std::isnan(types::fit_result{}.metric("train_loss")));
  types::fit_result two;
  two.history = {{{"val_loss", 2}}, {{"train_loss", 1}}};
  CHECK(two.metric("val_loss") == 2); // from the last epoch that has it
}

TEST_CASE("fit: validation and records after every few steps, inside an epoch and over its end") {
  const digits d(36); // five batches an epoch
  plain train{testing::momentum, {.seed = 1}};
  auto batches = reading(d);
  recorded seen;
  checked_parts checked;
  const types::fit_result all =
      fit(train, batches, {.max_steps = 9, .check_val_every_n_epoch = 100, .val_check_interval = 2}, seen, checked);
  CHECK(seen.calls == std::vector<std::string>{"resume 0.0 0",      "begin 0.0 0",    "epoch_begin 0.0 0", "step 0.1 1",
                                               "step 0.2 2",        "validate 0.2 2", "epoch 0.2 2",       "save 0.2 2",
                                               "step 0.3 3",        "step 0.4 4",     "validate 0.4 4",    "epoch 0.4 4",
                                               "save 0.4 4",        "step 0.5 5",     "epoch 0.5 5",       "save 0.5 5",
                                               "epoch_begin 1.0 5", "step 1.1 6",     "validate 1.1 6",    "epoch 1.1 6",
                                               "save 1.1 6",        "step 1.2 7",     "step 1.3 8",        "validate 1.3 8",
                                               "epoch 1.3 8",       "save 1.3 8",     "step 1.4 9",        "end 1.4 9"});
  CHECK(checked.metrics == std::vector<std::size_t>{3, 3, 2, 3, 3});
  CHECK(checked.whole == std::vector<bool>{false, false, true, false, false});
  // Batches have 8 samples; the last one of an epoch has 4.
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += seen.losses[i];
    return doctest::Approx(sum / static_cast<double>(to - from)).epsilon(1e-12);
  };
  REQUIRE(all.history.size() == 5);
  CHECK(all.history[0][0].second == mean(0, 2));
  CHECK(all.history[1][0].second == mean(2, 4));
  const auto& l = seen.losses;
  CHECK(all.history[2][0].second == doctest::Approx((8 * (l[0] + l[1] + l[2] + l[3]) + 4 * l[4]) / 36).epsilon(1e-12));
  CHECK(all.history[3][0].second == mean(5, 6));
  CHECK(all.history[4][0].second == mean(6, 8));
  REQUIRE(all.rest.size() == 2);
  CHECK(all.metric("train_loss") == mean(8, 9)); // of the step after the last record
  CHECK(all.metric("val_loss") == 8);
  CHECK(all.epochs == 1);
}

TEST_CASE("fit: the metrics of a run that ends inside an epoch are those of its steps") {
  const digits d(36);
  plain train{testing::momentum, {.seed = 1}};
  auto batches = reading(d);
  recorded seen;
  const types::fit_result first = fit(train, batches, {.max_steps = 2}, seen);
  CHECK(first.history.empty());
  CHECK(first.metric("train_loss") == doctest::Approx((seen.losses[0] + seen.losses[1]) / 2).epsilon(1e-12));
  CHECK(first.metric("learning_rate") == 0.1);
  const types::fit_result none = fit(train, batches, {.max_steps = 2});
  CHECK(none.steps == 2);

  // With two ranks: the mean over the samples of both.
  std::vector<double> of_ranks(2), means(2);
  threads{2}.run([&](threads::rank& rank) {
    distributed own{rank, testing::momentum, {.seed = 1}};
    loader its{d.data, sampler{rank, 0, {.seed = 5}}, batch<8>{}, {.prefetch = 0}};
    recorded of_rank;
    const auto r = static_cast<std::size_t>(rank.rank());
    of_ranks[r] = fit(own, its, {.max_steps = 1}, of_rank).metric("train_loss");
    means[r] = of_rank.losses[0];
  });
  CHECK(of_ranks[0] == of_ranks[1]);
  CHECK(of_ranks[0] == doctest::Approx((means[0] + means[1]) / 2).epsilon(1e-12));
}

TEST_CASE("fit: a run that is stopped inside an interval goes on with the sums of its steps") {
  const digits d(36);
  const auto run_of = [&](std::vector<std::uint64_t> ends) {
    plain train{testing::momentum, {.seed = 1}};
    auto batches = reading(d);
    types::state_notes notes;
    types::loader_place next;
    std::vector<double> found;
    for (const std::uint64_t end : ends) {
      noted state{&notes, &next};
      const types::fit_result part = fit(train, batches, {.max_steps = end, .val_check_interval = 2}, state);
      for (const auto& metrics : part.history) found.push_back(metrics[0].second);
    }
    return found;
  };
  const std::vector<double> whole = run_of({9}), stopped = run_of({3, 9}), at_a_record = run_of({2, 4, 9});
  REQUIRE(whole.size() == 5);
  REQUIRE(stopped.size() == 5);
  REQUIRE(at_a_record.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(stopped[i] == doctest::Approx(whole[i]).epsilon(1e-12));
    CHECK(at_a_record[i] == doctest::Approx(whole[i]).epsilon(1e-12));
  }
}

TEST_CASE("fit: micro-batches, a limit of steps, and what makes no sense") {
  const digits d(20);
  plain by_hand{testing::momentum, {.seed = 1}};
  auto a = reading(d);
  auto next = a.begin(); // batches of 8, 8 and 4: a step of two, then one of the last
  by_hand.accumulate(next->inputs, next->targets);
  ++next;
  by_hand.step(next->inputs, next->targets);
  ++next;
  by_hand.step(next->inputs, next->targets);
  plain train{testing::momentum, {.seed = 1}};
  auto b = reading(d);
  recorded seen;
  fit(train, b, {.max_epochs = 1, .accumulate_grad_batches = 2}, seen);
  CHECK(numbers_of(train) == numbers_of(by_hand));
  CHECK(seen.calls[3] == "step 0.1 1");
  CHECK(seen.calls[4] == "step 0.2 2");

  CHECK(fit(train, b, {.max_steps = 6}).why == "max_steps"); // goes on from the loader's place
  CHECK(train.steps() == 6);
  CHECK(b.place() == types::loader_place{2, 1});
  CHECK(fit(train, b, {.max_steps = 6}).steps == 6);
  CHECK(fit(train, b, {.max_epochs = 2}).why == "max_epochs"); // the loader is past both epochs
  CHECK(train.steps() == 6);

  CHECK(testing::has(text_of([&] { fit(train, b, {.accumulate_grad_batches = 0}); }),
                     "accumulate_grad_batches of 1 or more, found 0"));
  CHECK(testing::has(text_of([&] { fit(train, b, {.log_every_n_steps = 0}); }), "log_every_n_steps of 1 or more"));
  trainer<fused_update<Net>, CrossEntropyLoss, SGD, batch<8>> fused{testing::momentum};
  CHECK(
      testing::has(text_of([&] { fit(fused, b, {.accumulate_grad_batches = 2}); }), "a fused update cannot accumulate, found 2"));
  const digits none(0);
  auto empty = reading(none);
  CHECK(testing::has(text_of([&] { fit(train, empty, {}); }), "expected at least one batch in an epoch"));
}

TEST_CASE("fit: a signal ends the run of all ranks after the same step") {
  const digits d(16);
  const testing::default_signals defaults;
  std::vector<types::fit_result> all(2);
  threads{2}.run([&](threads::rank& rank) {
    distributed train{rank, testing::momentum};
    auto batches = loader{d.data, sampler{rank}, batch<8>{}};
    all[static_cast<std::size_t>(rank.rank())] = fit(train, batches, {.max_epochs = 50}, killed{1});
  });
  for (const types::fit_result& one : all) {
    CHECK(one.why == "SIGTERM");
    CHECK(one.interrupted);
    CHECK(one.steps == all[0].steps);
    CHECK((one.steps == 4 || one.steps == 5)); // rank 0 may have checked before the signal came
  }
  CHECK(testing::default_signals::is_default(SIGTERM));

  plain train{testing::momentum};
  auto batches = reading(d);
  CHECK(fit(train, batches, {.max_epochs = 3}).why == "max_epochs"); // the signal is not remembered
}

namespace {

struct taking_notes {
  void on_step(auto& run) {
    if (run.step() == 2) run.notes();
  }
};

// A sampler that reads a rank's `own` samples in order, from `first` on.
struct own_samples {
  std::size_t first = 0, own = 0;
  std::size_t count(std::size_t) const { return own; }
  void order(std::size_t, std::uint64_t, std::vector<std::size_t>& indices) const {
    indices.resize(own);
    for (std::size_t i = 0; i < own; ++i) indices[i] = first + i;
  }
};

// The results of fit() on each rank, where rank r has samples[r] samples in batches of 8.
struct seen_by_rank {
  types::fit_result result;
  std::vector<std::string> calls;
  std::vector<std::size_t> rows;
  std::uint64_t checksum = 0;
};
template <class... Callbacks>
std::vector<seen_by_rank> fit_uneven(const std::vector<std::size_t>& samples, const types::fit_options& options,
                                     const Callbacks&... callbacks) {
  const digits d(64);
  std::vector<seen_by_rank> out(samples.size());
  threads{static_cast<int>(samples.size())}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    distributed train{rank, testing::momentum};
    loader batches{d.data, own_samples{r * 20, samples[r]}, batch<8>{}, types::loader_options{.prefetch = 0}};
    recorded seen;
    out[r].result = fit(train, batches, options, seen, Callbacks(callbacks)...);
    out[r].calls = seen.calls;
    out[r].rows = seen.rows;
    out[r].checksum = train.checksum();
  });
  return out;
}

} // namespace

TEST_CASE("fit: ranks with different numbers of batches make an epoch together, and see the same steps") {
  const std::vector<std::size_t> counts{8, 20, 0};
  const auto all = fit_uneven(counts, {.max_epochs = 2});
  std::uint64_t by_hand = 0;
  const digits d(64);
  threads{3}.run([&](threads::rank& rank) {
    distributed train{rank, testing::momentum};
    const auto r = static_cast<std::size_t>(rank.rank());
    loader batches{d.data, own_samples{r * 20, counts[r]}, batch<8>{}, types::loader_options{.prefetch = 0}};
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const auto& [x, y] : batches) train.step(x, y);
      train.join();
    }
    if (rank.rank() == 0) by_hand = train.checksum();
  });
  for (const seen_by_rank& one : all) {
    CHECK(one.checksum == by_hand);
    CHECK(one.calls == all[0].calls);
    CHECK(one.result.history == all[0].result.history);
    CHECK(one.result.steps == 6);
    CHECK(one.result.epochs == 2);
  }
  CHECK(all[1].rows == std::vector<std::size_t>{16, 8, 4, 16, 8, 4});
  CHECK(all[0].rows == std::vector<std::size_t>{16, 8, 8, 16, 8, 8});
}
TEST_CASE("fit: ranks with different numbers of batches stop after the same step, and try one step") {
  for (const seen_by_rank& one : fit_uneven({8, 32}, {.max_steps = 3})) {
    CHECK(one.result.why == "max_steps");
    CHECK(one.result.steps == 3);
    CHECK(one.result.epochs == 0);
  }
  const testing::default_signals defaults;
  const auto stopped = fit_uneven({8, 40}, {.max_epochs = 9}, killed{0}); // rank 0 asks, after it has joined
  for (const seen_by_rank& one : stopped) {
    CHECK(one.result.why == "SIGTERM");
    CHECK(one.result.steps == stopped[0].result.steps);
    CHECK((one.result.steps == 4 || one.result.steps == 5));
  }
  for (const seen_by_rank& one : fit_uneven({0, 8}, {.fast_dev_run = true})) CHECK(one.result.steps == 1);
}
TEST_CASE("fit: ranks with different numbers of batches need whole steps, and states of the end of epochs") {
  const auto refused = [](const std::vector<std::size_t>& counts, const types::fit_options& options, const auto&... callbacks) {
    return text_of([&] { fit_uneven(counts, options, callbacks...); });
  };
  CHECK(testing::has(refused({8, 16}, {.max_epochs = 1, .accumulate_grad_batches = 2}),
                     "expected equally many batches on every rank, or whole steps of accumulate_grad_batches, found 1 on rank 0 "
                     "and 2 on rank 1"));
  CHECK(refused({16, 32}, {.max_epochs = 1, .accumulate_grad_batches = 2}) == "");
  CHECK(testing::has(refused({0, 0}, {.max_epochs = 1}), "expected at least one batch in an epoch"));
  CHECK(testing::has(refused({8, 24}, {.max_epochs = 1}, taking_notes{}),
                     "expected equally many batches on every rank for a state of the middle of an epoch, found 1 on rank 0 and 3 "
                     "on rank 1; save at the end of epochs"));
  CHECK(refused({8, 16}, {.max_epochs = 1}, taking_notes{}) == ""); // step 2 is the last
  const digits d(32);
  CHECK(testing::has(text_of([&] {
                       threads{2}.run([&](threads::rank& rank) {
                         distributed train{rank, testing::momentum};
                         loader batches{d.data, sampler{rank, rank.rank()}, batch<8>{}, {.prefetch = 0}};
                         fit(train, batches, {.max_epochs = 3});
                       });
                     }),
                     "expected loaders that stand at the same place on every rank, found one at batch 0 of epoch 1 and that of "
                     "rank 0 at batch 0 of epoch 0"));
}

TEST_CASE("fit: fast_dev_run makes one step, validates and writes nothing") {
  const digits d(16);
  plain train{testing::momentum};
  auto batches = reading(d);
  recorded seen;
  const auto all = fit(train, batches, {.fast_dev_run = true}, seen);
  CHECK(all.why == "fast_dev_run");
  CHECK(train.steps() == 1);
  CHECK(seen.calls == std::vector<std::string>{"validate 0.0 1"});
}

TEST_CASE("fit: on a device whose work is done later, with a loader that fills its buffers again, all numbers are a cpu's") {
  const digits d(50);
  const auto history = [&]<class Device>(std::type_identity<Device>, std::size_t together) {
    trainer<Net, CrossEntropyLoss, SGD, batch<8>, float, Device> t{SGD{.learning_rate = 0.1}, {.seed = 3}};
    auto batches = reading_ahead(d);
    recorded seen;
    const types::fit_result all =
        fit(t, batches, {.max_epochs = 3, .accumulate_grad_batches = together, .handle_signals = false}, seen);
    return std::pair{all.history, seen.losses};
  };
  for (const std::size_t together : {1U, 3U})
    CHECK((history(std::type_identity<apart::device>{}, together) == history(std::type_identity<cpu>{}, together)));
}

} // namespace fit_tests
