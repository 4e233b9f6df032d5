// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "shifted_cuts.hpp"

namespace elementwise_elementwise_tests {

using namespace cairn;

namespace {

// Two results of three operands, so that all of them, their order and their number matter.
struct rotated {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& a, T& b, T c) const {
    const T sum = a + T{3} * b * c;
    b = detail::blend(a < c, a * a, c);
    a = sum;
  }
};

template <class T>
bool right(std::size_t count, std::size_t threads) {
  cpu device({.threads = threads});
  const auto a = steps<T>(-2, 1, count + 2), b = steps<T>(1, 5, count + 2), c = steps<T>(-1, -2, count + 2);
  std::vector<T> first(count + 1, T{7}), second(count + 1, T{7});
  detail::elementwise(device.compute(), count, rotated{}, std::array{first.data(), second.data()},
                      std::array{a.data(), b.data(), c.data()});
  bool good = first[count] == T{7} && second[count] == T{7}; // nothing is written after the end
  for (std::size_t i = 0; i < count; ++i) {
    good = good && static_cast<double>(first[i]) == doctest::Approx(static_cast<double>(a[i] + T{3} * b[i] * c[i]));
    good = good && second[i] == (a[i] < c[i] ? a[i] * a[i] : c[i]);
  }
  return good;
}

} // namespace

TEST_CASE("elementwise: every length around a block, and several parts") {
  for (const std::size_t count : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 100U}) {
    CHECK(right<float>(count, 1));
    CHECK(right<double>(count, 1));
  }
  CHECK(right<float>(3 * detail::element_part + 5, 1));
  CHECK(right<float>(3 * detail::element_part + 5, 2));
}

TEST_CASE("elementwise: a result may lie on an operand") {
  cpu device;
  for (const std::size_t count : {5U, 16U, 50U}) {
    auto a = steps<float>(-2, 1, count);
    auto b = steps<float>(1, 5, count);
    const auto c = steps<float>(-1, -2, count);
    std::vector<float> first(count), second(count);
    const std::array<const float*, 3> operands{a.data(), b.data(), c.data()};
    detail::elementwise(device.compute(), count, rotated{}, std::array{first.data(), second.data()}, operands);
    detail::elementwise(device.compute(), count, rotated{}, std::array{a.data(), b.data()}, operands);
    CHECK(a == first);
    CHECK(b == second);
  }
}

TEST_CASE("elementwise: an element's bits do not depend on where it lies") {
  const std::array<std::vector<float>, 3> operands{steps<float>(-2, 1, 77), steps<float>(1, 5, 77), steps<float>(3, -3, 77)};
  CHECK(bits_ignore_cuts<2>(rotated{}, operands));
  const std::array<std::vector<double>, 3> wide{steps<double>(-2, 1, 77), steps<double>(1, 5, 77), steps<double>(3, -3, 77)};
  CHECK(bits_ignore_cuts<2>(rotated{}, wide));
}

TEST_CASE("blend: takes one side, bit for bit") {
  CHECK(detail::blend(true, 1.5F, 2.5F) == 1.5F);
  CHECK(detail::blend(false, 1.5, 2.5) == 2.5);
  CHECK(std::signbit(detail::blend(true, -0.0F, 1.0F)));
  CHECK(std::isnan(detail::blend(false, 1.0F, NAN)));
}

namespace {

// A function as a user's layer has it: it takes values and returns one.
struct weighted {
  double weight;
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T x, T y) const {
    return static_cast<T>(weight) * x + y * y;
  }
};

template <class T>
bool public_op_is_right(std::size_t count, std::size_t threads) {
  cpu device({.threads = threads});
  const auto x = steps<T>(-2, 1, count + 1);
  auto y = steps<T>(1, 5, count + 1);
  std::vector<T> to(count + 1, T{7});
  elementwise(device.compute(), count, weighted{0.5}, to.data(), x.data(), y.data());
  bool good = to[count] == T{7};
  for (std::size_t i = 0; i < count; ++i)
    good = good && static_cast<double>(to[i]) == doctest::Approx(static_cast<double>(T{0.5} * x[i] + y[i] * y[i]));
  elementwise(device.compute(), count, weighted{0.5}, y.data(), x.data(), y.data()); // the result overwrites an operand
  return good && std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(count), y.begin());
}

} // namespace

TEST_CASE("elementwise: the public op gives what its function gives, in place too, whatever the threads") {
  for (const std::size_t count : {0U, 1U, 16U, 33U, 100U}) {
    CHECK(public_op_is_right<float>(count, 1));
    CHECK(public_op_is_right<double>(count, 1));
  }
  CHECK(public_op_is_right<float>(2 * detail::element_part + 5, 2));
}

TEST_CASE("elementwise: the public op takes a lambda of one element too") {
  cpu device;
  const auto x = steps<float>(-2, 1, 21);
  std::vector<float> to(21);
  elementwise(device.compute(), 21, [](float a) { return 3 * a; }, to.data(), x.data());
  for (std::size_t i = 0; i < 21; ++i) CHECK(to[i] == 3 * x[i]);
}

} // namespace elementwise_elementwise_tests
