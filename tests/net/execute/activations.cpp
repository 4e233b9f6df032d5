// SPDX-License-Identifier: MIT
// long to compile
// Activations and norms whose backward reads the input, and those whose output may overwrite it.
#include <cairn/layer/elu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/softmax.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/net/execute.hpp>

#include "../planned.hpp"

namespace execute_activations_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<12, 17>, SiLU, ELU<>, Linear<17, 16>, LeakyReLU<percent<20>>, TanhGELU,
                       Residual<Linear<16, 16>, SiLU>, LeakyReLU<fraction{-1, 2}>, Linear<16, 5>, ELU<fraction{3, 4}>>;
using Rows = Sequential<Linear<12, 16>, RMSNorm<16>, Linear<16, 16>, Softmax, Linear<16, 5>>;

} // namespace

TEST_CASE_TEMPLATE("activations: every policy has the oracle's bits", T, float, double) {
  testing::check_network<Net, 6, T>();
  testing::check_network<Rows, 6, T>();
}

} // namespace execute_activations_tests
