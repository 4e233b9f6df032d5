// SPDX-License-Identifier: MIT
#include <cairn/layer/float_border.hpp>

#include <cstdint>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace float_border_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

constexpr tensor_list none{};
constexpr tensor real{8}, wide = real.of(element::accumulated), tokens = tensor{3}.of(element::int32);
constexpr arguments of(const tensor& one) { return {&one, 1, none}; }
using Border = enter_float<Linear<8, 4>>;

// The elements of a list of one tensor, whatever their type.
template <class T, class Number>
tensors<T> seen(Number* first) {
  static constexpr std::size_t offset = 0;
  return {reinterpret_cast<typename tensors<T>::byte*>(first), &offset, 1};
}

// What arrives is converted at the borders, and integers are not.
static_assert(Border::accepts(of(real)) && !Border::accepts(of(wide)) && Border::outputs(of(real)) == wide);
static_assert(leave_float::accepts(of(wide)) && !leave_float::accepts(of(real)) && leave_float::outputs(of(wide)) == real);
static_assert(Border::accepts(of(tokens)) && Border::outputs(of(tokens)) == tokens);
static_assert(!Border::accepts(of(real.once())));
static_assert(Border::inputs == Linear<8, 4>::inputs && layer<Border> && layer<leave_float>);

// Calls a border on two rows of 8 elements, or of 3 integers.
template <class Layer, class T, class From, class To>
void forward(const tensor& what, const std::vector<From>& from, std::vector<To>& to) {
  cpu device({.threads = 1});
  const arguments given = of(what);
  forward_call<T> call;
  call.rows = 2;
  call.given = &given;
  call.inputs = seen<const T>(from.data());
  call.outputs = seen<T>(to.data());
  Layer::forward(device.compute(), call);
}
template <class Layer, class T, class From, class To>
void backward(const tensor& what, const std::vector<From>& from, std::vector<To>& to) {
  cpu device({.threads = 1});
  const arguments given = of(what);
  backward_call<T> call;
  call.rows = 2;
  call.given = &given;
  call.output_gradients = seen<const T>(from.data());
  if (!to.empty()) call.input_gradients = seen<T>(to.data());
  Layer::backward(device.compute(), call);
}

} // namespace

TEST_CASE("float_border: values of 16 bits are widened and rounded, gradients the other way round") {
  std::vector<float> exact(16), wide_again(16);
  for (std::size_t i = 0; i < 16; ++i) exact[i] = static_cast<float>(i) * 1.01F - 3;
  std::vector<bfloat16> narrow(16), rounded(16);
  forward<leave_float, bfloat16>(wide, exact, narrow);
  backward<Border, bfloat16>(real, exact, rounded);
  bool are_rounded = true;
  for (std::size_t i = 0; i < 16; ++i)
    are_rounded = are_rounded && narrow[i] == bfloat16(exact[i]) && rounded[i] == bfloat16(exact[i]);
  CHECK(are_rounded);
  forward<Border, bfloat16>(real, narrow, wide_again);
  CHECK(wide_again[5] == static_cast<float>(narrow[5]));
  CHECK(wide_again[5] != exact[5]);
  std::vector<float> of_leaving(16);
  backward<leave_float, bfloat16>(wide, narrow, of_leaving);
  CHECK(of_leaving == wide_again);
  std::vector<bfloat16> not_wanted;
  backward<Border, bfloat16>(real, exact, not_wanted);
  CHECK(not_wanted.empty());
}

TEST_CASE("float_border: float and integers are copied") {
  const std::vector<float> exact{1.1F, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, -8.8F};
  std::vector<float> found(16), gradient(16);
  forward<Border, float>(real, exact, found);
  backward<leave_float, float>(wide, exact, gradient);
  CHECK(found == exact);
  CHECK(gradient == exact);
  const std::vector<std::int32_t> words{1, 2, 3, 4, 5, 6};
  std::vector<std::int32_t> same(6);
  forward<Border, bfloat16>(tokens, words, same);
  CHECK(same == words);
}

} // namespace float_border_tests
