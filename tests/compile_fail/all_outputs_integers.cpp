// SPDX-License-Identifier: MIT
// All outputs of a network of which one is made of integers.
// expect: error: .*with_all_outputs: expected a network whose outputs are all numbers with a gradient
// expect: output_without_gradient<
#include <vector>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<dims<16>, dims<2>>, Linear<16, 3>>;
using second = float;
#else
using Net = Sequential<Inputs<dims<16>, integers<2>>, Linear<16, 3>>;
using second = int;
#endif

double learn(trainer<with_all_outputs<Net>, MSELoss, SGD, batch<32>>& train, const std::vector<float>& x,
             const std::vector<second>& more) {
  return train.step_by(inputs(x, more), [](const auto& outputs, const auto&) { return double(outputs[1][0]); });
}
