// SPDX-License-Identifier: MIT
// A session of a trainer, which evaluates in the memory of its steps.
// expect: error: .*session: expected a model<...>, found another type; a trainer evaluates in the memory of its steps
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/session.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

void answer(const training& train, const std::vector<float>& images) {
#ifdef EXPECT_SUCCESS
  model<Net, batch<32>> net;
  net.copy_parameters(train);
  session own{net};
#else
  session own{train};
#endif
  own.evaluate(images);
}
