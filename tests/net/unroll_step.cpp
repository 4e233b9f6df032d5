// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/unroll_step.hpp>

#include <cmath>
#include <cstddef>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/recurrent/lstm_cell.hpp>
#include <cairn/net/unroll.hpp>
#include <cairn/plan/revolve.hpp>
#include <doctest/doctest.h>

#include "../layer/given.hpp"
#include "planned.hpp"

namespace unroll_step_tests {

using namespace cairn;

namespace {

// A cell of one's own, with a parameter, without a tape, that draws random numbers: h' = tanh(w x + h) or, for one element in
// four, 0.
struct Forgetful {
  static constexpr tensor_list inputs{{3}, {3}};
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::both;

  static constexpr tensor outputs(const arguments&) { return inputs[1]; }
  static constexpr tensor_list parameters(const arguments&) { return {{"w", {3}, initial::uniform(1)}}; }

  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < 3 * call.rows; ++i)
      call.outputs[0][i] =
          keeps(call.random, i) ? std::tanh(call.parameters[0][i % 3] * call.inputs[0][i] + call.inputs[1][i]) : 0;
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>& call) {
    for (std::size_t k = 0; k < 3; ++k) call.gradients[0][k] = 0;
    for (std::size_t i = 0; i < 3 * call.rows; ++i) {
      const T y = call.outputs[0][i];
      const T d = keeps(call.random, i) ? call.output_gradients[0][i] * (1 - y * y) : 0;
      if (call.input_gradients[0] != nullptr) call.input_gradients[0][i] = d * call.parameters[0][i % 3];
      if (call.input_gradients[1] != nullptr) call.input_gradients[1][i] = d;
      call.gradients[0][i % 3] += d * call.inputs[0][i];
    }
  }

private:
  static bool keeps(const types::random_key& key, std::size_t i) { return ops::random_bits(key, i) % 4 != 0; }
};

// A cell without parameters: h' = tanh(x + h).
struct Sum {
  static constexpr tensor_list inputs{{2, 3}, {2, 3}};
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::output;

  static constexpr tensor outputs(const arguments&) { return inputs[1]; }

  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < 6 * call.rows; ++i) call.outputs[0][i] = std::tanh(call.inputs[0][i] + call.inputs[1][i]);
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>& call) {
    for (std::size_t i = 0; i < 6 * call.rows; ++i) {
      const T y = call.outputs[0][i], d = call.output_gradients[0][i] * (1 - y * y);
      for (const std::size_t k : {0U, 1U})
        if (call.input_gradients[k] != nullptr) call.input_gradients[k][i] = d;
    }
  }
};

using Start = detail::unroll_start<7, LSTMCell<4, 3>>;
using Step = detail::unroll_step<7, LSTMCell<4, 3>>;

} // namespace

static_assert(layer<Start> && layer<Step>);
static_assert(Start::accepts(given{{7, 4}}) && !Start::accepts(given{{6, 4}}) && !Start::accepts(given{{4}}));
static_assert(Start::outputs(given{{7, 4}}) == tensor_list{{3}, {3}} && Start::parameters(given{{7, 4}}).count == 4);
static_assert(Step::takes == 2 && Step::accepts(given{{3}, {3}}) && !Step::accepts(given{{3}, {4}}));
static_assert(Step::tape(given{{3}, {3}}).count == 4 && Step::workspace(given{{3}, {3}}, pass::forward).count == 1);

TEST_CASE("Unroll: cells of one's own, one that draws random numbers and one without parameters") {
  testing::check_step<Sequential<Input<6, 3>, Linear<3, 3>, Unroll<6, Forgetful>, Linear<3, 2>>, 4, float>();
  testing::check_step<Sequential<Input<6, 3>, Linear<3, 3>, Unroll<6, Forgetful, revolve<2>>::last, Linear<3, 2>>, 4, float>();
  testing::check_step<Sequential<Input<5, 2, 3>, Linear<3, 3>, Unroll<5, Sum, every<2>>, Linear<3, 2>>, 4, float>();
}

} // namespace unroll_step_tests
