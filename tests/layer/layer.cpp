// SPDX-License-Identifier: MIT
#include <cairn/layer/layer.hpp>

#include <string>

#include <doctest/doctest.h>

#include "gradient_check.hpp"

using namespace cairn;

namespace {

enum class fault {
  none,
  input_gradient,
  parameter_gradient,
  adds,
  overwrites,
  recompute,
  overrun,
  in_place,
  unwanted
};

// y_j = w_j x_j for one row of Size numbers: right, or wrong in one way.
template <fault Fault>
struct scaled {
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;
  static constexpr shape output_shape(const shape& in) { return in; }
  static constexpr parameter_list parameters(const shape& in) {
    return {{"weight", in, initial::constant, 1}};
  }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    const std::size_t size = call.input_shape->size();
    for (std::size_t i = 0; i < call.rows * size; ++i) {
      call.output[i] = call.parameters[0][i % size] * call.input[i];
      // Reads its input again after it may have been overwritten.
      if (Fault == fault::in_place && i > 0) call.output[i] += call.input[i - 1];
    }
    if (Fault == fault::recompute && call.why == pass::recompute) call.output[0] *= T{1.0000001};
    if (Fault == fault::overrun) call.output[call.rows * size] = 0;
  }

  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    const std::size_t size = call.input_shape->size();
    for (std::size_t j = 0; j < size; ++j) {
      T sum = Fault == fault::adds ? call.gradients[0][j] : T{0};
      for (std::size_t i = j; i < call.rows * size; i += size) sum += call.output_gradient[i] * call.input[i];
      call.gradients[0][j] = Fault == fault::parameter_gradient ? sum * T{1.001} : sum;
    }
    if (Fault == fault::unwanted && call.input_gradient == nullptr) call.gradients[0][0] = 0;
    if (call.input_gradient == nullptr) return;
    for (std::size_t i = 0; i < call.rows * size; ++i)
      call.input_gradient[i] =
          call.output_gradient[i] * (Fault == fault::input_gradient ? T{1} : call.parameters[0][i % size]);
    if (Fault == fault::overwrites) const_cast<T*>(call.output_gradient)[0] = 0;
  }
};

struct without_shape {
  static constexpr reads backward_reads = reads::nothing;
};
struct without_reads {
  static constexpr shape output_shape(const shape& in) { return in; }
};

bool finds(const std::string& said, const char* expected) { return said.find(expected) != std::string::npos; }

} // namespace

static_assert(layer<scaled<fault::none>>);
static_assert(!layer<without_shape> && without_shape::backward_reads == reads::nothing);
static_assert(!layer<without_reads> && !layer<int>);

TEST_CASE("gradient check: passes a right layer") { CHECK(gradient_fault<scaled<fault::none>>({4}) == ""); }

TEST_CASE("gradient check: finds what a layer does wrong") {
  CHECK(finds(gradient_fault<scaled<fault::input_gradient>>({4}), "input_gradient[0] is"));
  CHECK(finds(gradient_fault<scaled<fault::parameter_gradient>>({4}), "gradient 0[0] is"));
  CHECK(finds(gradient_fault<scaled<fault::adds>>({4}), "gradient 0[0] is nan"));
  CHECK(finds(gradient_fault<scaled<fault::overwrites>>({4}), "wrote on output_gradient"));
  CHECK(finds(gradient_fault<scaled<fault::recompute>>({4}), "recompute differs"));
  CHECK(finds(gradient_fault<scaled<fault::overrun>>({4}), "behind a buffer"));
  CHECK(finds(gradient_fault<scaled<fault::unwanted>>({4}), "whether the input gradient is wanted"));
}

TEST_CASE("gradient check: finds a layer that cannot work in place") {
  // Its derivatives are wrong as well, so that it is asked for this variant alone.
  CHECK(finds(gradient_check_detail::variants<scaled<fault::in_place>>({4}, 2), "in place differs"));
}

TEST_CASE("parameter_list: in the order given") {
  constexpr parameter_list list{{"weight", {2, 3}, initial::uniform, 0.5}, {"bias", {2}}};
  static_assert(list.count == 2 && list.items[1].name == "bias" && list.end() - list.begin() == 2);
  float block[8] = {};
  const std::size_t offsets[2] = {0, 6};
  const tensors<float> both{block, offsets};
  CHECK(both[1] == block + 6);
}
