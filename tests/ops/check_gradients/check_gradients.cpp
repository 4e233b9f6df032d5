// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/adam/cpu.hpp>
#include <cairn/ops/check_gradients/cpu.hpp>
#include <cairn/ops/sgd/cpu.hpp>
#include <doctest/doctest.h>

namespace check_gradients_tests {

using namespace cairn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr detail::loss_scale_rule growing{.growth_factor = 2, .backoff_factor = 0.5, .growth_interval = 2};

struct numbers {
  double squares = 0, mean = 0.25, factor = -1;
  detail::loss_scale_state told{};
};
void check(ops::checked_gradients& checked, numbers& n, bool has_mean, double number = 0.5) {
  cpu device;
  check_gradients(device.compute(), &checked, {&n.squares, &n.mean, has_mean, &n.factor, &n.told}, number, growing);
}

} // namespace

TEST_CASE("check_gradients: a norm that is not finite skips the update, and the scale follows") {
  ops::checked_gradients checked{.state = {.scale = 8}};
  struct expected {
    double squares;
    detail::loss_scale_state state;
  };
  for (const expected& e : {expected{1.5, {8, 1, 0, 0}}, expected{0, {16, 0, 0, 0}}, expected{infinity, {8, 0, 1, 1}},
                            expected{nan, {4, 0, 2, 2}}, expected{std::numeric_limits<double>::max(), {4, 1, 2, 0}}}) {
    const double scale = checked.state.scale;
    numbers n{.squares = e.squares};
    check(checked, n, true);
    CHECK(checked.applies == (std::isfinite(e.squares) ? 1U : 0U));
    CHECK((checked.unscale == 0.5 / scale && checked.mean == 0.25));
    CHECK((n.mean == 0.125 / scale && n.factor == 0.125 / scale));
    CHECK((checked.state == e.state && n.told == e.state));
  }
  numbers n{.squares = 1};
  check(checked, n, false);
  CHECK((checked.mean == 1 && n.mean == 0.125 && n.factor == 0.125));
}

TEST_CASE("check_gradients: clipping sees gradients without the scale, and clips none that are not applied") {
  cpu device;
  ops::checked_gradients checked{.unscale = 0.5, .mean = 0.25};
  const auto factor = [&](double squares, double max_norm) {
    double made = -1;
    clip_checked(device.compute(), &made, &squares, max_norm, &checked);
    return made;
  };
  CHECK(factor(64, 10) == 0.125); // their norm is 1
  CHECK(factor(64, 0.5) == 0.5 * (0.25 * (0.5 / (1 + 1e-6))));
  checked.applies = 0;
  CHECK(factor(64, 0.5) == 0.125);
}

TEST_CASE("check_gradients: an update asks whether it is made, and which one it is") {
  cpu device;
  ops::checked_gradients checked{.state = {.scale = 1, .skipped = 3}};
  const float gradient = 2;
  struct made {
    float p = 1, mean = 0, square = 0;
    bool operator==(const made&) const = default;
  };
  const auto adam_with = [&](const ops::skip_decision& decision, float correction, float rate) {
    made m;
    const ops::adam_coefficients<float> c{.scale = 1,
                                          .keep_mean = 0.5F,
                                          .fresh_mean = 0.5F,
                                          .keep_square = 0.5F,
                                          .fresh_square = 0.5F,
                                          .correction = correction,
                                          .eps = 0,
                                          .rate = rate,
                                          .weight_decay = 0,
                                          .shrink = 1,
                                          .decision = decision,
                                          .correction_if_one_less = 2,
                                          .rate_if_one_less = 0.25F};
    adam(device.compute(), 1, &m.p, &m.mean, &m.square, &gradient, c);
    return m;
  };
  const auto sgd_with = [&](const ops::skip_decision& decision, float fresh) {
    made m;
    const ops::sgd_coefficients<float> c{.scale = 1,
                                         .learning_rate = 0.5F,
                                         .momentum = 0.5F,
                                         .fresh = fresh,
                                         .weight_decay = 0,
                                         .nesterov = false,
                                         .decision = decision,
                                         .fresh_if_one_less = 1};
    sgd(device.compute(), 1, &m.p, &m.mean, &gradient, c);
    return m;
  };
  CHECK((adam_with({&checked, 3}, 1, 0.5F) == adam_with({}, 1, 0.5F) && sgd_with({&checked, 3}, 0.5F) == sgd_with({}, 0.5F)));
  CHECK((adam_with({&checked, 2}, 1, 0.5F) == adam_with({}, 2, 0.25F) && sgd_with({&checked, 2}, 0.5F) == sgd_with({}, 1)));
  CHECK(!(adam_with({}, 1, 0.5F) == adam_with({}, 2, 0.25F)));
  CHECK(!(sgd_with({}, 0.5F) == sgd_with({}, 1)));
  checked.applies = 0;
  CHECK((adam_with({&checked, 3}, 1, 0.5F) == made{} && sgd_with({&checked, 3}, 1) == made{}));
}

} // namespace check_gradients_tests
