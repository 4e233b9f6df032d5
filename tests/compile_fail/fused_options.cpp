// SPDX-License-Identifier: MIT
// Options of another trainer, which may ask for clipping.
// expect: error: .*fused_update: training_options have a clip, which a fused update cannot do
#include <cairn/layer/linear.hpp>
#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using options = fused_training_options;
#else
using options = training_options;
#endif

const options given{.threads = 2};
trainer<fused_update<Net>, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, seed{7}, given};
