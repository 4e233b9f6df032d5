// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/wrong_trainer.hpp>
#include <doctest/doctest.h>

namespace wrong_trainer_tests {

using namespace cairn;

// Programs that get it are in tests/compile_fail/.
TEST_CASE("wrong_trainer: what stands in has all that a trainer has, and what fits is no stand-in") {
  using stand_in = detail::stand_in_trainer<double>;
  using fits = trainer<Sequential<Linear<4, 3>>, MSELoss, SGD, batch<2>>;
  static_assert(std::is_same_v<decltype(std::declval<stand_in&>().parameters()), std::span<double>>);
  static_assert(std::is_same_v<detail::stand_in_trainer<int>, detail::stand_in_trainer<float>>);
  static_assert(!std::is_base_of_v<detail::stand_in_trainer<float>, fits>);
}

} // namespace wrong_trainer_tests
