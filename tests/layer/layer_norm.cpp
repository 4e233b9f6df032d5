// SPDX-License-Identifier: MIT
#include <cairn/layer/layer_norm.hpp>

#include <doctest/doctest.h>

#include "gradient_check.hpp"
#include "reference_check.hpp"

using namespace cairn;

static_assert(layer<LayerNorm<6>>);
static_assert(LayerNorm<6>::accepts({2, 6}) && !LayerNorm<6>::accepts({2, 5}) && !LayerNorm<1>::accepts({}));
static_assert(LayerNorm<6>::tape_bytes({3, 6}, sizeof(float)) == 3 * 2 * sizeof(float));
static_assert(LayerNorm<6>::parameters({6}).items[0].scale == 1 &&
              LayerNorm<6>::parameters({6}).items[1].scale == 0);

TEST_CASE("LayerNorm: gradients") {
  CHECK(gradient_fault<LayerNorm<6>>({6}) == "");
  CHECK(gradient_fault<LayerNorm<3>>({2, 3}) == "");
  CHECK(gradient_fault<LayerNorm<37>>({37}) == "");
}

TEST_CASE("LayerNorm: PyTorch's numbers") {
  CHECK(distance_from_torch<LayerNorm<6>, double>("layer_norm", {6}) < 1e-12);
  CHECK(distance_from_torch<LayerNorm<6>, float>("layer_norm", {6}) < 5e-6);
  CHECK(distance_from_torch<LayerNorm<19>, double>("layer_norm_rank_3", {3, 19}) < 1e-12);
  CHECK(distance_from_torch<LayerNorm<19>, float>("layer_norm_rank_3", {3, 19}) < 5e-6);
}

TEST_CASE("LayerNorm: a large mean does not hide a small variance") {
  lent_layer<LayerNorm<4>, double> norm({4}, 1);
  for (std::size_t j = 0; j < 4; ++j) norm.parameter(0)[j] = 1, norm.parameter(1)[j] = 0;
  const auto y = norm.forward({1e6 - 1, 1e6 + 1, 1e6 - 1, 1e6 + 1});
  CHECK(y[0] == doctest::Approx(-1).epsilon(1e-5));
  CHECK(y[3] == doctest::Approx(1).epsilon(1e-5));
}
