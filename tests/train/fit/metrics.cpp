// SPDX-License-Identifier: MIT
#include <cairn/train/fit/metrics.hpp>

#include <cmath>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <doctest/doctest.h>

namespace metrics_tests {

using namespace cairn;

TEST_CASE("metrics: add up over batches of any size to the value of all") {
  // torchmetrics 1.4: MulticlassAccuracy(3, average="micro") of all five is 0.6; MeanAbsoluteError of the second is 0.75.
  const std::vector<float> a{2, 1, 0, 0, 1, 2, 3, 2, 1}, b{0, 0, 1, 5, 4, 3};
  const std::vector<int> of_a{0, 2, 1}, of_b{2, 1};
  const tensor_view<const float> first{a.data(), 3, shape{3}}, second{b.data(), 2, shape{3}};
  metrics::metric_sum all = metrics::Accuracy{}.add(first, of_a, 0);
  all += metrics::Accuracy{}.add(second, of_b, 0);
  CHECK(metrics::Accuracy{}.value(all) == doctest::Approx(0.6));

  metrics::metric_sum words = metrics::Perplexity{}.add(first, of_a, 1.0);
  words += metrics::Perplexity{}.add(second, of_b, 2.0);
  CHECK(metrics::Perplexity{}.value(words) == doctest::Approx(std::exp((3 * 1.0 + 2 * 2.0) / 5)));

  const std::vector<float> targets{1, 0, 0, 5, 4, 0.5F};
  CHECK(metrics::MeanAbsoluteError{}.value(metrics::MeanAbsoluteError{}.add(second, targets, 0)) ==
        doctest::Approx((1 + 0 + 1 + 0 + 0 + 2.5) / 6));
}

} // namespace metrics_tests
