// SPDX-License-Identifier: MIT
#include <cairn/layer/recurrent/gru_cell.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

#include "../given.hpp"
#include "cell_check.hpp"

namespace gru_cell_tests {

using namespace cairn;

static_assert(layer<GRUCell<4, 3>>);
static_assert(GRUCell<4, 3>::accepts(given{{4}, {3}}) && !GRUCell<4, 3>::accepts(given{{4}, {4}}) &&
              !GRUCell<4, 3>::accepts(given{{2, 4}, {3}}));
static_assert(GRUCell<4, 3>::outputs(given{{4}, {3}}) == tensor{3});
static_assert(GRUCell<5, 4>::parameters(given{{5}, {4}})[0].start.scale == 0.5);

TEST_CASE("GRUCell: gradients") {
  CHECK(gradient_fault<GRUCell<4, 3>>({{4}, {3}}) == "");
  CHECK(gradient_fault<GRUCell<1, 1>>({{1}, {1}}) == "");
  CHECK(gradient_fault<GRUCell<3, 17>>({{3}, {17}}) == "");
}

TEST_CASE("GRUCell: PyTorch's numbers") {
  CHECK(testing::distance_of_cell<GRUCell<5, 6>, double>("gru_cell") < 1e-12);
  CHECK(testing::distance_of_cell<GRUCell<5, 6>, float>("gru_cell") < 5e-6);
}

} // namespace gru_cell_tests
