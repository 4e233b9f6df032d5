// SPDX-License-Identifier: MIT
#include <cairn/ops/softmax/cpu.hpp>
#include <cairn/ops/softmax/formula.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../narrow.hpp"

namespace softmax_in_part_tests {

using namespace cairn;

namespace {

// Rows with a gap after them, which stays as it is.
template <class T>
struct gapped {
  std::size_t rows, columns, stride = columns + 3;
  std::vector<T> numbers = std::vector<T>(rows * stride, static_cast<T>(7.0F));

  ops::matrix<T> view() { return {numbers.data(), rows, columns, stride}; }
  ops::matrix<const T> read() const { return {numbers.data(), rows, columns, stride}; }
  void assign(const std::vector<T>& from) {
    for (std::size_t i = 0; i < rows * columns; ++i) view()(i / columns, i % columns) = from[i];
  }
  bool gap_is_there() const {
    bool all = true;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = columns; j < stride; ++j) all = all && static_cast<float>(numbers[i * stride + j]) == 7;
    return all;
  }
  // Without the gaps.
  std::vector<T> dense() const {
    std::vector<T> out;
    for (std::size_t i = 0; i < rows; ++i)
      out.insert(out.end(), numbers.begin() + static_cast<std::ptrdiff_t>(i * stride),
                 numbers.begin() + static_cast<std::ptrdiff_t>(i * stride + columns));
    return out;
  }
};

template <class T>
std::vector<T> waves(std::size_t count, double of) {
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = static_cast<T>(static_cast<accumulated<T>>(3 * std::sin(static_cast<double>(i) * of)));
  return x;
}

} // namespace

TEST_CASE_TEMPLATE("softmax_in_part: without a scale it has the bits of the ops", T, float, double, bfloat16, float16) {
  cpu device;
  for (const std::size_t columns : {1U, 7U, 64U, 1100U}) {
    constexpr std::size_t rows = 5;
    const std::vector<T> x = waves<T>(rows * columns, 0.37), dy = waves<T>(rows * columns, 0.71);
    std::vector<T> y(x.size()), dx(x.size());
    softmax_forward(device.compute(), rows, columns, y.data(), x.data());
    softmax_backward(device.compute(), rows, columns, dx.data(), dy.data(), std::as_const(y).data());
    gapped<T> own{rows, columns}, gradient{rows, columns};
    own.assign(x);
    gradient.assign(dy);
    ops::softmax_in_part(own.view());
    ops::softmax_gradient_in_part(gradient.view(), own.read());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(static_cast<double>(own.dense()[i]) == static_cast<double>(y[i]));
      CHECK(static_cast<double>(gradient.dense()[i]) == static_cast<double>(dx[i]));
      if (columns == 1100) i += 40;
    }
    CHECK((own.gap_is_there() && gradient.gap_is_there()));
  }
}

TEST_CASE_TEMPLATE("softmax_in_part: rows are multiplied by the scale, and the gradient too", T, float, double) {
  constexpr std::size_t rows = 3, columns = 19;
  constexpr double most = sizeof(T) == 4 ? 1e-6 : 1e-14;
  for (const double scale : {0.125, 3.0}) {
    const std::vector<T> x = waves<T>(rows * columns, 0.37), dy = waves<T>(rows * columns, 0.71);
    gapped<T> own{rows, columns}, gradient{rows, columns};
    own.assign(x);
    gradient.assign(dy);
    ops::softmax_in_part(own.view(), static_cast<T>(scale));
    ops::softmax_gradient_in_part(gradient.view(), own.read(), static_cast<T>(scale));
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = 0, product = 0;
      std::vector<double> y(columns);
      for (std::size_t j = 0; j < columns; ++j) sum += y[j] = std::exp(scale * static_cast<double>(x[i * columns + j]));
      for (std::size_t j = 0; j < columns; ++j) product += (y[j] /= sum) * static_cast<double>(dy[i * columns + j]);
      for (std::size_t j = 0; j < columns; ++j) {
        CHECK(std::fabs(static_cast<double>(own.view()(i, j)) - y[j]) < most);
        const double dx = scale * y[j] * (static_cast<double>(dy[i * columns + j]) - product);
        CHECK(std::fabs(static_cast<double>(gradient.view()(i, j)) - dx) < 3 * most);
      }
    }
  }
}

TEST_CASE("softmax_in_part: what a mask has set to minus infinity has no share, and a row without columns is none") {
  constexpr float none = -std::numeric_limits<float>::infinity();
  std::vector<float> x{1, none, 1, none};
  ops::softmax_in_part(ops::matrix<float>{x.data(), 1, 4}, 0.5F);
  CHECK(x == std::vector<float>{0.5F, 0, 0.5F, 0});
  x = {100, 99.9F, 0, -100}; // e to the power of 200 would be infinity
  ops::softmax_in_part(ops::matrix<float>{x.data(), 1, 4}, 3.0F);
  CHECK((std::fabs(x[0] - 0.574443F) < 1e-5F && x[2] == 0));
  x[0] = 0.5F;
  ops::softmax_in_part(ops::matrix<float>{x.data(), 3, 0});
  ops::softmax_gradient_in_part(ops::matrix<float>{x.data(), 3, 0}, ops::matrix<const float>{x.data(), 3, 0});
  CHECK(x[0] == 0.5F);
}

TEST_CASE("softmax_in_part: a scale that is not above 0, and matrices that differ, are an error") {
  std::vector<float> x(4);
  const ops::matrix<float> two{x.data(), 2, 2};
  CHECK_THROWS_WITH_AS(ops::softmax_in_part(two, -1.0F),
                       "softmax within a part: expected a scale above 0, found -1.000000; change the sign of the rows instead",
                       error);
  CHECK_THROWS_AS(ops::softmax_in_part(two, std::numeric_limits<float>::quiet_NaN()), error);
  CHECK_THROWS_AS(ops::softmax_gradient_in_part(two, two, 0.0F), error);
  CHECK_THROWS_AS(ops::softmax_gradient_in_part(two, ops::matrix<const float>{x.data(), 1, 2}), error);
}

} // namespace softmax_in_part_tests
