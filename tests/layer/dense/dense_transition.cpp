// SPDX-License-Identifier: MIT
#include <cairn/layer/dense/dense_transition.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "../given.hpp"

namespace dense_transition_tests {

using namespace cairn;
using transition = DenseTransition<4>;

static_assert(layer<transition>);
static_assert(transition::outputs(given{{5, 3, 7}}).extents == shape{5, 3, 4});
static_assert(transition::parameters(given{{5, 3, 7}})[2].extents == shape{4, 1, 1, 7});
static_assert(transition::parameters(given{{5, 3, 7}})[2].name == "conv.weight");
static_assert(transition::buffers(given{{5, 3, 7}})[1].start.scale == 1);
static_assert(!transition::accepts(given{{5, 7}}));

TEST_CASE("DenseTransition: gradients") {
  CHECK(gradient_fault<transition>({{3, 2, 5}}) == "");
  CHECK(gradient_fault<DenseTransition<1>>({{2, 2, 1}}) == "");
}

} // namespace dense_transition_tests
