// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/train/losses/checked_loss.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <doctest/doctest.h>

namespace checked_loss_tests {

using namespace cairn;

namespace {

struct answering {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape&) { return 1; }
};
struct taking : answering {
  template <class, class>
  static constexpr bool takes = true;
};

struct running : taking {
  template <class T, class Target>
  static void run(auto&, const loss_call<T, Target>&) {}
};
struct with_a_setting : running {
  double settings() const { return 1; }
};
struct without_default : running {
  explicit without_default(double) {}
};

template <class L>
using checked = detail::checked_loss<L, cpu::queue, float>;

} // namespace

// The messages are in tests/compile_fail/loss_*.cpp and own_loss_*.cpp.
TEST_CASE("checked_loss: losses are losses, and others say how far they get") {
  static_assert(checked<CrossEntropyLoss>::right<checked<CrossEntropyLoss>>());
  static_assert(checked<MSELoss>::right<checked<MSELoss>>());
  static_assert(checked<int>::steps == 0 && checked<without_default>::steps == 1);
  static_assert(checked<answering>::steps == 2 && checked<taking>::steps == 3);
  static_assert(checked<with_a_setting>::steps == 4 && checked<running>::steps == 5);
}

} // namespace checked_loss_tests
