// SPDX-License-Identifier: MIT
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace softmax_cross_entropy_softmax_cross_entropy_tests {

using namespace cairn;

namespace {

struct outcome {
  double loss = 0;
  std::vector<double> gradient;
};

// The formula in double, row by row.
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
          (std::exp(static_cast<double>(first[c]) - most) / sum - (c == target ? 1 : 0)) / static_cast<double>(rows);
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
    const ops::matrix<const T> logits{gradient.data(), rows, classes};
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
  softmax_cross_entropy(device.compute(), &loss, x.data(), ops::matrix<const float>{x.data(), 2, 3}, targets.data());
  CHECK(loss == 500); // 1000 for the first row, 0 for the second
  CHECK((x[0] == 0.5F && x[1] == -0.5F && x[2] == 0 && x[3] == 0));
}

// A processor takes a hundred times as long for numbers below the least normal one.
TEST_CASE("softmax_cross_entropy: a gradient is zero before it is too small to be normal, in short rows and long ones") {
  cpu device;
  for (const std::size_t classes : {10U, 1500U}) {
    std::vector<float> x(classes, -88.0F);
    x[0] = 0;
    const int target = 0;
    double loss = 1;
    softmax_cross_entropy(device.compute(), &loss, x.data(), ops::matrix<const float>{x.data(), 1, classes}, &target);
    CHECK(loss == 0);
    for (const float gradient : x) CHECK(gradient == 0);
  }
}

TEST_CASE("softmax_cross_entropy: the mean over a million equal rows, with options too") {
  cpu device;
  const std::size_t rows = std::size_t{1} << 20;
  std::vector<float> x(rows * 2, 0.1F);
  for (std::size_t i = 0; i < rows; ++i) x[2 * i] = 0.7F;
  const std::vector<int> t(rows, 1);
  const double apart = static_cast<double>(0.7F) - static_cast<double>(0.1F);
  const double expected = std::log(1 + std::exp(-apart)) + apart;
  double losses[2] = {};
  float* const unwanted = nullptr;
  softmax_cross_entropy(device.compute(), &losses[0], unwanted, {x.data(), rows, 2}, t.data());
  softmax_cross_entropy(device.compute(), &losses[1], unwanted, {x.data(), rows, 2}, t.data(), {.ignore_index = -1});
  for (const double loss : losses) CHECK(loss == doctest::Approx(expected).epsilon(1e-6).scale(0));
}

TEST_CASE("softmax_cross_entropy: NaN stays visible, and no rows are no error") {
  cpu device;
  std::vector<float> x{1, NAN, 2};
  const long target = 0;
  double loss = 0;
  softmax_cross_entropy(device.compute(), &loss, x.data(), ops::matrix<const float>{x.data(), 1, 3}, &target);
  CHECK(std::isnan(loss));
  softmax_cross_entropy(device.compute(), &loss, x.data(), ops::matrix<const float>{x.data(), 0, 3}, &target);
  CHECK(loss == 0);
}

TEST_CASE("softmax_cross_entropy: a target that is no class is found by whoever asks before") {
  detail::check_classes(std::vector<int>{0, 1}.data(), 2, 2);
  for (const int wrong : {2, -1}) {
    const std::vector<int> targets{0, wrong};
    const std::string expected = "CrossEntropyLoss: target 1 is " + std::to_string(wrong) + ", but the classes are 0 to 1";
    CHECK_THROWS_WITH_AS(detail::check_classes(targets.data(), 2, 2), doctest::Contains(expected.c_str()), input_error);
  }
  const std::vector<int> targets{-100, -99};
  const std::int64_t first = -100, second = -99;
  CHECK_THROWS_WITH_AS(detail::check_classes(targets.data(), 2, 2, &first), doctest::Contains("target 1 is -99"), input_error);
  CHECK_THROWS_WITH_AS(detail::check_classes(targets.data(), 2, 2, &second), doctest::Contains("target 0 is -100"), input_error);
  detail::check_classes(targets.data(), 1, 2, &first);
}

namespace {

// The formula with options in double, row by row.
template <class T>
outcome plain(const std::vector<T>& x, const std::vector<int>& targets, std::size_t classes,
              const ops::cross_entropy_options<T>& options) {
  const auto weight = [&](std::size_t c) {
    return options.class_weights == nullptr ? 1 : static_cast<double>(options.class_weights[c]);
  };
  const double a = options.label_smoothing;
  outcome out{0, std::vector<double>(x.size())};
  double total = 0, every = 0;
  for (const int t : targets)
    if (t != options.ignore_index) total += weight(static_cast<std::size_t>(t));
  for (std::size_t c = 0; c < classes; ++c) every += weight(c);
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == options.ignore_index) continue;
    const T* const first = x.data() + row * classes;
    const auto t = static_cast<std::size_t>(targets[row]);
    double most = -INFINITY, sum = 0;
    for (std::size_t c = 0; c < classes; ++c) most = std::max(most, static_cast<double>(first[c]));
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(first[c]) - most);
    const double spread = a / static_cast<double>(classes);
    for (std::size_t c = 0; c < classes; ++c) {
      const double logarithm = static_cast<double>(first[c]) - most - std::log(sum);
      const double share = (c == t ? (1 - a) * weight(t) : 0) + spread * weight(c);
      out.loss -= share * logarithm / total;
      out.gradient[row * classes + c] = (((1 - a) * weight(t) + spread * every) * std::exp(logarithm) - share) / total;
    }
  }
  return out;
}

template <class T>
double options_distance_from_torch(const std::string& name, const ops::cross_entropy_options<T>& options) {
  cpu device;
  auto x = reference_numbers<T>(name + "/output");
  const auto targets = reference_numbers<std::int64_t>(name + "/targets");
  double loss = 0;
  const ops::matrix<const T> logits{x.data(), targets.size(), x.size() / targets.size()};
  softmax_cross_entropy(device.compute(), &loss, x.data(), logits, targets.data(), options);
  return std::max(largest_difference<double>({loss}, reference_values(name + "/loss")),
                  largest_difference(x, reference_values(name + "/output_gradient")));
}

template <class T>
void check_options_with_torch(double tolerance) {
  const auto weights = reference_numbers<T>("cross_entropy_options/class_weights");
  CHECK(options_distance_from_torch<T>("cross_entropy_ignore", {}) < tolerance);
  CHECK(options_distance_from_torch<T>("cross_entropy_smoothing", {.label_smoothing = 0.1}) < tolerance);
  CHECK(options_distance_from_torch<T>("cross_entropy_weights", {.class_weights = weights.data()}) < tolerance);
  const ops::cross_entropy_options<T> all{.ignore_index = 3, .label_smoothing = 0.25, .class_weights = weights.data()};
  CHECK(options_distance_from_torch<T>("cross_entropy_all", all) < tolerance);
}

template <class T>
void check_options(std::size_t rows, std::size_t classes, double tolerance) {
  auto x = steps<T>(-9, 8, rows * classes + 1);
  x.pop_back();
  const auto weights = steps<T>(0.5, 2, classes + 1);
  std::vector<int> targets(rows);
  for (std::size_t row = 0; row < rows; ++row) targets[row] = row % 5 == 2 ? -1 : static_cast<int>(row * 7 % classes);
  const ops::cross_entropy_options<T> options{.ignore_index = -1, .label_smoothing = 0.2, .class_weights = weights.data()};
  const outcome expected = plain(x, targets, classes, options);
  double losses[3] = {};
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    auto gradient = x; // in place
    const ops::matrix<const T> logits{gradient.data(), rows, classes};
    T* const unwanted = nullptr;
    softmax_cross_entropy(device.compute(), &losses[2], unwanted, logits, targets.data(), options);
    softmax_cross_entropy(device.compute(), &losses[threads - 1], gradient.data(), logits, targets.data(), options);
    CHECK(largest_difference(gradient, expected.gradient) < tolerance);
    CHECK(losses[2] == losses[threads - 1]); // the loss does not depend on whether the gradient is wanted
  }
  CHECK(losses[0] == losses[1]);
  CHECK(losses[0] == doctest::Approx(expected.loss).epsilon(tolerance));
}

} // namespace

TEST_CASE("softmax_cross_entropy with options: PyTorch's numbers") {
  check_options_with_torch<float>(1e-6);
  check_options_with_torch<double>(1e-15);
}

TEST_CASE("softmax_cross_entropy with options: the formula, on any number of threads, the gradient over the "
          "logits") {
  for (const std::size_t classes : {2U, 10U, 19U, 1500U, 5000U}) {
    check_options<float>(7, classes, 1e-6);
    check_options<double>(7, classes, 1e-14);
  }
  check_options<float>(1000, 10, 1e-6);
}

TEST_CASE("softmax_cross_entropy with options: rows that are all ignored, or weigh nothing, have no loss and "
          "no gradient") {
  cpu device;
  const std::vector<int> ignored{-100, -100}, chosen{0, 0};
  const std::vector<float> weights{0, 1};
  for (const bool all_ignored : {true, false}) {
    std::vector<float> x{1, 2, 3, 4};
    double loss = 7;
    const ops::cross_entropy_options<float> options{.class_weights = weights.data()};
    softmax_cross_entropy(device.compute(), &loss, x.data(), ops::matrix<const float>{x.data(), 2, 2},
                          all_ignored ? ignored.data() : chosen.data(), options);
    CHECK(loss == 0);
    CHECK((x == std::vector<float>{0, 0, 0, 0}));
  }
}

TEST_CASE_TEMPLATE("softmax_cross_entropy with options: strips of rows have the gradients of all rows, bit for bit", T, float,
                   double) {
  constexpr std::size_t rows = 11, classes = 70;
  cpu device({.threads = 2});
  const auto x = steps<T>(-9, 8, rows * classes);
  std::vector<int> targets(rows);
  for (std::size_t row = 0; row < rows; ++row) targets[row] = static_cast<int>(row * 7 % classes);
  targets[2] = targets[8] = -100; // in the first strip and in the last
  std::vector<T> weights(classes);
  for (std::size_t c = 0; c < classes; ++c) weights[c] = static_cast<T>(0.5) + static_cast<T>(c % 3);
  const ops::cross_entropy_options<T> options{.label_smoothing = 0.1, .class_weights = weights.data()};
  auto whole = x, strips = x;
  double loss = 7, sum = 7;
  softmax_cross_entropy(device.compute(), &loss, whole.data(), ops::matrix<const T>(whole.data(), rows, classes), targets.data(),
                        options);
  for (const std::size_t first : {0U, 4U, 8U}) {
    T* const there = strips.data() + first * classes;
    const ops::matrix<const T> logits(there, std::min<std::size_t>(4, rows - first), classes);
    softmax_cross_entropy(device.compute(), &sum, there, logits, targets.data(), options, {first, rows});
  }
  CHECK(strips == whole);
  CHECK(sum == doctest::Approx(loss).epsilon(1e-14));
}

TEST_CASE("softmax_cross_entropy: the maximum of a row is found wherever it is, and a NaN is not lost") {
  cpu device;
  constexpr std::size_t classes = 70;
  const std::vector<int> targets{0};
  for (std::size_t at = 0; at < classes; ++at) {
    std::vector<float> x(classes, -200); // without the maximum, the exponential of the largest would overflow
    x[at] = 200;
    double loss = 7;
    softmax_cross_entropy(device.compute(), &loss, x.data(), ops::matrix<const float>(x.data(), 1, classes), targets.data());
    CHECK(loss == (at == 0 ? 0 : 400));
    std::vector<float> nan(classes, -1);
    nan[at] = NAN;
    softmax_cross_entropy(device.compute(), &loss, static_cast<float*>(nullptr), ops::matrix<const float>(nan.data(), 1, classes),
                          targets.data());
    CHECK(std::isnan(loss));
  }
}

} // namespace softmax_cross_entropy_softmax_cross_entropy_tests
