// SPDX-License-Identifier: MIT
// Tests of a list of losses alone. For steps with them see tests/train/step/judged_by_losses.cpp.
#include <cairn/train/losses/losses_of_heads.hpp>

#include <type_traits>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace losses_of_heads_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<8, 16>, ReLU, multi::Heads<Linear<16, 4>, Linear<16, 1>>>;
template <class Model, class Losses, class Diagnostic>
constexpr bool finds =
    std::is_same_v<typename detail::training_diagnostic<Model, Losses, SGD, batch<4>, float, cpu>::type, Diagnostic>;
using both = multi::losses<CrossEntropyLoss, MSELoss>;

struct no_loss {};

} // namespace

TEST_CASE("losses: the weights are 1, and all numbers are settings, each at a place that says whose it is") {
  const multi::losses<SmoothL1Loss, MSELoss, CrossEntropyLoss> all{{SmoothL1Loss{2.0}, MSELoss{}, CrossEntropyLoss{}},
                                                                   {1, 0.5, 3}};
  CHECK(all.settings() == std::vector<double>{1, 0.5, 3, 1, 2, 0, 2, static_cast<double>(CrossEntropyLoss::ignores_nothing), 0});
  CHECK(both{}.weights[1] == 1);
  static_assert(both::scales_gradient && !multi::losses<MSELoss, no_loss>::scales_gradient);
}

TEST_CASE("losses: each fits its output, and there are as many as outputs") {
  static_assert(finds<with_all_outputs<Net>, both, detail::nothing_wrong>);
  static_assert(finds<with_all_outputs<Net>, multi::losses<MSELoss>, detail::losses_without_outputs<multi::losses<MSELoss>, 2>>);
  static_assert(finds<Sequential<Linear<8, 4>>, both, detail::losses_without_outputs<both, 1>>);
  using Turned = multi::losses<MSELoss, CrossEntropyLoss>; // one class alone
  static_assert(finds<with_all_outputs<Net>, Turned, detail::loss_at_head<1, CrossEntropyLoss, dims<1>>>);
  static_assert(detail::checked_loss<both, cpu::queue, float>::steps == 5);
  static_assert(detail::checked_loss<multi::losses<MSELoss, no_loss>, cpu::queue, float>::steps == 0);
}

TEST_CASE("losses: the memory for targets and constants of all heads") {
  using plan = blueprint_of<with_all_outputs<Net>, 32>;
  using memory = detail::judged_memory<plan, float, both>;
  static_assert(memory::targets_per_sample == 2);
  static_assert(memory::targets == 2 * 32 * 8);
  static_assert(memory::constants_at[0] == 3 * 64 && memory::constants_at[1] == 4 * 64 && memory::constants == 4 * 64);
}

} // namespace losses_of_heads_tests
