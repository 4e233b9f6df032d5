// SPDX-License-Identifier: MIT
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/batch_norm/cpu.hpp>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace batch_norm_batch_norm_tests {

using namespace cairn;

namespace {

constexpr double eps = 1e-5;

template <class T>
struct run {
  std::vector<T> y, statistics, dx, dw, db;
  bool operator==(const run&) const = default;
};

// Forward and backward with the given x, dy, w and b. `in_place`: results overwrite the input and the output gradient.
template <class T>
run<T> both_passes(std::size_t features, std::size_t threads, const std::vector<T>& x, const std::vector<T>& dy,
                   const std::vector<T>& w, const std::vector<T>& b, bool in_place = false) {
  cpu device({.threads = threads});
  auto& queue = device.compute();
  const std::size_t rows = x.size() / features;
  run<T> r{x, std::vector<T>(2 * features, T{-7}), dy, std::vector<T>(features, T{-7}), std::vector<T>(features, T{-7})};
  batch_norm_forward(queue, rows, features, eps, r.y.data(), r.statistics.data(), in_place ? r.y.data() : x.data(), w.data(),
                     b.data());
  batch_norm_backward(queue, rows, features, eps, r.dx.data(), r.dw.data(), r.db.data(), in_place ? r.dx.data() : dy.data(),
                      x.data(), r.statistics.data(), w.data());
  return r;
}

template <class T>
std::vector<T> noise(std::size_t count, double frequency, double center = 0) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = static_cast<T>(center + std::sin(frequency * static_cast<double>(i * i % 10007)));
  return result;
}

// The formulas in double, one feature after another, with the variance in a second pass.
template <class T>
run<double> plain(std::size_t features, const std::vector<T>& x, const std::vector<T>& dy, const std::vector<T>& w,
                  const std::vector<T>& b) {
  const std::size_t rows = x.size() / features;
  const auto n = static_cast<double>(rows);
  run<double> r{std::vector<double>(x.size()), std::vector<double>(2 * features), std::vector<double>(x.size()),
                std::vector<double>(features), std::vector<double>(features)};
  for (std::size_t j = 0; j < features; ++j) {
    const auto at = [&](const std::vector<T>& m, std::size_t i) { return static_cast<double>(m[i * features + j]); };
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < rows; ++i) mean += at(x, i) / n;
    for (std::size_t i = 0; i < rows; ++i) variance += (at(x, i) - mean) * (at(x, i) - mean) / n;
    const double inverse = 1 / std::sqrt(variance + eps), weight = static_cast<double>(w[j]);
    r.statistics[j] = mean, r.statistics[features + j] = variance;
    for (std::size_t i = 0; i < rows; ++i) {
      const double h = (at(x, i) - mean) * inverse;
      r.y[i * features + j] = h * weight + static_cast<double>(b[j]);
      r.db[j] += at(dy, i), r.dw[j] += at(dy, i) * h;
    }
    for (std::size_t i = 0; i < rows; ++i)
      r.dx[i * features + j] = weight * inverse * (at(dy, i) - r.db[j] / n - (at(x, i) - mean) * inverse * r.dw[j] / n);
  }
  return r;
}

template <class T>
double distance(const run<T>& found, const run<double>& expected) {
  return std::max({largest_difference(found.y, expected.y), largest_difference(found.statistics, expected.statistics),
                   largest_difference(found.dx, expected.dx), largest_difference(found.dw, expected.dw),
                   largest_difference(found.db, expected.db)});
}

template <class T>
double distance_from_torch() {
  const auto of = [](const char* name) { return reference_numbers<T>(std::string("batch_norm/") + name); };
  const auto expected = [](const char* name) { return reference_values(std::string("batch_norm/") + name); };
  const auto x = of("input"), w = of("parameter0"), b = of("parameter1");
  const run<T> r = both_passes(19, 1, x, of("output_gradient"), w, b);
  std::vector<T> mean(19, T{0}), variance(19, T{1}), evaluated(x.size());
  cpu device;
  batch_norm_update(device.compute(), 7, 19, 0.1, mean.data(), variance.data(), static_cast<const T*>(r.statistics.data()));
  batch_norm_evaluate(device.compute(), 7, 19, eps, evaluated.data(), x.data(), mean.data(), variance.data(), w.data(), b.data());
  return std::max({largest_difference(r.y, expected("output")), largest_difference(r.dx, expected("input_gradient")),
                   largest_difference(r.dw, expected("gradient0")), largest_difference(r.db, expected("gradient1")),
                   largest_difference(mean, expected("running_mean")), largest_difference(variance, expected("running_variance")),
                   largest_difference(evaluated, expected("evaluated"))});
}

} // namespace

TEST_CASE("batch_norm: PyTorch's numbers, in training, of running statistics and in evaluation") {
  CHECK(distance_from_torch<float>() < 2e-6);
  CHECK(distance_from_torch<double>() < 1e-14);
}

TEST_CASE_TEMPLATE("batch_norm: the formulas, also in place, and the same bits on any number of threads", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 4e-6 : 1e-13;
  for (const std::size_t features : {1U, 16U, 70U, 1100U}) {
    const std::size_t rows = features == 70 ? 1000 : 65; // 1000 x 70 and 65 x 1100 are enough for several threads
    const auto x = noise<T>(rows * features, 1.3, 2), dy = noise<T>(rows * features, 0.7);
    const auto w = noise<T>(features, 3.1, 1), b = noise<T>(features, 2.3);
    const auto one = both_passes(features, 1, x, dy, w, b);
    const auto expected = plain(features, x, dy, w, b);
    CHECK(distance(one, expected) < tolerance * (features == 70 ? 10 : 1)); // sums of 1000 elements are larger
    CHECK((one == both_passes(features, 3, x, dy, w, b)));
    CHECK((one == both_passes(features, 1, x, dy, w, b, true)));
  }
}

TEST_CASE("batch_norm: elements far from zero and a first row far from the others lose nothing") {
  constexpr std::size_t rows = 500, features = 20;
  auto x = noise<float>(rows * features, 1.9, 3000);
  for (std::size_t j = 0; j < features; ++j) x[j] = j % 2 == 0 ? 1e6F : -40.0F;
  const std::vector<float> dy(rows * features, 1.0F), w(features, 1.0F), b(features, 0.0F);
  const auto found = both_passes(features, 1, x, dy, w, b);
  const auto expected = plain(features, x, dy, w, b);
  for (std::size_t j = 0; j < 2 * features; ++j)
    CHECK(static_cast<double>(found.statistics[j]) == doctest::Approx(expected.statistics[j]).epsilon(1e-7));
}

TEST_CASE("batch_norm: statistics and gradients of a million equal rows but one") {
  cpu device;
  constexpr std::size_t rows = std::size_t{1} << 20;
  std::vector<float> x(rows, 0.1F), y(rows), dy(rows, 0.3F), statistics(2), dw(1), db(1);
  x[5] = 0.6F;
  const std::vector<float> w{1}, b{0};
  float* const unwanted = nullptr;
  batch_norm_forward(device.compute(), rows, 1, 1e-12, y.data(), statistics.data(), x.data(), w.data(), b.data());
  batch_norm_backward(device.compute(), rows, 1, 1e-12, unwanted, dw.data(), db.data(), dy.data(), x.data(),
                      static_cast<const float*>(statistics.data()), w.data());
  const double share = 1.0 / static_cast<double>(rows), apart = static_cast<double>(x[5]) - static_cast<double>(x[0]);
  CHECK(static_cast<double>(statistics[0]) == doctest::Approx(static_cast<double>(x[0]) + apart * share).epsilon(1e-6).scale(0));
  CHECK(static_cast<double>(statistics[1]) == doctest::Approx(apart * apart * share * (1 - share)).epsilon(1e-6).scale(0));
  CHECK(static_cast<double>(db[0]) ==
        doctest::Approx(static_cast<double>(dy[0]) * static_cast<double>(rows)).epsilon(1e-6).scale(0));
}

TEST_CASE("batch_norm: one row, no rows, no input gradient, and NaN stays in its feature") {
  cpu device;
  auto& queue = device.compute();
  const std::vector<float> x{3, NAN}, w{2, 2}, b{5, 6}, dy{1, 1};
  std::vector<float> y(2), statistics(4, -1.0F), mean{1, 1}, variance{4, 4}, dw(2), db(2);
  float* const unwanted = nullptr;
  batch_norm_forward(queue, 1, 2, eps, y.data(), statistics.data(), x.data(), w.data(), b.data());
  CHECK((y[0] == 5 && std::isnan(y[1]) && statistics[0] == 3 && statistics[2] == 0 && std::isnan(statistics[3])));
  batch_norm_update(queue, 1, 1, 0.5, mean.data(), variance.data(), statistics.data());
  CHECK((mean[0] == 2 && mean[1] == 1 && variance[0] == 4));
  batch_norm_backward(queue, 1, 2, eps, unwanted, dw.data(), db.data(), dy.data(), x.data(), statistics.data(), w.data());
  CHECK((dw[0] == 0 && db[0] == 1));
  std::vector<float> dx(2);
  batch_norm_backward(queue, 1, 2, eps, dx.data(), unwanted, unwanted, dy.data(), x.data(), statistics.data(), w.data());
  CHECK(dx[0] == 0);
  batch_norm_evaluate(queue, 1, 2, 0.0, y.data(), x.data(), mean.data(), variance.data(), w.data(), b.data());
  CHECK((y[0] == 6 && std::isnan(y[1]))); // (3 - 2) / 2 * 2 + 5

  batch_norm_forward(queue, 0, 2, eps, y.data(), statistics.data(), x.data(), w.data(), b.data());
  CHECK((statistics == std::vector<float>{0, 0, 0, 0}));
  batch_norm_update(queue, 0, 2, 0.5, mean.data(), variance.data(), statistics.data());
  CHECK((mean[0] == 2 && variance[0] == 4));
  batch_norm_backward(queue, 0, 2, eps, unwanted, dw.data(), db.data(), dy.data(), x.data(), statistics.data(), w.data());
  CHECK((dw[0] == 0 && db[0] == 0 && dw[1] == 0 && db[1] == 0));
}

TEST_CASE_TEMPLATE("batch_norm: the parts of a batch on several ranks are the whole", T, float, double) {
  constexpr std::size_t rows = 65, features = 1100, cut = 17;
  const auto x = noise<T>(rows * features, 1.3, 2), dy = noise<T>(rows * features, 0.7);
  const auto w = noise<T>(features, 3.1, 1), b = noise<T>(features, 2.3);
  const auto whole = both_passes(features, 1, x, dy, w, b);
  cpu device({.threads = 3});
  auto& queue = device.compute();
  run<T> made{x, std::vector<T>(2 * features), dy, std::vector<T>(features), std::vector<T>(features)};
  const std::vector<std::size_t> cuts{0, cut, rows};
  std::vector<double> sums(2 * features + 1), gradients(sums);
  const auto add_part = [&](std::vector<double>& to, const std::vector<double>& part) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += part[i];
  };
  for (const std::size_t r : {0U, 1U}) {
    std::vector<double> own(sums.size(), -7);
    batch_norm_sums(queue, cuts[r + 1] - cuts[r], features, own.data(), x.data() + cuts[r] * features);
    add_part(sums, own);
  }
  CHECK(sums.back() == rows);
  batch_norm_statistics(queue, features, made.statistics.data(), static_cast<const double*>(sums.data()));
  const T* const statistics = made.statistics.data();
  for (const std::size_t r : {0U, 1U}) {
    const std::size_t first = cuts[r] * features;
    std::vector<double> own(sums.size(), 0);
    std::vector<T> dw(features), db(features);
    batch_norm_gradient_sums(queue, cuts[r + 1] - cuts[r], features, eps, own.data(), dw.data(), db.data(), dy.data() + first,
                             x.data() + first, statistics);
    add_part(gradients, own);
    for (std::size_t j = 0; j < features; ++j) made.dw[j] += dw[j], made.db[j] += db[j];
  }
  gradients.back() = sums.back();
  for (const std::size_t r : {0U, 1U}) {
    const std::size_t first = cuts[r] * features, count = cuts[r + 1] - cuts[r];
    batch_norm_evaluate(queue, count, features, eps, made.y.data() + first, x.data() + first, statistics, statistics + features,
                        w.data(), b.data());
    batch_norm_input_gradient(queue, count, features, eps, made.dx.data() + first, static_cast<const T*>(made.dx.data() + first),
                              x.data() + first, statistics, w.data(), static_cast<const double*>(gradients.data()));
  }
  const auto wide = [](const std::vector<T>& v) { return std::vector<double>(v.begin(), v.end()); };
  const run<double> expected{wide(whole.y), wide(whole.statistics), wide(whole.dx), wide(whole.dw), wide(whole.db)};
  CHECK(distance(made, expected) < (sizeof(T) == 4 ? 2e-6 : 1e-13));

  std::vector<T> mean(features), variance(mean), same_mean(mean), same_variance(mean);
  batch_norm_update(queue, features, 0.1, mean.data(), variance.data(), statistics, static_cast<const double*>(&sums.back()));
  batch_norm_update(queue, rows, features, 0.1, same_mean.data(), same_variance.data(), statistics);
  CHECK(mean == same_mean);
  CHECK(variance == same_variance);
}

TEST_CASE("batch_norm: sums over ranks of floats far from zero lose no more than the floats had") {
  constexpr std::size_t rows = 512, features = 20;
  const auto x = noise<float>(rows * features, 1.9, 30000);
  const auto expected = plain(features, x, x, std::vector<float>(features), std::vector<float>(features));
  cpu device;
  std::vector<double> sums(2 * features + 1);
  std::vector<float> statistics(2 * features);
  batch_norm_sums(device.compute(), rows, features, sums.data(), x.data());
  batch_norm_statistics(device.compute(), features, statistics.data(), static_cast<const double*>(sums.data()));
  for (std::size_t j = 0; j < 2 * features; ++j) // neighbouring floats are 1/512 apart here, so a square is known to 1e-6
    CHECK(static_cast<double>(statistics[j]) == doctest::Approx(expected.statistics[j]).epsilon(1e-6));
}

} // namespace batch_norm_batch_norm_tests
