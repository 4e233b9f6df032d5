// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/rotary_embedding.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"
#include "sequences.hpp"

namespace rotary_embedding_tests {

using namespace cairn;

using Whole = RotaryEmbedding<2>;
using Shared = RotaryEmbedding<4, 2, 500000>;
using Partly = RotaryEmbedding<2, 1, 10000, 4>;

static_assert(layer<Whole> && Whole::accepts(given{{5, 36}}) && Whole::outputs(given{{5, 36}}) == tensor{5, 36});
static_assert(!Whole::accepts(given{{5, 30}}) && !Whole::accepts(given{{5, 35}}) && !Whole::accepts(given{{36}})); // D is 5; none
static_assert(Partly::accepts(given{{5, 16}}) && !Partly::accepts(given{{5, 8}})); // a head of 2 has no 4 elements to rotate
static_assert(!RotaryEmbedding<4, 3>::options_are_right && !RotaryEmbedding<2, 2, 10000, 3>::options_are_right);

TEST_CASE("RotaryEmbedding: gradients") {
  CHECK(gradient_fault<Whole>({{3, 12}}) == "");
  CHECK(gradient_fault<Shared>({{9, 32}}) == ""); // more than one part's positions
  CHECK(gradient_fault<Partly>({{2, 24}}) == "");
  CHECK(gradient_fault<RotaryEmbedding<1>>({{1, 6}}) == "");
}

TEST_CASE("RotaryEmbedding: PyTorch's numbers") {
  CHECK(distance_from_torch<Whole, double>("rotary", {9, 36}) < 1e-12);
  CHECK(distance_from_torch<Whole, float>("rotary", {9, 36}) < 1e-6);
  CHECK(distance_from_torch<Shared, double>("rotary_shared_keys", {5, 32}) < 1e-12);
  CHECK(distance_from_torch<Shared, float>("rotary_shared_keys", {5, 32}) < 1e-6);
  CHECK(distance_from_torch<Partly, double>("rotary_partly", {5, 24}) < 1e-12);
  CHECK(distance_from_torch<Partly, float>("rotary_partly", {5, 24}) < 1e-6);
}

TEST_CASE("RotaryEmbedding: the product of a query and a key depends on the distance of their positions alone") {
  constexpr std::size_t length = 12, width = 8;
  alone<RotaryEmbedding<1>, double> own({{length, 3 * width}}, 1);
  auto x = own.some_inputs();
  std::vector<double> rows(length * 3 * width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(1.0 + static_cast<double>(i % (3 * width)) * 7); // equal rows
  x.assign(0, rows);
  const auto y = own.forward(x);
  const auto made = y.values();
  const auto product = [&](std::size_t query, std::size_t key) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += made[query * 3 * width + i] * made[key * 3 * width + width + i];
    return sum;
  };
  for (std::size_t distance = 0; distance < 4; ++distance)
    for (std::size_t t = distance; t < length; ++t)
      CHECK(product(t, t - distance) == doctest::Approx(product(distance, 0)).epsilon(1e-12));
  CHECK(product(1, 0) != doctest::Approx(product(0, 0)).epsilon(1e-3));
}

TEST_CASE("RotaryEmbedding: every policy has the same bits, and ranks those of as many micro-batches") {
  testing::check_sequences<Linear<8, 24>, RotaryEmbedding<2>, Linear<24, 8>>();
}

} // namespace rotary_embedding_tests
