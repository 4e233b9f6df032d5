// SPDX-License-Identifier: MIT
#include <cairn/layer/embedding.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "alone.hpp"
#include "given.hpp"

namespace embedding_tests {

using namespace cairn;

namespace {

constexpr tensor words = tensor{3}.of(element::int32);

template <class T>
double distance_from_torch() {
  alone<Embedding<11, 6>, T> own({words}, 3);
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  const auto tokens = reference_numbers<std::int32_t>("embedding/input");
  std::copy(tokens.begin(), tokens.end(), x.view().integers(0));
  dy.assign(0, reference_numbers<T>("embedding/output_gradient"));
  own.parameters.assign(0, reference_numbers<T>("embedding/parameter0"));
  const auto y = own.forward(x);
  own.backward(x, y, dy, {.wanted = 0});
  return std::max(largest_difference(y.values(), reference_values("embedding/output")),
                  largest_difference(own.gradients.values(), reference_values("embedding/gradient0")));
}

} // namespace

static_assert(layer<Embedding<11, 6>>);
static_assert(Embedding<11, 6>::accepts(given{words}) && !Embedding<11, 6>::accepts(given{{3}}));
static_assert(Embedding<11, 6>::outputs(given{words}) == tensor{3, 6} && Embedding<11, 6>::outputs(given{words}).has_gradient);
static_assert(Embedding<11, 6>::outputs(given{tensor{}.of(element::int32)}) == tensor{6});
static_assert(Embedding<11, 6>::outputs(given{tensor{2, 5}.of(element::int32)}) == tensor{2, 5, 6});
static_assert(Embedding<11, 6>::parameters(given{words})[0].start.how == initial::law::normal);

TEST_CASE("Embedding: gradients") {
  CHECK(gradient_fault<Embedding<5, 3>>({words}) == "");
  CHECK(gradient_fault<Embedding<3, 1>>({tensor{}.of(element::int32)}) == "");
  CHECK(gradient_fault<Embedding<4, 19>>({tensor{2, 4}.of(element::int32)}) == "");
}

TEST_CASE("Embedding: PyTorch's numbers") {
  CHECK(distance_from_torch<double>() < 1e-12);
  CHECK(distance_from_torch<float>() < 1e-6);
}

TEST_CASE("Embedding: a token that the vocabulary does not have is refused") {
  alone<Embedding<11, 6>, float> own({words}, 2);
  auto x = own.some_inputs();
  for (const std::int32_t wrong : {11, -1}) {
    x.view().integers(0)[4] = wrong;
    CHECK_THROWS_AS(own.forward(x), error);
  }
}

} // namespace embedding_tests
