// SPDX-License-Identifier: MIT
// long to compile
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/batch_norm/cpu.hpp>

#include "../narrow.hpp"

namespace batch_norm_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check() {
  constexpr std::size_t rows = 21, features = 37, count = rows * features;
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const auto x = narrow::normal<T>(count, 1), dy = narrow::normal<T>(count, 2);
  const auto w = narrow::normal<T>(features, 3), b = narrow::normal<T>(features, 4);
  std::vector<T> own(count);
  std::vector<float> wide(count), own_s(2 * features), wide_s(2 * features);
  batch_norm_forward(queue, rows, features, 1e-5, own.data(), own_s.data(), x.own.data(), w.own.data(), b.own.data());
  batch_norm_forward(queue, rows, features, 1e-5, wide.data(), wide_s.data(), x.wide.data(), w.wide.data(), b.wide.data());
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
  for (std::size_t i = 0; i < own_s.size(); ++i) CHECK(own_s[i] == doctest::Approx(wide_s[i]).epsilon(1e-6));

  batch_norm_evaluate(queue, rows, features, 1e-5, own.data(), x.own.data(), wide_s.data(), wide_s.data() + features,
                      w.own.data(), b.own.data());
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);

  // A ReLU after it and the derivative of one before it have the bits of the op ReLU, and the running statistics are moved.
  std::vector<T> rectified(count), masked(count);
  std::vector<float> mean(features, 0.5F), variance(features, 2), moved_mean = mean, moved_variance = variance;
  batch_norm_update(queue, rows, features, 0.25, mean.data(), variance.data(), static_cast<const float*>(own_s.data()));
  batch_norm_forward(queue, rows, features, 1e-5, own.data(), own_s.data(), x.own.data(), w.own.data(), b.own.data());
  batch_norm_forward(queue, rows, features, 1e-5, rectified.data(), own_s.data(), x.own.data(), w.own.data(), b.own.data(),
                     ops::activation::relu, {0.25, moved_mean.data(), moved_variance.data()});
  CHECK(mean == moved_mean);
  CHECK(variance == moved_variance);
  std::size_t wrong = 0, cut = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto y = static_cast<float>(own[i]), r = static_cast<float>(rectified[i]);
    wrong += r != (y < 0 ? 0 : y) || std::signbit(r) != std::signbit(y < 0 ? 0 : y);
    cut += y < 0;
  }
  CHECK(wrong == 0);
  CHECK(cut > 0);
  float* const unwanted = nullptr;
  batch_norm_backward(queue, rows, features, 1e-5, own.data(), unwanted, unwanted, dy.own.data(), x.own.data(), wide_s.data(),
                      w.own.data());
  batch_norm_backward(queue, rows, features, 1e-5, masked.data(), unwanted, unwanted, dy.own.data(), x.own.data(), wide_s.data(),
                      w.own.data(), ops::activation::relu);
  for (std::size_t i = 0; i < count; ++i)
    wrong += static_cast<float>(masked[i]) != (static_cast<float>(x.own[i]) <= 0 ? 0 : static_cast<float>(own[i]));
  CHECK(wrong == 0);

  std::vector<float> own_sums(2 * features), wide_sums(2 * features);
  batch_norm_backward(queue, rows, features, 1e-5, own.data(), own_sums.data(), own_sums.data() + features, dy.own.data(),
                      x.own.data(), wide_s.data(), w.own.data());
  batch_norm_backward(queue, rows, features, 1e-5, wide.data(), wide_sums.data(), wide_sums.data() + features, dy.wide.data(),
                      x.wide.data(), wide_s.data(), w.wide.data());
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
  CHECK(narrow::wrong(own_sums, wide_sums, 1e-5F) == 0);

  own = dy.own; // in place, without the parameters' gradients
  batch_norm_backward(queue, rows, features, 1e-5, own.data(), static_cast<float*>(nullptr), static_cast<float*>(nullptr),
                      own.data(), x.own.data(), wide_s.data(), w.own.data());
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);

  batch_norm_forward(queue, 0, features, 1e-5, own.data(), own_s.data(), x.own.data(), w.own.data(), b.own.data());
  CHECK(own_s == std::vector<float>(2 * features)); // without rows, they are 0
}

// Results around half of the numbers nearest to 0, which are rounded to them or to 0.
template <class T>
void check_tiny_results() {
  cpu device;
  auto& queue = device.compute();
  constexpr std::size_t rows = 9, features = 40;
  std::vector<T> x(rows * features), w(features), b(features, T(0.0F)), own(x.size()), rectified(x.size());
  const float least = static_cast<float>(T::from_bits(1));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T((static_cast<float>(i / features) - 4) * least); // -4 … 4 times
  for (std::size_t j = 0; j < features; ++j) w[j] = T(0.25F * static_cast<float>(j % 5));
  const std::vector<float> mean(features, 0.0F), variance(features, 1.0F);
  batch_norm_evaluate(queue, rows, features, 0, own.data(), x.data(), mean.data(), variance.data(), w.data(), b.data());
  batch_norm_evaluate(queue, rows, features, 0, rectified.data(), x.data(), mean.data(), variance.data(), w.data(), b.data(),
                      ops::activation::relu);
  std::size_t wrong = 0, zeros = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool negative = static_cast<float>(own[i]) < 0;
    wrong += rectified[i].bits != (negative ? 0 : own[i].bits);
    zeros += own[i].bits == 0x8000U;
  }
  CHECK(wrong == 0);
  CHECK(zeros > 0); // -0
}

} // namespace

TEST_CASE("batch_norm: of 16-bit elements it is that of float, rounded once, and statistics and sums are float") {
  check<bfloat16>();
  check<float16>();
}

TEST_CASE("batch_norm: of 16-bit elements a ReLU after it sees the rounded numbers") {
  check_tiny_results<bfloat16>();
  check_tiny_results<float16>();
}

} // namespace batch_norm_narrow_tests
