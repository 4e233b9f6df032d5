// SPDX-License-Identifier: MIT
#include <cairn/train/fit/classification.hpp>

#include <cstddef>
#include <limits>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <doctest/doctest.h>

#include "decided.hpp"

namespace classification_tests {

using namespace cairn;
using metrics::average;
using testing::decided;

static_assert(metrics::metric<metrics::Precision<3>> && metrics::metric<metrics::Recall<3>> && metrics::metric<metrics::F1<1>>);
static_assert(metrics::metric<metrics::TopKAccuracy<5>>);

namespace {

// The value over batches of 10, 10 and 3 rows.
template <class Metric>
double over_batches(const Metric& metric, const decided& of) {
  double numbers[detail::numbers_of_sum<detail::metric_sum_of<Metric>>]{};
  for (const std::size_t begin : {0U, 10U, 20U}) {
    const std::size_t count = begin == 20 ? 3 : 10;
    detail::add_numbers(numbers, metric.add(of.part(begin, count), of.targets_of(begin, count), 0));
  }
  return metric.value(detail::sum_from<detail::metric_sum_of<Metric>>(numbers));
}

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-6); } // torchmetrics computes in float

} // namespace

TEST_CASE("metrics: precision, recall and F1 are torchmetrics', macro and weighted, also with classes that never occur") {
  const decided of, wide(6);
  CHECK(over_batches(metrics::Precision<4>{}, of) == near(0.224999994));
  CHECK(over_batches(metrics::Recall<4>{}, of) == near(0.138888896));
  CHECK(over_batches(metrics::F1<4>{}, of) == near(0.171428576));
  CHECK(over_batches(metrics::Precision<4, average::weighted>{}, of) == near(0.352173924));
  CHECK(over_batches(metrics::Recall<4, average::weighted>{}, of) == near(0.217391312));
  CHECK(over_batches(metrics::F1<4, average::weighted>{}, of) == near(0.268323004));
  CHECK(over_batches(metrics::Precision<6>{}, wide) == near(0.224999994));
  CHECK(over_batches(metrics::Recall<6>{}, wide) == near(0.138888896));
  CHECK(over_batches(metrics::F1<6>{}, wide) == near(0.171428576));
}

TEST_CASE("metrics: a target that is ignored counts in none of them, as torchmetrics has it") {
  const decided of;
  CHECK(over_batches(metrics::Precision<4>{{.ignore_index = 1}}, of) == near(0.316666663));
  CHECK(over_batches(metrics::Recall<4>{{.ignore_index = 1}}, of) == near(0.138888896));
  CHECK(over_batches(metrics::F1<4>{{.ignore_index = 1}}, of) == near(0.190476194));
  CHECK(over_batches(metrics::Accuracy{.ignore_index = 1}, of) == near(0.277777791));
}

TEST_CASE("metrics: precision, recall and F1 of logits are torchmetrics' binary ones") {
  const testing::decided_logits of;
  CHECK(metrics::Precision<1>{}.value(metrics::Precision<1>{}.add(of.logits, of.targets, 0)) == near(0.736842096));
  CHECK(metrics::Recall<1>{}.value(metrics::Recall<1>{}.add(of.logits, of.targets, 0)) == near(0.608695626));
  CHECK(metrics::F1<1>{}.value(metrics::F1<1>{}.add(of.logits, of.targets, 0)) == near(0.666666687));
  // Nothing is found, and there is nothing to find.
  CHECK(metrics::F1<1>{}.value(metrics::F1<1>{}.add(std::vector<float>(3, -1.F), std::vector<int>(3), 0)) == 0);
}

TEST_CASE("metrics: top-k accuracy is torchmetrics', of equal outputs the lower classes come first, and NaN is never right") {
  const decided of;
  CHECK(over_batches(metrics::TopKAccuracy<1>{}, of) == near(0.217391297));
  CHECK(over_batches(metrics::TopKAccuracy<2>{}, of) == near(0.608695626));
  CHECK(over_batches(metrics::TopKAccuracy<3>{}, of) == near(0.782608688));
  CHECK(over_batches(metrics::TopKAccuracy<4>{}, of) == 1);
  CHECK(metrics::TopKAccuracy<5>{}.name() == "top_5_accuracy");

  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> equal{1, 1, 1, nan, 0, 2};
  const tensor_view<const float> two{equal.data(), 2, shape{3}};
  const auto right = [&](std::vector<int> targets) { return metrics::TopKAccuracy<2>{}.add(two, targets, 0).sum; };
  CHECK(right({0, 2}) == 2);
  CHECK(right({1, 1}) == 1);
  CHECK(right({2, 0}) == 0);
}

TEST_CASE("metrics: outputs of another number of classes, and targets that are none, are errors that say what to do") {
  const decided of;
  CHECK_THROWS_WITH_AS(metrics::F1<5>{}.add(of.outputs(), of.targets, 0),
                       "F1: expected outputs for 5 classes, as its type says, found 4", input_error);
  CHECK_THROWS_WITH_AS(metrics::Recall<4>{}.add(of.outputs(), std::vector<int>(23, 4), 0),
                       "Recall: expected targets from 0 to 3, found 4; if it stands for 'no target', pass it as ignore_index",
                       input_error);
  CHECK_THROWS_WITH_AS(metrics::Precision<1>{}.add(of.outputs(), of.targets, 0),
                       doctest::Contains("which are logits of 'yes', found 23"), input_error);
}

} // namespace classification_tests
