// SPDX-License-Identifier: MIT
// A loss of one's own whose settings are one number.
// expect: error: .*loss: settings has another signature, expected settings.. const with a range of double
// expect: checked_loss<AbsoluteError,
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct AbsoluteError {
  double weight = 1;
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }
  template <class T, class Target>
  static constexpr bool takes = std::is_same_v<T, Target>;
#ifdef EXPECT_SUCCESS
  std::array<double, 1> settings() const { return {weight}; }
#else
  double settings() const { return weight; }
#endif
  template <class T>
  static void run(auto& /*queue*/, const loss_call<T, T>& call) {
    *call.loss = 0;
    for (std::size_t i = 0; i < call.rows * call.output_shape->size(); ++i) {
      *call.loss += call.output[i] < call.targets[i] ? call.targets[i] - call.output[i] : call.output[i] - call.targets[i];
      if (call.output_gradient) call.output_gradient[i] = call.output[i] < call.targets[i] ? T(-1) : T(1);
    }
  }
};

double learn(const std::vector<float>& inputs, const std::vector<float>& targets) {
  trainer<Sequential<Linear<8, 4>>, AbsoluteError, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(inputs, targets);
}
