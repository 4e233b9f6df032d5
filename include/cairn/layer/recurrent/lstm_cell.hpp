// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/layer/recurrent/gate_products.hpp>
#include <cairn/layer/recurrent/lstm_formulas.hpp>

namespace cairn {

// One step of a long short-term memory, as torch.nn.LSTMCell(In, Hidden): it takes an input (In), a state h (Hidden) and a memory
// c (Hidden), and makes the next state and memory (Hochreiter, Schmidhuber: Long short-term memory, 1997):
//
//   i = logistic(W_ii x + b_ii + W_hi h + b_hi)      f = logistic(W_if x + b_if + W_hf h + b_hf)
//   g = tanh(W_ig x + b_ig + W_hg h + b_hg)          o = logistic(W_io x + b_io + W_ho h + b_ho)
//   c' = f c + i g                                   h' = o tanh(c')
//
// The rows of weight_ih, weight_hh, bias_ih and bias_hh are those of i, f, g and o, in this order. All start uniform in
// +-1 / sqrt(Hidden). Unroll<T, LSTMCell<In, Hidden>> is torch.nn.LSTM of one layer.
//
// Kept for backward: the four gates; tanh(c') is computed again.
template <std::size_t In, std::size_t Hidden>
struct LSTMCell {
  static_assert(In > 0 && Hidden > 0,
                "LSTMCell: it needs at least one input and one element of state; write LSTMCell<In, Hidden>");

  static constexpr tensor_list inputs{{In}, {Hidden}, {Hidden}};
  static constexpr std::size_t takes = 3;
  static constexpr reads backward_reads = reads::both;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) { return in[0] == inputs[0] && in[1] == inputs[1] && in[2] == inputs[2]; }
  static constexpr tensor_list outputs(const arguments&) { return {inputs[1], inputs[2]}; }
  static constexpr tensor_list parameters(const arguments&) { return products::parameters(); }

  // A forward whose tape is not kept has the gates in its workspace.
  static constexpr tensor_list tape(const arguments&) { return gates; }
  static constexpr tensor_list workspace(const arguments&, pass why) {
    if (why == pass::evaluate) return gates;
    if (why == pass::backward) return {{4 * Hidden}, {Hidden}, {Hidden}};
    return {};
  }

  // Three logistic functions and two tanh are about 120 operations an element.
  static constexpr work flops(const arguments&) {
    return {products::product_flops + 120 * Hidden, 2 * products::product_flops + 80 * Hidden, products::product_flops};
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const types::tensors<T>& own = call.tape ? call.tape : call.workspace;
    const std::size_t count = call.rows * Hidden;
    for (std::size_t gate = 0; gate < 4; ++gate) {
      products::of_input(queue, call, gate, own[gate]);
      products::of_state(queue, call, gate, own[gate], true);
      if (gate == 2) elementwise(queue, count, detail::lstm_cell_value{}, own[gate], read(own[gate]));
      else elementwise(queue, count, detail::gate_value{}, own[gate], read(own[gate]));
    }
    const T *const i = own[0], *const f = own[1], *const g = own[2], *const o = own[3];
    elementwise(queue, count, detail::lstm_memory_value{}, call.outputs[1], f, call.inputs[2], i, g);
    elementwise(queue, count, detail::lstm_state_value{}, call.outputs[0], o, read(call.outputs[1]));
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const T *const i = call.tape[0], *const f = call.tape[1], *const g = call.tape[2], *const o = call.tape[3];
    const T *const c = call.inputs[2], *const made = call.outputs[1], *const dh = call.output_gradients[0];
    T *const all = call.workspace[0], *const memory = call.workspace[1], *const one = call.workspace[2];
    const std::size_t rows = call.rows, count = rows * Hidden;
    const T* dc = call.output_gradients[1];
    if (dh == nullptr) {
      elementwise(queue, count, detail::lstm_no_gradient{}, one, o);
    } else {
      if (dc == nullptr) elementwise(queue, count, detail::lstm_memory_slope{}, memory, dh, o, made);
      else elementwise(queue, count, detail::lstm_memory_sum{}, memory, dh, o, made, dc);
      dc = memory;
      elementwise(queue, count, detail::lstm_output_slope{}, one, dh, o, made);
    }
    products::put(queue, rows, all, 3, one);
    elementwise(queue, count, detail::lstm_gate_slope{}, one, dc, i, g);
    products::put(queue, rows, all, 0, one);
    elementwise(queue, count, detail::lstm_gate_slope{}, one, dc, f, c);
    products::put(queue, rows, all, 1, one);
    elementwise(queue, count, detail::lstm_cell_slope{}, one, dc, i, g);
    products::put(queue, rows, all, 2, one);
    products::backward(queue, call, 0, all, false);
    products::backward(queue, call, 1, all, false);
    if (call.input_gradients[2] != nullptr) elementwise(queue, count, detail::product_of_two{}, call.input_gradients[2], dc, f);
  }

private:
  using products = detail::gate_products<In, Hidden, 4>;
  static constexpr tensor_list gates{{Hidden}, {Hidden}, {Hidden}, {Hidden}};
  template <class T>
  static const T* read(const T* array) {
    return array;
  }
};

} // namespace cairn
