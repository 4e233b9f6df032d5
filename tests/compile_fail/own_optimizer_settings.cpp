// SPDX-License-Identifier: MIT
// An optimizer of one's own whose settings change it.
// expect: error: .*optimizer: settings has another signature, expected settings.. const with a range of double
// expect: checked_optimizer<Descent,
#include <array>
#include <cstddef>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Descent {
  double learning_rate = 1e-3;
  std::size_t states() const { return 0; }
#ifdef EXPECT_SUCCESS
  std::array<double, 1> settings() const { return {learning_rate}; }
#else
  std::array<double, 1> settings() { return {learning_rate}; }
#endif
  template <class T>
  void update(auto& /*queue*/, const update_call<T>& call) const {
    const auto rate = static_cast<T>(call.learning_rate * call.scale());
    for (std::size_t i = 0; i < call.count; ++i) call.parameters[i] -= rate * call.gradients[i];
  }
};

double learn(const std::vector<float>& inputs, const std::vector<float>& targets) {
  trainer<Sequential<Linear<8, 4>>, MSELoss, Descent, batch<32>> train{Descent{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(inputs, targets);
}
