// SPDX-License-Identifier: MIT
#include <cairn/layer/softmax.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "reference_check.hpp"

namespace softmax_tests {

using namespace cairn;

static_assert(layer<Softmax> && Softmax::in_place && Softmax::backward_reads == reads::output);
static_assert(Softmax::accepts(given{{2, 6}}) && !Softmax::accepts(given{{}}));

TEST_CASE("Softmax: gradients") {
  CHECK(gradient_fault<Softmax>({{3}}) == "");
  CHECK(gradient_fault<Softmax>({{2, 3, 4}}) == "");
  CHECK(gradient_fault<Softmax>({{1}}) == "");
  CHECK(gradient_fault<Softmax>({{37}}) == ""); // more than one block of a kernel
}

TEST_CASE("Softmax: PyTorch's numbers") {
  CHECK(distance_from_torch<Softmax, double>("softmax", {7}) < 1e-14);
  CHECK(distance_from_torch<Softmax, float>("softmax", {7}) < 5e-7);
  CHECK(distance_from_torch<Softmax, double>("softmax_rank_3", {3, 70}) < 1e-14);
  CHECK(distance_from_torch<Softmax, float>("softmax_rank_3", {3, 70}) < 5e-7);
}

} // namespace softmax_tests
