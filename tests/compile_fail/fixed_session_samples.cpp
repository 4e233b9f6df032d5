// SPDX-License-Identifier: MIT
// A fixed_session that is given more samples than a batch has.
// expect: error: .*fixed_session::evaluate: expected the numbers of 1 to a batch of samples
#include <array>

#include <cairn/layer/linear.hpp>
#include <cairn/train/fixed_session.hpp>
#include <cairn/train/model.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
constexpr std::size_t samples = 2;
#else
constexpr std::size_t samples = 3;
#endif

void answer(const model<Sequential<Linear<4, 3>>, batch<2>>& net, const std::array<float, 4 * samples>& given) {
  static fixed_session own{net};
  own.evaluate(given);
}
