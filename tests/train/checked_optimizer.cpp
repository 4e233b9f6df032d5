// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/train/adamw.hpp>
#include <cairn/train/checked_optimizer.hpp>
#include <cairn/train/sgd.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

struct pinned {
  pinned(const pinned&) = delete;
};
struct rated {
  double learning_rate = 0;
};
struct stateful : rated {
  static constexpr std::size_t max_states = 1;
  std::size_t states() const { return 1; }
};
struct for_float : stateful {
  void update(cpu::queue&, const update_call<float>&) const {}
};

template <class O, class T = float>
constexpr int steps = checked_optimizer<O, cpu::queue, T>::steps;

} // namespace

// The sentences are in tests/compile_fail/own_optimizer_update.cpp and loss_and_optimizer.cpp.
TEST_CASE("checked_optimizer: the first requirement that does not hold") {
  static_assert(steps<pinned> == 0 && steps<int> == 1 && steps<rated> == 2 && steps<stateful> == 3);
  static_assert(steps<for_float> == 4 && steps<for_float, double> == 3);
  static_assert(steps<SGD> == 4 && steps<AdamW, double> == 4);
}
