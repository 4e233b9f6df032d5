// SPDX-License-Identifier: MIT
#include <cairn/layer/dropout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"

namespace dropout_tests {

using namespace cairn;

static_assert(layer<Dropout<>> && layer<Dropout<fraction{1, 3}>>);
static_assert(Dropout<>::rate.threshold == std::uint64_t{1} << 31 && Dropout<>::rate.scale == 2);
static_assert(Dropout<percent<0>>::rate.threshold == 0 && Dropout<percent<0>>::rate.scale == 1);
static_assert(Dropout<percent<100>>::rate.threshold == std::uint64_t{1} << 32);
static_assert(Dropout<>::backward_reads == reads::nothing);

namespace {

std::size_t zeros(const std::vector<float>& numbers) {
  return static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), 0.0F));
}
template <class Layer>
auto ones(const Layer& layer) {
  auto x = layer.some_inputs();
  x.assign(0, std::vector<float>(x.size(0), 1));
  return x;
}

} // namespace

TEST_CASE("Dropout: gradients") {
  CHECK(gradient_fault<Dropout<>>({{7}}) == "");
  CHECK(gradient_fault<Dropout<percent<10>>>({{3, 30}}) == "");
  CHECK(gradient_fault<Dropout<percent<100>>>({{3}}) == "");
}

TEST_CASE("Dropout: the share that is dropped, and what the others become") {
  alone<Dropout<percent<30>>, float> dropout({{1000}}, 40);
  const auto y = dropout.forward(ones(dropout)).values();
  // 40000 draws of probability 0.3 have a standard deviation of 92.
  CHECK(std::fabs(static_cast<double>(zeros(y)) - 12000.0) < 5 * 92);
  for (const float v : y) CHECK((v == 0.0F || v == static_cast<float>(1 / 0.7)));
}

TEST_CASE("Dropout: the mask is a function of seed, step and position") {
  alone<Dropout<>, float> dropout({{100}}, 3);
  const auto x = ones(dropout);
  const auto first = dropout.forward(x);
  CHECK(dropout.backward(x, first, x).same_bits(first)); // d(sum)/dx is the mask itself
  const types::random_key key = dropout.random;
  for (const types::random_key& other :
       {types::random_key{key.seed + 1, key.step, key.position}, types::random_key{key.seed, key.step + 1, key.position},
        types::random_key{key.seed, key.step, key.position + 1}}) {
    dropout.random = other;
    CHECK(!dropout.forward(x).same_bits(first));
  }
}

TEST_CASE("Dropout: does nothing when evaluating") {
  alone<Dropout<>, float> dropout({{9}}, 2);
  const auto x = dropout.some_inputs();
  CHECK(dropout.forward(x, {.why = pass::evaluate, .tape = false}).same_bits(x));
}

} // namespace dropout_tests
