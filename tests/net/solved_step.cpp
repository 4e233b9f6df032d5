// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace solved_step_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Net = Sequential<Linear<16, 64>, ReLU, Linear<64, 10>>;

template <class T>
concept complete_type = requires { sizeof(T); };

} // namespace

TEST_CASE("solved_step: a trainer takes one and includes no solver") {
#if !CAIRN_TEST_SINGLE_HEADER
  static_assert(!complete_type<memory_curve<Net, 8>>);
#endif
  static_assert(std::is_same_v<solved_step_of<checkpoint<sqrt_n, Net>, 8>, solved_step_of<Net, 8>>);
  static_assert(!std::is_same_v<solved_step_of<Net, 8>, solved_step_of<Net, 4>>);
  static_assert(!std::is_same_v<solved_step_of<Net, 8>, solved_step_of<fused_update<Net>, 8>>);
  CHECK(solved_step_of<Net, 8>{}.plan.training.count == 0);
}

} // namespace solved_step_tests
