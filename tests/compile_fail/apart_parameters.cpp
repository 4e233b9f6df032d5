// SPDX-License-Identifier: MIT
// The flat buffer of parameters where the host cannot read it.
// expect: error: .*trainer, model: the host cannot read this device's memory, so there are no numbers to point at
#include <cstddef>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Far : cpu {
  struct queue : cpu::queue {
    using cpu::queue::queue;
    static constexpr bool shares_memory = false;
  };
  explicit Far(types::device_options) {}
  queue& compute() { return line; }
  queue& transfers() { return line; }
  queue line{1};
};

std::size_t count() {
  trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>, float, Far> train{SGD{.learning_rate = 0.1}};
#ifdef EXPECT_SUCCESS
  std::size_t all = 0;
  train.for_each([&](const auto& parameter) { all += parameter.numbers.size(); });
  return all;
#else
  return train.parameters().size();
#endif
}
