// SPDX-License-Identifier: MIT
// Tests of what the layer says of itself, and of its function without a trainer. For how it learns, see
// tests/train/trainer/head_in_strips.cpp.
#include <cairn/layer/head_in_strips.hpp>

#include <cstddef>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

namespace head_in_strips_tests {

using namespace cairn;

TEST_CASE("head_in_strips: it is the layer, with memory for one strip of its output") {
  using Head = head_in_strips<Linear<8, 50>, 16>;
  static constexpr tensor_list no_constants{};
  static constexpr tensor taken{5, 8};
  static constexpr arguments in{&taken, 1, no_constants};
  static_assert(Head::outputs(in) == Linear<8, 50>::outputs(in) && Head::parameters(in).count == 2);
  static_assert(Head::flops(in).forward == Linear<8, 50>::flops(in).forward);
  static_assert(Head::workspace(in, pass::forward).count == 0 && Head::workspace(in, pass::evaluate).count == 0);
  static constexpr tensor_list beside = Head::workspace(in, pass::backward);
  static_assert(beside.count == 2 && beside[0].extents == shape{50} && beside[0].per_batch);
  static_assert(beside[1].extents == shape{16, 50} && beside[1].per_batch);
  static_assert(!Head::fuses && !Head::adds && !Head::strided && Head::options_are_right);
  using Table = Embedding<50, 8>;
  static_assert(head_in_strips<Tied<Linear<8, 50>, Table>>::options_are_right);
  static_assert(!head_in_strips<Table>::options_are_right && !head_in_strips<Linear<8, 50>, 0>::options_are_right);
}

TEST_CASE("head_in_strips: alone it is correct, as the layer is") {
  CHECK(gradient_fault<head_in_strips<Linear<4, 3>, 2>>({{4}}) == "");
  CHECK(gradient_fault<head_in_strips<Linear<4, 3, false>, 2>>({{2, 4}}) == "");
}

TEST_CASE_TEMPLATE("head_in_strips: strips add up to the whole", T, float, double) {
  constexpr std::size_t wide = 6, classes = 9, rows = 7;
  using Layer = Linear<wide, classes>;
  using Head = head_in_strips<Layer, 3>;
  static constexpr tensor_list no_constants{};
  static constexpr tensor taken{wide};
  static constexpr arguments in{&taken, 1, no_constants};
  cpu device;
  const auto made = [](std::size_t count, double step) {
    std::vector<T> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(static_cast<double>(i * 7 % 11) * step - 0.4);
    return out;
  };
  const std::vector<T> x = made(rows * wide, 0.1), parameters = made(classes * wide + classes, 0.07);
  const std::size_t at[] = {0, classes * wide * sizeof(T)};

  // The loss of these strips is half of the sum of squares: the gradient of an output is the output itself.
  struct seen {
    std::vector<std::size_t> first, sizes;
    std::vector<T> output;
  } got;
  const auto take = [](const void* self, const typename detail::loss_in_strips<T>::strip& of) {
    auto& s = *static_cast<seen*>(const_cast<void*>(self));
    s.first.push_back(of.first);
    s.output.insert(s.output.end(), of.output, of.output + of.rows * of.columns);
    s.sizes.push_back(of.all * 100 + of.columns);
  };
  const detail::loss_in_strips<T> loss{take, &got};

  std::vector<T> y(rows * classes), of_weights(parameters.size(), T(-1)), of_x(rows * wide);
  forward_call<T> forward;
  forward.rows = rows;
  forward.given = &in;
  forward.inputs = detail::one_tensor(x.data());
  forward.outputs = detail::one_tensor(y.data());
  forward.parameters = {reinterpret_cast<const std::byte*>(parameters.data()), at};
  Layer::forward(device.compute(), forward);
  backward_call<T> backward;
  backward.rows = rows;
  backward.given = &in;
  backward.inputs = forward.inputs;
  backward.output_gradients = detail::one_tensor(static_cast<const T*>(y.data()));
  backward.input_gradients = detail::one_tensor(of_x.data());
  backward.parameters = forward.parameters;
  backward.gradients = {reinterpret_cast<std::byte*>(of_weights.data()), at};
  Layer::backward(device.compute(), backward);

  std::vector<T> passed(rows * wide, T(-1)), in_strips(parameters.size(), T(-1)), workspace(classes + 3 * classes);
  const std::size_t beside[] = {0, classes * sizeof(T)};
  forward.outputs = detail::one_tensor(passed.data());
  forward.passes_on = true;
  Head::forward(device.compute(), forward);
  CHECK(passed == x);
  backward.inputs = {};
  backward.output_gradients = detail::one_tensor(static_cast<const T*>(passed.data()));
  backward.input_gradients = detail::one_tensor(passed.data()); // in place
  backward.gradients = {reinterpret_cast<std::byte*>(in_strips.data()), at};
  backward.workspace = {reinterpret_cast<std::byte*>(workspace.data()), beside};
  backward.strips = &loss;
  Head::backward(device.compute(), backward);
  CHECK(got.first == std::vector<std::size_t>{0, 3, 6});
  CHECK(got.sizes == std::vector<std::size_t>(3, 100 * rows + classes));
  CHECK(got.output == y);
  CHECK(passed == of_x); // bit for bit
  for (std::size_t i = 0; i < in_strips.size(); ++i)
    CHECK(in_strips[i] == doctest::Approx(of_weights[i]).epsilon(sizeof(T) == 4 ? 1e-5 : 1e-13));

  backward.input_gradients = {}; // not wanted
  passed = x;
  std::vector<T> again(parameters.size(), T(-1));
  backward.gradients = {reinterpret_cast<std::byte*>(again.data()), at};
  Head::backward(device.compute(), backward);
  CHECK(again == in_strips);
  CHECK(passed == x);
}

} // namespace head_in_strips_tests
