// SPDX-License-Identifier: MIT
#include <cairn/layer/recurrent/lstm_cell.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

#include "../given.hpp"
#include "cell_check.hpp"

namespace lstm_cell_tests {

using namespace cairn;

static_assert(layer<LSTMCell<4, 3>>);
static_assert(LSTMCell<4, 3>::accepts(given{{4}, {3}, {3}}) && !LSTMCell<4, 3>::accepts(given{{4}, {3}, {4}}) &&
              !LSTMCell<4, 3>::accepts(given{{3}, {3}, {3}}));
static_assert(LSTMCell<4, 3>::outputs(given{{4}, {3}, {3}}) == tensor_list{{3}, {3}});
static_assert(LSTMCell<5, 4>::parameters(given{{5}, {4}, {4}})[0].start.scale == 0.5);

TEST_CASE("LSTMCell: gradients") {
  CHECK(gradient_fault<LSTMCell<4, 3>>({{4}, {3}, {3}}) == "");
  CHECK(gradient_fault<LSTMCell<1, 1>>({{1}, {1}, {1}}) == "");
  CHECK(gradient_fault<LSTMCell<3, 9>>({{3}, {9}, {9}}) == "");
}

TEST_CASE("LSTMCell: PyTorch's numbers") {
  CHECK(testing::distance_of_cell<LSTMCell<5, 6>, double>("lstm_cell") < 1e-12);
  CHECK(testing::distance_of_cell<LSTMCell<5, 6>, float>("lstm_cell") < 5e-6);
}

} // namespace lstm_cell_tests
