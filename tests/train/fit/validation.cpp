// SPDX-License-Identifier: MIT
#include <cairn/train/fit/validation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/fit/classification.hpp>
#include <cairn/train/fit/confusion_matrix.hpp>
#include <cairn/train/fit/monitored.hpp>
#include <doctest/doctest.h>

#include "../digits.hpp"
#include "../training.hpp"

namespace validation_tests {

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

std::vector<float> numbers_of(const plain& train) { return {train.parameters().begin(), train.parameters().end()}; }

template <class Trainer>
struct run_of {
  Trainer& trained;
  std::vector<types::metric_value> metrics;
  Trainer& train() { return trained; }
  void add_metric(std::string name, double value) { metrics.emplace_back(std::move(name), value); }
};

} // namespace

TEST_CASE("validation: over ranks is validation of one") {
  const digits test(20, 4);
  // The metrics of a validation in a run that only has a trainer and takes metrics.
  const auto metrics_of = [&](auto& train, auto& held_out) {
    run_of<std::remove_reference_t<decltype(train)>> run{train, {}};
    validation{held_out, metrics::Accuracy{}, metrics::Perplexity{}}.on_validate(run);
    return run.metrics;
  };
  plain train{testing::momentum, {.seed = 1}};
  auto held_out = loader{test.data, sequential_sampler{}, batch<8>{}};
  const auto alone = metrics_of(train, held_out);
  REQUIRE(alone.size() == 3);
  CHECK(alone[0].first == "val_loss");
  CHECK(alone[1] == types::metric_value{"val_accuracy", accuracy(train, held_out)});
  CHECK(alone[2].first == "val_perplexity");
  CHECK(alone[2].second == doctest::Approx(std::exp(alone[0].second)).epsilon(1e-12));
  double sum = 0;
  for (const auto& [x, y] : held_out) sum += train.evaluate_loss(x, y) * static_cast<double>(x.rows());
  CHECK(alone[0].second == doctest::Approx(sum / 20).epsilon(1e-12));

  // Two ranks that start from the same parameters and do not update them.
  const auto start = numbers_of(train);
  threads{2}.run([&](threads::rank& rank) {
    distributed same{rank, SGD{.learning_rate = 0}};
    std::copy(start.begin(), start.end(), same.parameters().begin());
    auto part = loader{test.data, sampler{rank, 0, {.shuffle = false}}, batch<8>{}};
    const auto both = metrics_of(same, part);
    CHECK(both[0].second == doctest::Approx(alone[0].second).epsilon(1e-6));
    CHECK(both[1].second == alone[1].second);
  });
}

TEST_CASE("validation: a metric of many numbers is that of all samples, over batches and ranks") {
  const digits test(20, 4);
  const auto f1_of = [&](auto& train, auto& held_out) {
    run_of<std::remove_reference_t<decltype(train)>> run{train, {}};
    validation{held_out, metrics::F1<classes>{}, metrics::Accuracy{}, metrics::Recall<classes, metrics::average::weighted>{}}
        .on_validate(run);
    return run.metrics;
  };
  plain train{testing::momentum, {.seed = 1}};
  auto held_out = loader{test.data, sequential_sampler{}, batch<8>{}};
  const auto alone = f1_of(train, held_out);
  const metrics::confusion_matrix all = metrics::confusion(train, held_out);
  REQUIRE(alone.size() == 4);
  CHECK(alone[1] == types::metric_value{"val_f1", all.f1()});
  CHECK(alone[2] == types::metric_value{"val_accuracy", all.accuracy()});
  CHECK(alone[3] == types::metric_value{"val_recall", all.recall(metrics::average::weighted)});
  CHECK(all.f1() > 0);

  const auto start = numbers_of(train);
  threads{2}.run([&](threads::rank& rank) {
    distributed same{rank, SGD{.learning_rate = 0}};
    std::copy(start.begin(), start.end(), same.parameters().begin());
    auto part = loader{test.data, sampler{rank, 0, {.shuffle = false}}, batch<8>{}};
    const auto both = f1_of(same, part);
    for (std::size_t i = 1; i < both.size(); ++i) CHECK(both[i] == alone[i]);
  });
}

TEST_CASE("validation: of no samples is an error") {
  const digits none(0);
  plain train{testing::momentum};
  run_of<plain> run{train, {}};
  CHECK(testing::has(text_of([&] { validation{none.data, sequential_sampler{}, batch<8>{}}.on_validate(run); }),
                     "expected at least one sample, found none"));
}

} // namespace validation_tests
