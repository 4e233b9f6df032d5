// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/loss_scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace loss_scale_tests {

using namespace cairn;
using detail::loss_scale_state;
using detail::loss_scaling;

namespace {

constexpr dynamic_scale as_in_torch{.init_scale = 4096, .growth_factor = 3, .backoff_factor = 0.3, .growth_interval = 5};

std::string text_of(const loss_scaling& given) {
  try {
    given.check();
  } catch (const input_error& thrown) {
    return thrown.what();
  }
  return "";
}

} // namespace

TEST_CASE("loss_scale: the names and numbers of torch.amp.GradScaler") {
  constexpr dynamic_scale s;
  CHECK((s.init_scale == 65536 && s.growth_factor == 2 && s.backoff_factor == 0.5 && s.growth_interval == 2000));
  CHECK(!loss_scaling{}.is_on());
  CHECK(loss_scaling{}.text() == "none");
  CHECK(loss_scaling{s}.first() == 65536);
  CHECK(loss_scaling{s}.text() == "dynamic_scale 65536, grows by 2 after 2000 steps, backs off by 0.5");
  CHECK(loss_scaling{fixed_scale{128}}.text() == "fixed_scale 128");
}

TEST_CASE("loss_scale: a scale of the state stays in the range of a float, as does its inverse") {
  loss_scale_state s{.scale = 0x1p127};
  const detail::loss_scale_rule by = loss_scaling(dynamic_scale{.growth_interval = 1}).rule();
  s.update(by, true);
  CHECK(s.scale == 0x1p127);
  s = {.scale = 0x1p-125};
  s.update(by, false);
  CHECK(s.scale == 0x1p-126);
  s.update(by, false);
  CHECK(s.scale == 0x1p-126);
  CHECK((s.skipped == 2 && s.in_a_row == 2));
  s.update(by, true);
  CHECK((s.skipped == 2 && s.in_a_row == 0));
}

TEST_CASE("loss_scale: a fixed one counts what it skips, and stays") {
  loss_scale_state s{.scale = 128};
  const detail::loss_scale_rule by = loss_scaling(fixed_scale{128}).rule();
  for (const bool is_finite : {true, false, true, false, false}) s.update(by, is_finite);
  CHECK(s == loss_scale_state{.scale = 128, .growth_tracker = 0, .skipped = 3, .in_a_row = 2});
}

TEST_CASE("loss_scale: numbers that make no sense are errors") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(text_of(dynamic_scale{}).empty());
  CHECK(text_of(fixed_scale{}).empty());
  CHECK(text_of(loss_scaling{}).empty());
  CHECK(text_of(dynamic_scale{.init_scale = 0}) == "trainer: expected a loss_scale from 1e-30 to 1e30, found 0.000000");
  CHECK(!text_of(fixed_scale{-1}).empty());
  CHECK(!text_of(fixed_scale{nan}).empty());
  CHECK(!text_of(dynamic_scale{.growth_factor = 1}).empty());
  CHECK(!text_of(dynamic_scale{.backoff_factor = 1}).empty());
  CHECK(!text_of(dynamic_scale{.backoff_factor = 0}).empty());
  CHECK(!text_of(dynamic_scale{.growth_interval = 0}).empty());
}

// The scale's factors are no powers of two, so that it is rounded as in PyTorch. Skipped steps do not count for the bias
// corrections of AdamW.
TEST_CASE("loss_scale: 200 steps with PyTorch's numbers, some of which overflow") {
  trainer<Sequential<Linear<4, 3>>, MSELoss, AdamW, batch<2>> t{AdamW{.learning_rate = 0.01},
                                                                {.clip = {1}, .loss_scale = as_in_torch}};
  const auto set = [&](const std::string& name, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), t.parameter(name).begin());
  };
  set("0.weight", reference_numbers<float>("loss_scale/weight"));
  set("0.bias", reference_numbers<float>("loss_scale/bias"));
  const auto inputs = reference_numbers<float>("loss_scale/inputs"), targets = reference_numbers<float>("loss_scale/targets");
  const std::vector<double>&scales = reference_values("loss_scale/scales"), &trackers = reference_values("loss_scale/trackers"),
        &norms = reference_values("loss_scale/norms");
  std::uint64_t skipped = 0;
  REQUIRE(scales.size() == 200);
  for (std::size_t step = 0; step < scales.size(); ++step) {
    CAPTURE(step);
    t.step(std::span(inputs).subspan(step * 8, 8), std::span(targets).subspan(step * 6, 6));
    CHECK(t.loss_scale() == scales[step]);
    CHECK(static_cast<double>(t.inside().counters.loss_scale.growth_tracker) == trackers[step]);
    const bool is_finite = norms[step] >= 0;
    skipped += is_finite ? 0 : 1;
    CHECK(std::isfinite(t.gradient_norm()) == is_finite);
    if (is_finite) CHECK(t.gradient_norm() == doctest::Approx(norms[step]).epsilon(1e-5));
  }
  CHECK((skipped == 12 && t.skipped_updates() == 12 && t.steps() == 200));
  for (const std::string name : {"weight", "bias"}) {
    const std::span<const float> found = t.parameter("0." + name);
    const std::vector<float> last{found.begin(), found.end()};
    CHECK(largest_difference(last, reference_values("loss_scale/last_" + name)) < 1e-5);
  }
}

} // namespace loss_scale_tests
