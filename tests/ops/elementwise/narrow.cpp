// SPDX-License-Identifier: MIT
// long to compile
// Elementwise ops on 16-bit elements: activations, sums, and the losses that are means over elements.
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/config.hpp>
#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/ops/add/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/mean_of_terms/cpu.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>

#include "../narrow.hpp"

namespace elementwise_narrow_tests {

using namespace cairn;

namespace {

// A function as a user's layer has it.
struct product {
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
};

constexpr std::size_t count = 1200; // several pieces, the last one shorter

template <class T>
void check_activations() {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  auto x = narrow::normal<T>(count, 1);
  const auto dy = narrow::normal<T>(count, 2);
  x.wide[5] = std::numeric_limits<float>::quiet_NaN();
  x.own[5] = T(x.wide[5]);
  std::vector<T> own(count);
  std::vector<float> wide(count);
  const auto forward = [&](auto op) {
    op(own.data(), x.own.data());
    op(wide.data(), x.wide.data());
    CHECK(narrow::wrong(own, wide) == 0);
  };
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::relu_value{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::gelu_value{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::tanh_value{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::sigmoid_value{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::silu_value{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::tanh_gelu_value{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::leaky_relu_value<percent<1>>{}, y, in); });
  forward([&](auto* y, const auto* in) { elementwise(queue, count, detail::elu_value<fraction{1}>{}, y, in); });
  const auto backward = [&](auto op) {
    op(own.data(), dy.own.data(), x.own.data());
    op(wide.data(), dy.wide.data(), x.wide.data());
    CHECK(narrow::wrong(own, wide) == 0);
  };
  backward([&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::relu_slope{}, dx, g, in); });
  backward([&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::gelu_slope{}, dx, g, in); });
  backward([&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::tanh_slope{}, dx, g, in); });
  backward([&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::sigmoid_slope{}, dx, g, in); });
  backward([&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::silu_slope{}, dx, g, in); });
  backward([&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::tanh_gelu_slope{}, dx, g, in); });
  backward([&](auto* dx, const auto* g, const auto* in) {
    elementwise(queue, count, detail::leaky_relu_slope<percent<1>>{}, dx, g, in);
  });
  backward(
      [&](auto* dx, const auto* g, const auto* in) { elementwise(queue, count, detail::elu_slope<fraction{1}>{}, dx, g, in); });
  backward([&](auto* made, const auto* a, const auto* b) { elementwise(queue, count, product{}, made, a, b); });
  backward([&](auto* sum, const auto* a, const auto* b) { add(queue, count, sum, a, b); });
  own = x.own; // the sum may overwrite an operand
  add(queue, count, own.data(), own.data(), dy.own.data());
  CHECK(narrow::wrong(own, wide) == 0);

  using wide_matrix = ops::matrix<float>;
  add_matrix(queue, ops::matrix<T>(own.data(), 30, 20, 40), ops::matrix<const T>(x.own.data(), 30, 20, 40),
             ops::matrix<const T>(dy.own.data(), 30, 20, 30));
  add_matrix(queue, wide_matrix(wide.data(), 30, 20, 40), ops::matrix<const float>(x.wide.data(), 30, 20, 40),
             ops::matrix<const float>(dy.wide.data(), 30, 20, 30));
  CHECK(narrow::wrong(own, wide) == 0);
}

// The targets have the type in which sums are accumulated.
template <class T>
void check_losses() {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const auto y = narrow::normal<T>(count, 3);
  std::vector<float> targets(count);
  for (std::size_t i = 0; i < count; ++i) targets[i] = static_cast<float>(i % 7) / 6;
  std::vector<T> own(count);
  std::vector<float> wide(count);
  const auto compare = [&](auto op) {
    double of_own = 0, of_wide = 0, alone = 0;
    op(&of_own, own.data(), y.own.data());
    op(&of_wide, wide.data(), y.wide.data());
    op(&alone, static_cast<T*>(nullptr), y.own.data());
    CHECK(of_own == doctest::Approx(of_wide).epsilon(1e-7));
    CHECK(alone == of_own);
    CHECK(narrow::wrong(own, wide) == 0);
    own = y.own; // the gradient may overwrite the output
    op(&of_own, own.data(), own.data());
    CHECK(narrow::wrong(own, wide) == 0);
  };
  compare([&](double* loss, auto* g, const auto* out) {
    mean_of_terms(queue, loss, g, count, out, targets.data(), detail::squared_error{}, detail::squared_error_slope{});
  });
  compare([&](double* loss, auto* g, const auto* out) {
    mean_of_terms(queue, loss, g, count, out, targets.data(), detail::logit_error{}, detail::logit_error_slope{});
  });
  compare([&](double* loss, auto* g, const auto* out) {
    mean_of_terms(queue, loss, g, count, out, targets.data(), detail::absolute_error{}, detail::absolute_error_slope{});
  });
  compare([&](double* loss, auto* g, const auto* out) {
    mean_of_terms(queue, loss, g, count, out, targets.data(), detail::smooth_error<float>{0.5F},
                  detail::smooth_error_slope<float>{0.5F});
  });
}

} // namespace

TEST_CASE("narrow elements: an activation, a sum and their derivatives are those of float, rounded once") {
  check_activations<bfloat16>();
  check_activations<float16>();
}

TEST_CASE("narrow elements: a loss is that of float, and its derivative that of float, rounded once") {
  check_losses<bfloat16>();
  check_losses<float16>();
}

} // namespace elementwise_narrow_tests
