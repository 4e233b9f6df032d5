// SPDX-License-Identifier: MIT
#include <cairn/train/losses/element_loss.hpp>

#include <doctest/doctest.h>

namespace element_loss_tests {

using namespace cairn;

struct counting : detail::element_loss {
  static std::size_t counted(const loss_call<float, float>& call) { return elements(call); }
};
static_assert(counting::accepts({1}) && counting::accepts({}) && counting::targets_per_sample({3, 2}) == 6);
static_assert(counting::takes<float, float> && !counting::takes<float, int> && !counting::takes<float, double>);

TEST_CASE("element_loss: counts the elements of the rows that are there") {
  constexpr shape of_sample{3, 2};
  loss_call<float, float> call;
  call.output_shape = &of_sample;
  call.rows = 5;
  CHECK(counting::counted(call) == 30);
  call.rows = 0;
  CHECK(counting::counted(call) == 0);
}

} // namespace element_loss_tests
