// SPDX-License-Identifier: MIT
#include <cairn/layer/rms_norm.hpp>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace rms_norm_tests {

using namespace cairn;

static_assert(layer<RMSNorm<6>>);
static_assert(RMSNorm<6>::accepts(given{{2, 6}}) && !RMSNorm<6>::accepts(given{{2, 5}}) && !RMSNorm<1>::accepts(given{{}}));
static_assert(RMSNorm<6>::tape(given{{3, 6}}) == tensor_list{tensor{3}.of(element::accumulated)});
static_assert(RMSNorm<6>::parameters(given{{6}}).count == 1 && RMSNorm<6>::parameters(given{{6}}).items[0].start.scale == 1);
static_assert(RMSNorm<6>::eps<float>() == 0x1p-23 && RMSNorm<6>::eps<double>() == 0x1p-52);
static_assert(RMSNorm<6>::eps<bfloat16>() == 0x1p-23); // measured with PyTorch 2.15, which computes it in float
static_assert(RMSNorm<6, fraction{1, 4}>::eps<float>() == 0.25);

TEST_CASE("RMSNorm: gradients") {
  CHECK(gradient_fault<RMSNorm<6>>({{6}}) == "");
  CHECK(gradient_fault<RMSNorm<3>>({{2, 3}}) == "");
  CHECK(gradient_fault<RMSNorm<37, fraction{1, 10}>>({{37}}) == "");
}

TEST_CASE("RMSNorm: PyTorch's numbers") {
  CHECK(distance_from_torch<RMSNorm<6>, double>("rms_norm", {6}) < 1e-12);
  CHECK(distance_from_torch<RMSNorm<6>, float>("rms_norm", {6}) < 5e-6);
  CHECK(distance_from_torch<RMSNorm<19, fraction{1, 10}>, double>("rms_norm_eps", {3, 19}) < 1e-12);
  CHECK(distance_from_torch<RMSNorm<19, fraction{1, 10}>, float>("rms_norm_eps", {3, 19}) < 5e-6);
}

TEST_CASE("RMSNorm: without an eps of its own a row of small numbers has a mean square near 1") {
  alone<RMSNorm<4>, double> norm({{4}}, 1);
  norm.parameters.assign(0, {1, 1, 1, 2});
  auto x = norm.some_inputs();
  x.assign(0, {1e-5, -1e-5, 1e-5, -1e-5});
  const auto y = norm.forward(x);
  CHECK(y[0][0] == doctest::Approx(1).epsilon(1e-5));
  CHECK(y[0][3] == doctest::Approx(-2).epsilon(1e-5));
}

} // namespace rms_norm_tests
