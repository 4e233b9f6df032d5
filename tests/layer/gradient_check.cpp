// SPDX-License-Identifier: MIT
#include <cairn/layer/gradient_check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

#include "several_layers.hpp"

namespace gradient_check_tests {

using namespace cairn;

namespace {

enum class fault {
  none,
  // of the forward
  unwritten,
  recompute,
  evaluate,
  needs_tape,
  overrun,
  in_place,
  writes_input,
  late_buffer,
  tapes_buffer,
  ignores_then,
  ignores_stride,
  // of the backward
  input_gradient,
  parameter,
  second_input,
  adds,
  unwanted,
  ignores_null,
  depends,
  writes_gradient,
  writes_tape,
  ignores_addend,
  freezes,
};

// (w a b, b + 1) of (a, b): right, or wrong in one way. It has a buffer that counts forwards, and keeps b on a tape.
template <fault Fault>
struct product {
  static constexpr reads backward_reads = reads::input;
  static constexpr std::size_t takes = 2;
  static constexpr bool in_place = true;
  static constexpr bool fuses = true;
  static constexpr bool adds = true;
  static constexpr bool strided = true;
  static constexpr bool skips_gradients = true;
  static constexpr bool accepts(const arguments& in) { return in[0] == in[1] && in[0].is_real(); }
  static constexpr tensor_list outputs(const arguments& in) { return {in[0], in[1]}; }
  static constexpr tensor_list parameters(const arguments& in) { return {{"weight", in[0].extents, initial::constant(1)}}; }
  static constexpr tensor_list buffers(const arguments&) { return {{"count", {1}, initial::constant(2)}}; }
  static constexpr tensor_list tape(const arguments& in) { return in[1]; }
  static constexpr bool depends(std::size_t output, std::size_t input) {
    return Fault == fault::depends ? output == input : output <= input;
  }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    const std::size_t size = call.in(0).size(), count = call.rows * size;
    for (std::size_t i = 0; i < count && (Fault != fault::needs_tape || call.tape); ++i) {
      const T b = call.inputs[1][i];
      if (call.tape) call.tape[0][i] = b;
      call.outputs[1][i] = b + 1;
      // Reads its input again after it may have been overwritten.
      T y = call.parameters[0][i % size] * call.inputs[0][i] * (Fault == fault::in_place ? call.inputs[1][i] : b);
      if (Fault == fault::in_place) y -= call.parameters[0][i % size] * call.inputs[0][i] * (call.inputs[1][i] - b);
      if (Fault != fault::ignores_then) y = ops::activated(call.then, y);
      if (call.addend != nullptr) y += call.addend[i];
      call.outputs[0][place(call, i)] = y;
    }
    if (Fault == fault::unwritten) call.outputs[1][0] = std::numeric_limits<T>::quiet_NaN();
    if (Fault == fault::recompute && call.why == pass::recompute) call.outputs[0][0] *= T{1.0000001};
    if (Fault == fault::evaluate && call.why == pass::evaluate) call.outputs[0][0] = call.buffers[0][0] = 3;
    if (Fault == fault::overrun) call.outputs[1][count] = 0;
    if (Fault == fault::writes_input) const_cast<T*>(call.inputs[1])[0] = 0;
    if (call.why == pass::forward || Fault == fault::late_buffer) call.buffers[0][0] += 1;
    if (Fault == fault::tapes_buffer && call.why == pass::forward && call.tape) call.buffers[0][0] += 1;
  }

  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    const std::size_t size = call.in(0).size();
    const T *const a = call.inputs[0], *const b = call.tape[0];
    const T *const da = call.output_gradients[0], *const db = call.output_gradients[1];
    for (std::size_t j = 0; call.gradients && j < size; ++j) {
      T sum = Fault == fault::adds ? call.gradients[0][j] : T{0};
      for (std::size_t i = j; i < call.rows * size && da != nullptr; i += size) sum += da[place(call, i)] * a[i] * b[i];
      call.gradients[0][j] = Fault == fault::parameter ? sum * T{1.001} : sum;
    }
    if (Fault == fault::freezes && !call.gradients) return;
    if (Fault == fault::unwanted && !call.input_gradients) call.gradients[0][0] = 7;
    for (std::size_t i = 0; i < call.rows * size; ++i) {
      const T first = da != nullptr ? da[place(call, i)] : Fault == fault::ignores_null ? T{1} : T{0};
      const T second = db != nullptr ? db[i] : T{0};
      const T by_first = first * call.parameters[0][i % size];
      if (T* const to = call.input_gradients[0]) {
        T sum = by_first * b[i] * (Fault == fault::input_gradient ? T{1.001} : T{1});
        if (call.addend != nullptr && Fault != fault::ignores_addend) sum += call.addend[i];
        to[i] = call.before == ops::activation::relu && !(a[i] > 0) ? T{0} : sum;
      }
      if (T* const to = call.input_gradients[1]) to[i] = (Fault == fault::second_input ? T{0} : by_first * a[i]) + second;
    }
    if (Fault == fault::writes_gradient && da != nullptr) const_cast<T*>(da)[0] = 0;
    if (Fault == fault::writes_tape) const_cast<T*>(b)[0] = 0;
  }

private:
  // The index of element i in outputs[0].
  static std::size_t place(const auto& call, std::size_t i) {
    const std::size_t width = call.in(0).last();
    if (call.output_stride == 0 || Fault == fault::ignores_stride) return i;
    return i / width * call.output_stride + i % width;
  }
};

template <fault Fault>
std::string found() {
  return gradient_fault<product<Fault>>({{2, 2}, {2, 2}});
}
// Empty if the checker finds this fault first, otherwise what it finds.
template <fault Fault>
std::string instead_of(const char* expected) {
  const std::string text = found<Fault>();
  return !text.empty() && text.find(expected) != std::string::npos ? "" : "'" + text + "'";
}

const tensor_list mask{tensor{3}.constant()};

// Looks up a weight for each token: it takes integers, and only the parameter has a derivative.
struct Looked {
  static constexpr reads backward_reads = reads::input;
  static constexpr bool accepts(const arguments& in) { return in[0].type == element::int32; }
  static constexpr tensor outputs(const arguments& in) { return {in[0].extents}; }
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {3}}}; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i)
      call.outputs[0][i] = call.parameters[0][call.inputs.integers(0)[i]];
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    for (std::size_t v = 0; v < 3; ++v) call.gradients[0][v] = 0;
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i)
      call.gradients[0][call.inputs.integers(0)[i]] += call.output_gradients[0][i];
  }
};

// y = w x with one weight. It says that its input gradient may lie on its input, which is right only if the gradient of the weight
// comes first.
template <bool WeightFirst>
struct Scaled {
  static constexpr reads backward_reads = reads::input;
  static constexpr bool input_gradient_on_input = true;
  static constexpr bool skips_gradients = true;
  static constexpr tensor outputs(const arguments& in) { return {in[0].extents}; }
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {1}}}; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i)
      call.outputs[0][i] = call.parameters[0][0] * call.inputs[0][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    const auto weigh = [&] {
      if (!call.gradients) return;
      call.gradients[0][0] = 0;
      for (std::size_t i = 0; i < count; ++i) call.gradients[0][0] += call.output_gradients[0][i] * call.inputs[0][i];
    };
    if (WeightFirst) weigh();
    for (std::size_t i = 0; i < count && call.input_gradients; ++i)
      call.input_gradients[0][i] = call.parameters[0][0] * call.output_gradients[0][i];
    if (!WeightFirst) weigh();
  }
};

// The identity, which writes to a constant of integers in a pass.
template <bool Forward>
struct Counts {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    std::copy_n(call.inputs[0], call.rows * call.in(0).size(), call.outputs[0]);
    if (Forward) count(call);
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    if (call.input_gradients) std::copy_n(call.output_gradients[0], call.rows * call.in(0).size(), call.input_gradients[0]);
    if (!Forward) count(call);
  }

private:
  template <class Call>
  static void count(const Call& call) {
    ++*const_cast<std::int32_t*>(call.constants.integers(0));
  }
};

} // namespace

TEST_CASE("gradient check: an input gradient that lies on the input") {
  CHECK(gradient_fault<Scaled<true>>({{5}}) == "");
  const std::string wrong = gradient_fault<Scaled<false>>({{5}});
  CHECK(wrong.find("backward with its result on the input gives other gradients") != std::string::npos);
}

TEST_CASE("gradient check: passes right layers") {
  CHECK(found<fault::none>() == "");
  CHECK(gradient_fault<Looked>({tensor{4}.of(element::int32)}) == "");
  CHECK(gradient_fault<testing::Masked<>>({{3}}, mask) == "");
  CHECK(gradient_fault<testing::Positioned<0>>({{3}}, mask) == "");
  CHECK(gradient_fault<testing::Split>({{5}}) == "");
  CHECK(gradient_fault<testing::GatedPair>({{5}, {5}}) == "");
  CHECK(gradient_fault<testing::Swap>({{5}, {2, 3}}) == "");
  CHECK(gradient_fault<testing::First>({{5}, {7}}) == "");
  CHECK(gradient_fault<testing::Mix>({{5}, {5}, {5}}) == "");
}

TEST_CASE("gradient check: constants of integers are 0, 1 and 2, and must not be written") {
  for (const tensor& n : {integer_constant<>::value, integer_constant<3>::value, batch_integer_constant<3>::value})
    CHECK(gradient_fault<testing::Times<>>({{3}}, tensor_list{n}) == "");
  CHECK(gradient_fault<testing::Gathered<>>({{3, 2}}, tensor_list{integer_constant<4>::value}) == "");
  CHECK(gradient_fault<testing::Gathered<>>({{3, 2}}, tensor_list{batch_integer_constant<4>::value}) == "");
  CHECK(gradient_fault<Counts<true>>({{3}}, tensor_list{integer_constant<>::value}).find("forward writes on a constant") == 0);
  CHECK(gradient_fault<Counts<false>>({{3}}, tensor_list{integer_constant<>::value}).find("backward writes on a constant") == 0);
}

TEST_CASE("gradient check: finds what a forward does wrong") {
  CHECK(instead_of<fault::unwritten>("forward leaves an element of an output unwritten") == "");
  CHECK(instead_of<fault::recompute>("forward for recompute differs") == "");
  CHECK(instead_of<fault::evaluate>("in another pass than pass::forward") == "");
  CHECK(instead_of<fault::needs_tape>("forward without a tape differs") == "");
  CHECK(instead_of<fault::overrun>("forward writes behind a tensor") == "");
  CHECK(instead_of<fault::in_place>("forward in place differs") == "");
  CHECK(instead_of<fault::writes_input>("forward writes on an input") == "");
  CHECK(instead_of<fault::late_buffer>("in another pass than pass::forward") == "");
  CHECK(instead_of<fault::tapes_buffer>("forward without a tape leaves other buffers") == "");
  CHECK(instead_of<fault::ignores_then>("forward with a fused activation, an addend or a stride differs") == "");
  CHECK(instead_of<fault::ignores_stride>("writes between the rows of a strided output") == "");
}

TEST_CASE("gradient check: finds what a backward does wrong") {
  CHECK(instead_of<fault::input_gradient>("input_gradient 0[0] is") == "");
  CHECK(instead_of<fault::parameter>("gradient 0[0] is") == "");
  CHECK(instead_of<fault::second_input>("input_gradient 1[0] is") == "");
  CHECK(instead_of<fault::adds>("gradient 0[0] is nan") == "");
  CHECK(instead_of<fault::unwanted>("backward without input gradients gives other gradients") == "");
  CHECK(instead_of<fault::ignores_null>("input_gradient 1[0] is") == "");
  CHECK(instead_of<fault::depends>("input_gradient 1[0] is") == "");
  CHECK(instead_of<fault::writes_gradient>("backward writes on an output gradient") == "");
  CHECK(instead_of<fault::writes_tape>("backward writes on its tape") == "");
  CHECK(instead_of<fault::freezes>("backward of a frozen layer differs") == "");
  CHECK(instead_of<fault::ignores_addend>("backward with a fused activation, an addend or a stride differs") == "");
}

TEST_CASE("gradient check: tensors that a layer does not take") {
  CHECK(gradient_fault<product<fault::none>>({{2}}) == "it takes 2 tensors, not 1");
  CHECK(gradient_fault<product<fault::none>>({{2}, {3}}) == "it does not accept these tensors");
  CHECK(gradient_fault<testing::Masked<>>({{3}}) == "it does not accept these tensors");
  CHECK(gradient_fault<ReLU>({tensor{3}.of(element::int32)}) == "it does not accept these tensors");
}

TEST_CASE("gradient check: guards, and what is not written") {
  detail::guarded_tensors<float> pair({{3}, tensor{2}.of(element::int32)}, 2);
  CHECK(pair.intact());
  CHECK(!pair.written());
  pair.fill(1);
  CHECK(pair.written());
  const detail::guarded_tensors<float> copy = pair;
  CHECK(copy.same_bits(pair));
  pair[0][5] += 1;
  CHECK(pair.intact());
  CHECK(!copy.same_bits(pair));
  CHECK(copy.same_bits(pair, 0b10));
  pair[0][6] = 0;
  CHECK(!pair.intact());
}

} // namespace gradient_check_tests
