// SPDX-License-Identifier: MIT
// A fixed_session of a model of 16 bits, whose evaluations need a working copy of the weights.
// expect: error: .*fixed_session: expected a model<...> of float or double on a cpu that takes one tensor and no constants
#include <array>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/fixed_session.hpp>
#include <cairn/train/model.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using number = float;
#else
using number = bfloat16;
#endif

void answer(const model<Sequential<Linear<4, 3>>, batch<1>, number>& net, const std::array<float, 4>& sample) {
  static fixed_session own{net};
  own.evaluate(sample);
}
