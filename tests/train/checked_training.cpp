// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <doctest/doctest.h>

namespace checked_training_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Net = Sequential<Linear<4, 8>, Linear<8, 3>>;
using queue = cpu::queue;

template <class Diagnostic, class Model, class Loss = MSELoss, class Optimizer = SGD, class Batch = batch<2>, class T = float,
          class Device = cpu>
constexpr bool names = std::is_same_v<typename training_diagnostic<Model, Loss, Optimizer, Batch, T, Device>::type, Diagnostic>;

struct shapes_only {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
};

} // namespace

// The messages are in tests/compile_fail/.
TEST_CASE("checked_training: what fits has no diagnostic") {
  static_assert(names<nothing_wrong, Net>);
  static_assert(names<nothing_wrong, ddp<checkpoint<sqrt_n, Net>, loopback::rank>, CrossEntropyLoss>);
}

TEST_CASE("checked_training: each argument by itself, in the order in which one reads them") {
  using Twice = ddp<ddp<Net, loopback::rank>, loopback::rank>;
  static_assert(names<replicated_again<Twice>, Twice, int, int>);
  static_assert(names<checked_layer<int>, Sequential<Linear<4, 8>, int>, int>);
  static_assert(names<fourth_argument<int>, Net, MSELoss, SGD, int>);
  static_assert(names<batch<0>, Net, MSELoss, SGD, batch<0>>);
  static_assert(names<fifth_argument<int>, Net, MSELoss, SGD, batch<2>, int>);
  static_assert(names<fifth_argument<long double>, Net, MSELoss, SGD, batch<2>, long double>);
  static_assert(names<sixth_argument<int>, Net, MSELoss, SGD, batch<2>, float, int>);
}

TEST_CASE("checked_training: what has to fit the device and the numbers") {
  static_assert(names<checked_calls<shapes_only, queue, float>, Sequential<Linear<4, 8>, Residual<shapes_only>>>);
  static_assert(names<checked_loss<SGD, queue, float>, Net, SGD>);
  static_assert(names<checked_optimizer<MSELoss, queue, double>, Net, MSELoss, MSELoss, batch<2>, double>);
  static_assert(names<checked_communicator<int, queue>, ddp<Net, int>>);
  static_assert(
      names<loss_joint<CrossEntropyLoss, Linear<8, 1>, dims<1>>, Sequential<Linear<4, 8>, Linear<8, 1>>, CrossEntropyLoss>);
}

} // namespace checked_training_tests
