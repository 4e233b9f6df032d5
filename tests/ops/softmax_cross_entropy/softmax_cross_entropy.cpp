// SPDX-License-Identifier: MIT
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

using namespace cairn;

namespace {

struct outcome {
  double loss = 0;
  std::vector<double> gradient;
};

// The formula, one row after another, in double.
template <class T>
outcome plain(const std::vector<T>& x, const std::vector<int>& targets, std::size_t classes) {
  const std::size_t rows = targets.size();
  outcome out{0, std::vector<double>(x.size())};
  for (std::size_t row = 0; row < rows; ++row) {
    const T* const first = x.data() + row * classes;
    double most = -INFINITY, sum = 0;
    for (std::size_t c = 0; c < classes; ++c) most = std::max(most, static_cast<double>(first[c]));
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(first[c]) - most);
    const auto target = static_cast<std::size_t>(targets[row]);
    out.loss += (std::log(sum) + most - static_cast<double>(first[target])) / static_cast<double>(rows);
    for (std::size_t c = 0; c < classes; ++c)
      out.gradient[row * classes + c] =
          (std::exp(static_cast<double>(first[c]) - most) / sum - (c == target ? 1 : 0)) /
          static_cast<double>(rows);
  }
  return out;
}

template <class T>
void check(std::size_t rows, std::size_t classes, double tolerance) {
  auto x = steps<T>(-9, 8, rows * classes + 1);
  x.pop_back();
  std::vector<int> targets(rows);
  for (std::size_t row = 0; row < rows; ++row) targets[row] = static_cast<int>(row * 7 % classes);
  const outcome expected = plain(x, targets, classes);
  double losses[3] = {};
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    auto gradient = x; // in place
    const matrix<const T> logits{gradient.data(), rows, classes};
    T* const unwanted = nullptr;
    softmax_cross_entropy(device.compute(), &losses[2], unwanted, logits, targets.data());
    softmax_cross_entropy(device.compute(), &losses[threads - 1], gradient.data(), logits, targets.data());
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(gradient[i]) - expected.gradient[i]));
    CHECK(worst < tolerance);
    CHECK(losses[2] == losses[threads - 1]); // the loss does not depend on whether the gradient is wanted
  }
  CHECK(losses[0] == losses[1]);
  CHECK(losses[0] == doctest::Approx(expected.loss).epsilon(tolerance));
}

} // namespace

TEST_CASE("softmax_cross_entropy: the formula, on any number of threads, the gradient over the logits") {
  for (const std::size_t classes : {1U, 2U, 10U, 16U, 19U, 1500U, 5000U}) {
    check<float>(7, classes, 1e-6);
    check<double>(7, classes, 1e-14);
  }
  check<float>(1000, 10, 1e-6);
  check<float>(1, 10, 1e-6);
}

TEST_CASE("softmax_cross_entropy: large logits neither overflow nor lose the loss") {
  cpu device;
  std::vector<float> x{1000, 0, -1000, 3e38F, 0, 0};
  const std::vector<unsigned char> targets{1, 0};
  double loss = 0;
  softmax_cross_entropy(device.compute(), &loss, x.data(), matrix<const float>{x.data(), 2, 3},
                        targets.data());
  CHECK(loss == 500); // 1000 for the first row, 0 for the second
  CHECK((x[0] == 0.5F && x[1] == -0.5F && x[2] == 0 && x[3] == 0));
}

TEST_CASE("softmax_cross_entropy: NaN stays visible, and no rows are no error") {
  cpu device;
  std::vector<float> x{1, NAN, 2};
  const long target = 0;
  double loss = 0;
  softmax_cross_entropy(device.compute(), &loss, x.data(), matrix<const float>{x.data(), 1, 3}, &target);
  CHECK(std::isnan(loss));
  softmax_cross_entropy(device.compute(), &loss, x.data(), matrix<const float>{x.data(), 0, 3}, &target);
  CHECK(loss == 0);
}

TEST_CASE("softmax_cross_entropy: a target that is no class is an error, and nothing is written") {
  cpu device;
  std::vector<float> x{1, 2, 3, 4};
  const auto before = x;
  for (const int wrong : {2, -1}) {
    const std::vector<int> targets{0, wrong};
    double loss = 7;
    const std::string expected =
        "CrossEntropyLoss: target 1 is " + std::to_string(wrong) + ", but the classes are 0 to 1";
    try {
      softmax_cross_entropy(device.compute(), &loss, x.data(), matrix<const float>{x.data(), 2, 2},
                            targets.data());
      FAIL("no error");
    } catch (const error& e) {
      CHECK(std::string(e.what()).find(expected) == 0);
    }
    CHECK((x == before && loss == 7));
  }
}
