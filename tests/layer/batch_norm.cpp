// SPDX-License-Identifier: MIT
#include <cairn/layer/batch_norm.hpp>

#include <algorithm>
#include <string>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace batch_norm_tests {

using namespace cairn;

static_assert(layer<BatchNorm1d<6>> && BatchNorm1d<6>::in_place);
static_assert(BatchNorm1d<6>::eps == 1e-5 && BatchNorm1d<6>::momentum == 0.1);
static_assert(BatchNorm1d<6>::accepts(given{{2, 6}}) && !BatchNorm1d<6>::accepts(given{{2, 5}}));
static_assert(!BatchNorm1d<6>::accepts(given{tensor{6}.of(element::int32)}));
static_assert(BatchNorm1d<6>::buffers(given{{6}})[1].name == "running_var");
static_assert(BatchNorm1d<6>::buffers(given{{6}})[1].start.scale == 1);
static_assert(BatchNorm1d<6>::tape(given{{3, 6}})[0].elements(50) == 12); // of the batch, not of each sample

static_assert(layer<BatchNorm2d<5>> && BatchNorm2d<5>::in_place && BatchNorm2d<5, fraction{1, 1000}>::eps == 1e-3);
static_assert(BatchNorm2d<5>::accepts(given{{4, 2, 5}}) && !BatchNorm2d<5>::accepts(given{{4, 2, 3}}));
static_assert(!BatchNorm2d<5>::accepts(given{{8, 5}}) && !BatchNorm2d<5>::accepts(given{tensor{4, 2, 5}.of(element::int32)}));
static_assert(BatchNorm2d<5>::parameters(given{{4, 2, 5}})[0].extents == shape{5});

namespace {

template <class Layer, class T>
double distance_of_buffers(const std::string& name, const tensor& in, std::size_t rows) {
  alone<Layer, T> own({in}, rows);
  auto x = own.some_inputs();
  x.assign(0, reference_numbers<T>(name + "/input"));
  for (std::size_t k = 0; k < 2; ++k) own.parameters.assign(k, reference_numbers<T>(name + "/parameter" + std::to_string(k)));
  own.forward(x);
  const auto y = own.forward(x, {.why = pass::evaluate, .tape = false});
  return std::max({largest_difference(own.buffers.values(0), reference_values(name + "/running_mean")),
                   largest_difference(own.buffers.values(1), reference_values(name + "/running_variance")),
                   largest_difference(y.values(), reference_values(name + "/evaluated"))});
}

} // namespace

TEST_CASE("BatchNorm1d: gradients") {
  CHECK(gradient_fault<BatchNorm1d<6>>({{6}}) == "");
  CHECK(gradient_fault<BatchNorm1d<3>>({{2, 3}}) == "");
  CHECK(gradient_fault<BatchNorm1d<37>>({{37}}) == "");
}

TEST_CASE("BatchNorm1d: PyTorch's numbers") {
  CHECK(distance_from_torch<BatchNorm1d<19>, double>("batch_norm", {19}) < 1e-12);
  CHECK(distance_from_torch<BatchNorm1d<19>, float>("batch_norm", {19}) < 5e-6);
}

TEST_CASE("BatchNorm1d: running statistics, and an evaluation with them, as in PyTorch") {
  CHECK(distance_of_buffers<BatchNorm1d<19>, double>("batch_norm", {19}, 7) < 1e-12);
  CHECK(distance_of_buffers<BatchNorm1d<19>, float>("batch_norm", {19}, 7) < 5e-6);
}

TEST_CASE("BatchNorm2d: gradients") { CHECK(gradient_fault<BatchNorm2d<3>>({{2, 2, 3}}) == ""); }

TEST_CASE("BatchNorm2d: PyTorch's numbers, with running statistics and an evaluation with them") {
  CHECK(distance_from_torch<BatchNorm2d<5>, double>("batch_norm2d", {4, 2, 5}) < 1e-12);
  CHECK(distance_from_torch<BatchNorm2d<5>, float>("batch_norm2d", {4, 2, 5}) < 5e-6);
  CHECK(distance_of_buffers<BatchNorm2d<5>, double>("batch_norm2d", {4, 2, 5}, 3) < 1e-12);
  CHECK(distance_of_buffers<BatchNorm2d<5>, float>("batch_norm2d", {4, 2, 5}, 3) < 5e-6);
}

TEST_CASE("BatchNorm1d: eps and momentum") {
  using Layer = BatchNorm1d<1, fraction{3}, fraction{1, 4}>;
  alone<Layer, double> own({{1}}, 2);
  own.parameters.assign(0, {1});
  own.parameters.assign(1, {0});
  auto x = own.some_inputs();
  x.assign(0, {4, 6}); // mean 5, variance 1, without bias 2
  const auto y = own.forward(x);
  CHECK(y[0][0] == -0.5);
  CHECK(own.buffers[0][0] == 1.25);
  CHECK(own.buffers[1][0] == 1.25);
}

} // namespace batch_norm_tests
