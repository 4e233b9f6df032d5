// SPDX-License-Identifier: MIT
#include <cairn/train/fit/confusion_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/core/batch.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/model.hpp>
#include <doctest/doctest.h>

#include "decided.hpp"

namespace confusion_matrix_tests {

using namespace cairn;
using metrics::average, metrics::confusion_matrix;
using testing::decided;

TEST_CASE("confusion_matrix: torchmetrics' counts, over batches, and what follows from them") {
  const decided of;
  confusion_matrix found(4);
  for (const std::size_t begin : {0U, 10U, 20U}) {
    const std::size_t count = begin == 20 ? 3 : 10;
    found.add(of.part(begin, count), of.targets_of(begin, count));
  }
  const std::uint64_t expected[4][4]{{2, 3, 2, 2}, {2, 0, 1, 2}, {1, 2, 3, 3}, {0, 0, 0, 0}};
  for (std::size_t target = 0; target < 4; ++target)
    for (std::size_t k = 0; k < 4; ++k) CHECK(found.count(target, k) == expected[target][k]);
  CHECK(found.total() == 23);
  CHECK(found.classes() == 4);
  CHECK(found.accuracy() == doctest::Approx(5.0 / 23));
  CHECK(found.precision(2) == doctest::Approx(3.0 / 6));
  CHECK(found.recall(2) == doctest::Approx(3.0 / 9));
  CHECK(found.f1(2) == doctest::Approx(2 * 3.0 / (6 + 9)));
  CHECK(found.precision(3) == 0); // it is found, and never rightly
  CHECK(found.recall(3) == 0);    // it is no target
  CHECK(found.precision() == doctest::Approx(0.224999994));
  CHECK(found.recall(average::weighted) == doctest::Approx(0.217391312));
  CHECK(found.f1() == doctest::Approx(0.171428576));
}

TEST_CASE("confusion_matrix: what does not fit is an error, and counts nothing") {
  const decided of, wide(6);
  confusion_matrix found(4);
  CHECK_THROWS_WITH_AS(found.add(wide.outputs(), wide.targets), "confusion_matrix: expected outputs for 4 classes, found 6",
                       input_error);
  std::vector<int> targets = of.targets;
  targets.back() = 4;
  CHECK_THROWS_AS(found.add(of.outputs(), targets), input_error);
  CHECK(found.total() == 0);
  found.add(of.outputs(), targets, 4);
  CHECK(found.total() == 22);
  CHECK_THROWS_WITH_AS(found.recall(4), "confusion_matrix: expected a class from 0 to 3, found 4", input_error);
  CHECK_THROWS_AS(confusion_matrix(1), input_error);
  CHECK(confusion_matrix(2).accuracy() == 0);
}

TEST_CASE("confusion: of a model over a loader") {
  // Three classes; the output is the input, so the largest input is the class that is found.
  model<Sequential<Linear<3, 3>>, batch<2>> net;
  std::ranges::fill(net.parameters(), 0.F);
  for (std::size_t i = 0; i < 3; ++i) net.parameter("0.weight")[4 * i] = 1;
  const std::vector<float> inputs{5, 0, 0, 0, 5, 0, 0, 5, 0, 0, 0, 5, 5, 0, 0};
  const std::vector<std::int64_t> targets{0, 1, 2, 2, -1};
  const tensor_dataset data{shape{3}, inputs, 1, targets};
  loader batches{data, sequential_sampler{}, batch<2>{}};
  CHECK_THROWS_AS(metrics::confusion(net, batches), input_error);
  const confusion_matrix found = metrics::confusion(net, batches, -1);
  CHECK(found.total() == 4);
  CHECK(found.count(0, 0) == 1);
  CHECK(found.count(1, 1) == 1);
  CHECK(found.count(2, 1) == 1);
  CHECK(found.count(2, 2) == 1);
}

} // namespace confusion_matrix_tests
