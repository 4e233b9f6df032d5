// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/concat.hpp>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace concat_tests {

using namespace cairn;

namespace {

// Branches whose last layer writes its own columns, and branches whose result is copied.
using Wide = Concat<Linear<8, 4>, Sequential<Linear<8, 5>, Tanh>, Sequential<LayerNorm<8>, Linear<8, 6>, GELU, Linear<6, 3>>>;
using Short = Concat<ReLU, Dropout<percent<20>>>;

template <class Policy>
using Two = checkpoint<Policy, Sequential<Linear<6, 8>, Wide, ReLU, Short, Linear<24, 8>,
                                          Residual<Concat<Linear<8, 2>, Sequential<ReLU, Linear<8, 6>>>>>>;

} // namespace

static_assert(blueprint_of<Two<store_all>, 4>::output_shape == shape{8});

TEST_CASE_TEMPLATE("Concat: every policy has the bits of the plain layers", Policy, store_all, recompute_all, every<2>, sqrt_n,
                   recompute_cheap) {
  testing::check_step<Two<Policy>, 5, float>();
  if constexpr (testing::long_tests || std::is_same_v<Policy, sqrt_n>) testing::check_step<Two<Policy>, 3, double>();
}

TEST_CASE("Concat: with blocks of its own inside, and inside of one") {
  using Inner =
      Concat<checkpoint<recompute_all, Sequential<Linear<8, 4>, Tanh, Linear<4, 4>>>, Repeat<2, Residual<Linear<8, 8>>>>;
  testing::check_step<Sequential<Linear<6, 8>, Inner, Linear<12, 3>>, 5, float>();
  testing::check_step<checkpoint<sqrt_n, Sequential<Linear<6, 8>, checkpoint<recompute_all, Sequential<Inner, Linear<12, 8>>>,
                                                    Repeat<3, Sequential<Concat<Linear<8, 2>, Linear<8, 6>>, ReLU>>>>,
                      5, float>();
}

} // namespace concat_tests
