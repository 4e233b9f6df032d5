// SPDX-License-Identifier: MIT
#include <cairn/layer/standardize.hpp>

#include <string>
#include <vector>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace standardize_tests {

using namespace cairn;
using preprocess::Standardize;

static_assert(layer<Standardize<6>> && Standardize<6>::in_place && Standardize<6>::backward_reads == reads::nothing);
static_assert(Standardize<6>::accepts(given{{6}}) && Standardize<6>::accepts(given{{4, 2, 6}}));
static_assert(!Standardize<6>::accepts(given{{2, 5}}) && !Standardize<1>::accepts(given{{}}));
static_assert(!Standardize<6>::accepts(given{tensor{6}.of(element::int32)}));
static_assert(Standardize<6>::buffers(given{{6}})[0].name == "mean" && Standardize<6>::buffers(given{{6}})[0].start.scale == 0);
static_assert(Standardize<6>::buffers(given{{6}})[1].name == "std" && Standardize<6>::buffers(given{{6}})[1].start.scale == 1);

namespace {

// Buffers other than those it starts with, for gradient_fault().
struct Started : Standardize<5> {
  static constexpr tensor_list buffers(const arguments&) {
    return {tensor{"mean", {5}, initial::uniform(0.5)}.of(element::accumulated),
            tensor{"std", {5}, initial::constant(0.3)}.of(element::accumulated)};
  }
};

// Statistics as the layer of the reference has them: rounded to float.
template <class T>
std::vector<T> numbers_of_floats(const std::string& name) {
  const auto all = reference_numbers<float>(name);
  return {all.begin(), all.end()};
}

} // namespace

TEST_CASE("Standardize: gradients") {
  CHECK(gradient_fault<Standardize<6>>({{6}}) == "");
  CHECK(gradient_fault<Started>({{5}}) == "");
  CHECK(gradient_fault<Started>({{2, 3, 5}}) == ""); // the channels of images
}

TEST_CASE_TEMPLATE("Standardize: PyTorch's numbers", T, float, double) {
  alone<Standardize<7>, T> own({{3, 7}}, 4);
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  x.assign(0, reference_numbers<T>("standardize/input"));
  dy.assign(0, reference_numbers<T>("standardize/output_gradient"));
  own.buffers.assign(0, numbers_of_floats<T>("standardize/mean"));
  own.buffers.assign(1, numbers_of_floats<T>("standardize/std"));
  const auto y = own.forward(x);
  const double most = sizeof(T) == 4 ? 1e-6 : 0; // both round once a step
  CHECK(largest_difference(y.values(), reference_values("standardize/output")) <= most);
  CHECK(largest_difference(own.backward(x, y, dy).values(), reference_values("standardize/input_gradient")) <= most);
}

TEST_CASE_TEMPLATE("Standardize: (x - mean) / std in training and in evaluation, and dy / std", T, float, double) {
  alone<Standardize<2>, T> own({{3, 2}}, 2);
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  CHECK(own.forward(x)[0][5] == x[0][5]); // as it starts, it changes nothing
  own.buffers.assign(0, {T(3), T(-0.7)});
  own.buffers.assign(1, {T(0.1), T(7)});
  const auto y = own.forward(x), evaluated = own.forward(x, {.why = pass::evaluate, .tape = false});
  const auto dx = own.backward(x, y, dy);
  for (std::size_t i = 0; i < 12; ++i) {
    const T mean = own.buffers[0][i % 2], deviation = own.buffers[1][i % 2];
    CHECK(y[0][i] == (x[0][i] - mean) / deviation);
    CHECK(evaluated[0][i] == y[0][i]);
    CHECK(dx[0][i] == dy[0][i] / deviation);
  }
}

} // namespace standardize_tests
