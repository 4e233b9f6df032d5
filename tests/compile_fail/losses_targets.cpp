// SPDX-License-Identifier: MIT
// One array of targets for two losses.
// expect: error: .*trainer: multi::losses take an array of targets for each loss, in their order
// expect: wrong_number_of_targets<1.*, 2
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 16>, ReLU, multi::Heads<Linear<16, 10>, Linear<16, 4>>>;
using Train = trainer<with_all_outputs<Net>, multi::losses<CrossEntropyLoss, MSELoss>, SGD, batch<32>>;

double learn(Train& train, const std::vector<float>& images, const std::vector<int>& labels, const std::vector<float>& boxes) {
#ifdef EXPECT_SUCCESS
  return train.step(images, multi::targets(labels, boxes));
#else
  return train.step(images, labels) + double(boxes[0]);
#endif
}
