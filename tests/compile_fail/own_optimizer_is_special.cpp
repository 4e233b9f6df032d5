// SPDX-License-Identifier: MIT
// An optimizer of one's own that picks parameters by their shape, not by their description.
// expect: error: .*optimizer: is_special has another signature, expected static bool is_special.const tensor&.
// expect: checked_optimizer<Descent,
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
  static bool is_special(const tensor& t) { return t.rank() < 2; }
#else
  static bool is_special(std::size_t rank) { return rank < 2; }
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
