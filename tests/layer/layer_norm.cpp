// SPDX-License-Identifier: MIT
#include <cairn/layer/layer_norm.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace layer_norm_tests {

using namespace cairn;

static_assert(layer<LayerNorm<6>>);
static_assert(LayerNorm<6>::accepts(given{{2, 6}}) && !LayerNorm<6>::accepts(given{{2, 5}}) && !LayerNorm<1>::accepts(given{{}}));
static_assert(LayerNorm<6>::tape(given{{3, 6}}) == tensor_list{tensor{3, 2}.of(element::accumulated)});
static_assert(LayerNorm<6>::parameters(given{{6}}).items[0].start.scale == 1 &&
              LayerNorm<6>::parameters(given{{6}}).items[1].start.scale == 0);

TEST_CASE("LayerNorm: gradients") {
  CHECK(gradient_fault<LayerNorm<6>>({{6}}) == "");
  CHECK(gradient_fault<LayerNorm<3>>({{2, 3}}) == "");
  CHECK(gradient_fault<LayerNorm<37>>({{37}}) == "");
}

TEST_CASE("LayerNorm: PyTorch's numbers") {
  CHECK(distance_from_torch<LayerNorm<6>, double>("layer_norm", {6}) < 1e-12);
  CHECK(distance_from_torch<LayerNorm<6>, float>("layer_norm", {6}) < 5e-6);
  CHECK(distance_from_torch<LayerNorm<19>, double>("layer_norm_rank_3", {3, 19}) < 1e-12);
  CHECK(distance_from_torch<LayerNorm<19>, float>("layer_norm_rank_3", {3, 19}) < 5e-6);
}

TEST_CASE("LayerNorm: a large mean does not hide a small variance") {
  alone<LayerNorm<4>, double> norm({{4}}, 1);
  norm.parameters.assign(0, {1, 1, 1, 1});
  norm.parameters.assign(1, {0, 0, 0, 0});
  auto x = norm.some_inputs();
  x.assign(0, {1e6 - 1, 1e6 + 1, 1e6 - 1, 1e6 + 1});
  const auto y = norm.forward(x);
  CHECK(y[0][0] == doctest::Approx(-1).epsilon(1e-5));
  CHECK(y[0][3] == doctest::Approx(1).epsilon(1e-5));
}

} // namespace layer_norm_tests
