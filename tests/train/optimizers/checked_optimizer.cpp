// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/checked_optimizer.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <doctest/doctest.h>

namespace checked_optimizer_tests {

using namespace cairn;

namespace {

struct pinned {
  pinned(const pinned&) = delete;
};
struct rated {
  double learning_rate = 0;
};
struct stateful : rated {
  std::size_t states() const { return 1; }
};
struct for_float : stateful {
  void update(cpu::queue&, const update_call<float>&) const {}
};
struct with_a_setting : for_float {
  double settings() const { return learning_rate; }
};
struct without_a_choice : for_float {
  static void is_special(const tensor&) {}
};

template <class O, class T = float>
constexpr int steps = detail::checked_optimizer<O, cpu::queue, T>::steps;

} // namespace

// The messages are in tests/compile_fail/own_optimizer_*.cpp and loss_and_optimizer.cpp.
TEST_CASE("checked_optimizer: the first requirement that does not hold") {
  static_assert(steps<pinned> == 0 && steps<int> == 1 && steps<rated> == 2 && steps<stateful> == 3);
  static_assert(steps<for_float> == 6 && steps<for_float, double> == 3);
  static_assert(steps<with_a_setting> == 4 && steps<without_a_choice> == 5);
  static_assert(steps<SGD> == 6 && steps<AdamW, double> == 6 && steps<parameter_groups<vectors_only, SGD>> == 6);
}

} // namespace checked_optimizer_tests
