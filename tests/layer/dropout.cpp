// SPDX-License-Identifier: MIT
#include <cairn/layer/dropout.hpp>

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "gradient_check.hpp"

using namespace cairn;

static_assert(layer<Dropout<>> && layer<Dropout<std::ratio<1, 3>>>);
static_assert(Dropout<>::rate.threshold == std::uint64_t{1} << 31 && Dropout<>::rate.scale == 2);
static_assert(Dropout<percent<0>>::rate.threshold == 0 && Dropout<percent<0>>::rate.scale == 1);
static_assert(Dropout<percent<100>>::rate.threshold == std::uint64_t{1} << 32);
static_assert(Dropout<>::backward_reads == reads::nothing);

namespace {

std::size_t zeros(const std::vector<float>& numbers) {
  return static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), 0.0F));
}

} // namespace

TEST_CASE("Dropout: gradients") {
  CHECK(gradient_fault<Dropout<>>({7}) == "");
  CHECK(gradient_fault<Dropout<percent<10>>>({3, 30}) == "");
  CHECK(gradient_fault<Dropout<percent<100>>>({3}) == "");
}

TEST_CASE("Dropout: the share that is dropped, and what the others become") {
  lent_layer<Dropout<percent<30>>, float> dropout({1000}, 40);
  const std::vector<float> ones(40000, 1.0F);
  const auto y = dropout.forward(ones);
  // 40000 draws of probability 0.3 have a standard deviation of 92.
  CHECK(std::fabs(static_cast<double>(zeros(y)) - 12000.0) < 5 * 92);
  for (const float v : y) CHECK((v == 0.0F || v == static_cast<float>(1 / 0.7)));
}

TEST_CASE("Dropout: the mask is a function of seed, step and position") {
  lent_layer<Dropout<>, float> dropout({100}, 3);
  const std::vector<float> ones(300, 1.0F);
  const auto first = dropout.forward(ones);
  CHECK(same_bits(dropout.backward({}, {}, ones), first)); // d(sum)/dx is the mask itself
  const random_key key = dropout.random;
  for (const random_key& other :
       {random_key{key.seed + 1, key.step, key.position}, random_key{key.seed, key.step + 1, key.position},
        random_key{key.seed, key.step, key.position + 1}}) {
    dropout.random = other;
    CHECK(!same_bits(dropout.forward(ones), first));
  }
}

TEST_CASE("Dropout: does nothing when evaluating") {
  lent_layer<Dropout<>, float> dropout({9}, 2);
  const auto x = some_numbers<float>(18, 1);
  CHECK(same_bits(dropout.forward(x, {.why = pass::evaluate}), x));
}
