// SPDX-License-Identifier: MIT
#include <cairn/train/losses/element_loss.hpp>

#include <array>

#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace element_loss_tests {

using namespace cairn;

struct counting : detail::element_loss {
  static void run(cpu::queue& queue, const loss_call<float, float>& call) {
    mean(queue, call, [](float y, float target) { return y + target; }, [](float, float) { return 1.f; });
  }
};
static_assert(counting::accepts({1}) && counting::accepts({}) && counting::targets_per_sample({3, 2}) == 6);
static_assert(counting::takes<float, float> && !counting::takes<float, int> && !counting::takes<float, double>);

TEST_CASE("element_loss: is the mean over the elements of the rows that are there") {
  constexpr shape of_sample{2, 2};
  constexpr std::array<float, 12> output{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  constexpr std::array<float, 12> targets{};
  std::array<float, 12> gradient{};
  double loss = -1;
  loss_call<float, float> call;
  call.output_shape = &of_sample;
  call.output = output.data();
  call.targets = targets.data();
  call.output_gradient = gradient.data();
  call.loss = &loss;
  cpu::queue queue{1};

  call.rows = 2;
  counting::run(queue, call);
  CHECK(loss == 4.5);
  CHECK(gradient == std::array<float, 12>{.125f, .125f, .125f, .125f, .125f, .125f, .125f, .125f});

  call.rows = 0;
  counting::run(queue, call);
  CHECK(loss == 0);
}

} // namespace element_loss_tests
