// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/layer/recurrent/gate_products.hpp>
#include <cairn/layer/recurrent/gru_formulas.hpp>

namespace cairn {

// One step of a gated recurrent unit, as torch.nn.GRUCell(In, Hidden): it takes an input (In) and a state (Hidden), and makes the
// next state (Cho et al.: Learning phrase representations using RNN encoder-decoder, 2014):
//
//   r = logistic(W_ir x + b_ir + W_hr h + b_hr)      z = logistic(W_iz x + b_iz + W_hz h + b_hz)
//   n = tanh(W_in x + b_in + r (W_hn h + b_hn))      h' = (1 - z) n + z h
//
// The rows of weight_ih, weight_hh, bias_ih and bias_hh are those of r, z and n, in this order. All start uniform in
// +-1 / sqrt(Hidden). Unroll<T, GRUCell<In, Hidden>> is torch.nn.GRU of one layer.
//
// Kept for backward: r, z, n and W_hn h + b_hn.
template <std::size_t In, std::size_t Hidden>
struct GRUCell {
  static_assert(In > 0 && Hidden > 0, "GRUCell: it needs at least one input and one element of state; write GRUCell<In, Hidden>");

  static constexpr tensor_list inputs{{In}, {Hidden}};
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::input;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) { return in[0] == inputs[0] && in[1] == inputs[1]; }
  static constexpr tensor outputs(const arguments&) { return inputs[1]; }
  static constexpr tensor_list parameters(const arguments&) { return products::parameters(); }

  // A forward whose tape is not kept has the gates in its workspace.
  static constexpr tensor_list tape(const arguments&) { return gates; }
  static constexpr tensor_list workspace(const arguments&, pass why) {
    if (why == pass::evaluate) return gates;
    if (why == pass::backward) return {{3 * Hidden}, {Hidden}, {Hidden}};
    return {};
  }

  // Two logistic functions and a tanh are about 70 operations an element.
  static constexpr work flops(const arguments&) {
    return {products::product_flops + 70 * Hidden, 2 * products::product_flops + 20 * Hidden, products::product_flops};
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const types::tensors<T>& own = call.tape ? call.tape : call.workspace;
    T *const r = own[0], *const z = own[1], *const n = own[2], *const b = own[3];
    const std::size_t count = call.rows * Hidden;
    for (const std::size_t g : {0U, 1U}) {
      products::of_input(queue, call, g, own[g]);
      products::of_state(queue, call, g, own[g], true);
      elementwise(queue, count, detail::gate_value{}, own[g], read(own[g]));
    }
    products::of_input(queue, call, 2, n);
    products::of_state(queue, call, 2, b, false);
    elementwise(queue, count, detail::gru_new_value{}, n, read(n), read(r), read(b));
    elementwise(queue, count, detail::gru_state_value{}, call.outputs[0], read(n), read(z), call.inputs[1]);
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const T *const r = call.tape[0], *const z = call.tape[1], *const n = call.tape[2], *const b = call.tape[3];
    const T *const dy = call.output_gradients[0], *const h = call.inputs[1];
    T *const all = call.workspace[0], *const dn = call.workspace[1], *const one = call.workspace[2];
    const std::size_t rows = call.rows, count = rows * Hidden;
    elementwise(queue, count, detail::gru_new_slope{}, dn, dy, z, n);
    products::put(queue, rows, all, 2, dn);
    elementwise(queue, count, detail::gru_update_slope{}, one, dy, z, n, h);
    products::put(queue, rows, all, 1, one);
    elementwise(queue, count, detail::gru_reset_slope{}, one, read(dn), r, b);
    products::put(queue, rows, all, 0, one);
    products::backward(queue, call, 0, all, false);
    elementwise(queue, count, detail::product_of_two{}, one, read(dn), r); // the state's part of n is multiplied by r
    products::put(queue, rows, all, 2, one);
    if (call.input_gradients[1] != nullptr) elementwise(queue, count, detail::product_of_two{}, call.input_gradients[1], dy, z);
    products::backward(queue, call, 1, all, true);
  }

private:
  using products = detail::gate_products<In, Hidden, 3>;
  static constexpr tensor_list gates{{Hidden}, {Hidden}, {Hidden}, {Hidden}};
  template <class T>
  static const T* read(const T* array) {
    return array;
  }
};

} // namespace cairn
