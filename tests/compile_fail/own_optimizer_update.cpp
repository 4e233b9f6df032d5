// SPDX-License-Identifier: MIT
// An optimizer of one's own that does not say how it updates.
// expect: error: .*optimizer: update is missing, has another signature or is for another device, expected template
// expect: checked_optimizer<Descent,
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Descent {
  double learning_rate = 1e-3;
  std::size_t states() const { return 0; }

#ifdef EXPECT_SUCCESS
  template <class Queue, class T>
  void update(Queue&, const update_call<T>& call) const {
#else
  template <class T>
  void update(const update_call<T>& call) const {
#endif
      const auto rate = static_cast<T>(call.learning_rate * call.scale());
  for (std::size_t i = 0; i < call.count; ++i) call.parameters[i] -= rate * call.gradients[i];
}
}
;

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, Descent, batch<32>> train{Descent{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
