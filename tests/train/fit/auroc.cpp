// SPDX-License-Identifier: MIT
#include <cairn/train/fit/auroc.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "decided.hpp"

namespace auroc_tests {

using namespace cairn;

static_assert(metrics::metric<metrics::AUROC>);

namespace {

// All pairs of a positive and a negative sample.
double by_pairs(const std::vector<float>& logits, const std::vector<int>& targets) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    for (std::size_t j = 0; j < logits.size(); ++j) {
      if (targets[i] != 1 || targets[j] != 0) continue;
      ++pairs;
      right += logits[i] > logits[j] ? 1 : logits[i] == logits[j] ? 0.5 : 0;
    }
  return right / pairs;
}

double binned(const std::vector<float>& logits, const std::vector<int>& targets) {
  const metrics::AUROC of;
  metrics::AUROC::sum sum{};
  const std::size_t half = logits.size() / 2; // two batches
  detail::add_numbers(sum.data(),
                      of.add(std::vector<float>(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(half)),
                             std::vector<int>(targets.begin(), targets.begin() + static_cast<std::ptrdiff_t>(half)), 0));
  detail::add_numbers(sum.data(),
                      of.add(std::vector<float>(logits.begin() + static_cast<std::ptrdiff_t>(half), logits.end()),
                             std::vector<int>(targets.begin() + static_cast<std::ptrdiff_t>(half), targets.end()), 0));
  return of.value(sum);
}

} // namespace

TEST_CASE("AUROC: torchmetrics' number, with equal logits") {
  const testing::decided_logits of;
  CHECK(metrics::auroc(of.logits, of.targets) == doctest::Approx(0.676470578));
  CHECK(metrics::auroc(of.logits, of.targets) == doctest::Approx(by_pairs(of.logits, of.targets)).epsilon(1e-14));
  CHECK(binned(of.logits, of.targets) == doctest::Approx(0.676470578)); // whose logits are more than an interval apart
}

TEST_CASE("AUROC: many logits, also beyond the intervals, where the metric differs by what shares an interval") {
  std::vector<float> logits;
  std::vector<int> targets;
  for (std::size_t i = 0; i < 2000; ++i) {
    const float x = static_cast<float>(std::sin(static_cast<double>(i) * 1.7) + std::cos(static_cast<double>(i) * 0.9));
    targets.push_back((i * 2654435761U >> 7) % 3 == 0 ? 1 : 0);
    logits.push_back(8 * x + (targets.back() == 1 ? 5.F : 0.F) + (i % 100 == 0 ? 30.F : 0.F));
  }
  const double exact = by_pairs(logits, targets);
  CHECK(exact > 0.6);
  CHECK(metrics::auroc(logits, targets) == doctest::Approx(exact).epsilon(1e-12));
  CHECK(binned(logits, targets) == doctest::Approx(exact).epsilon(1e-3));
}

TEST_CASE("AUROC: 0 without positive or negative samples, 1 if all are in order, and NaN is an error") {
  const std::vector<float> logits{-1, 0, 1, 2};
  for (const auto value : {0, 1}) {
    CHECK(metrics::auroc(logits, std::vector<int>(4, value)) == 0);
    CHECK(binned(logits, std::vector<int>(4, value)) == 0);
  }
  CHECK(metrics::auroc(logits, std::vector<int>{0, 0, 1, 1}) == 1);
  CHECK(binned(logits, {0, 0, 1, 1}) == 1);
  const std::vector<float> broken{0, std::numeric_limits<float>::quiet_NaN()};
  CHECK_THROWS_AS(metrics::auroc(broken, std::vector<int>{0, 1}), input_error);
  CHECK_THROWS_AS(metrics::AUROC{}.add(broken, std::vector<int>{0, 1}, 0), input_error);
}

} // namespace auroc_tests
