// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/constant_sqrt.hpp>
#include <cairn/core/view.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/matmul/matmul.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct gate_value {
  static constexpr const char* name = "gate of a recurrent cell";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return logistic(x);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn::detail {

// The parameters of a recurrent cell of `Gates` gates, as torch has them: weight_ih (Gates Hidden, In), weight_hh (Gates Hidden,
// Hidden), bias_ih and bias_hh (Gates Hidden); those of gate g are the rows from g Hidden on. And their products: a gate of all
// samples is an array (rows, Hidden) of its own, so that formulas run over whole arrays.
template <std::size_t In, std::size_t Hidden, std::size_t Gates>
struct gate_products {
  static constexpr std::size_t width = Gates * Hidden;

  static constexpr tensor_list parameters() {
    const initial start = initial::uniform(1 / constant_sqrt(static_cast<double>(Hidden)));
    return {{"weight_ih", {width, In}, start},
            {"weight_hh", {width, Hidden}, start},
            {"bias_ih", {width}, start},
            {"bias_hh", {width}, start}};
  }

  // Operations of the products of one sample. Backward makes two of each: one for each factor.
  static constexpr std::size_t product_flops = 2 * width * (In + Hidden) + 2 * width;

  // Writes gate g: x W_ih^T + b_ih, or h W_hh^T + b_hh; the latter is added to what is there if `adds`.
  template <class T, class Queue>
  static void of_input(Queue& queue, const forward_call<T>& call, std::size_t g, T* to) {
    const std::size_t rows = call.rows;
    matmul(queue, ops::matrix<T>{to, rows, Hidden}, ops::matrix<const T>{call.inputs[0], rows, In},
           ops::matrix<const T>{call.parameters[0] + g * Hidden * In, Hidden, In}, ops::transpose::second,
           ops::epilogue<T>{.bias = call.parameters[2] + g * Hidden}); // (rows, Hidden) = (rows, In) x (Hidden, In)^T
  }
  template <class T, class Queue>
  static void of_state(Queue& queue, const forward_call<T>& call, std::size_t g, T* to, bool adds) {
    const std::size_t rows = call.rows;
    ops::epilogue<T> then{.bias = call.parameters[3] + g * Hidden};
    if (adds) then.addend = {to, rows, Hidden};
    matmul(queue, ops::matrix<T>{to, rows, Hidden}, ops::matrix<const T>{call.inputs[1], rows, Hidden},
           ops::matrix<const T>{call.parameters[1] + g * Hidden * Hidden, Hidden, Hidden}, ops::transpose::second,
           then); // (rows, Hidden) = (rows, Hidden) x (Hidden, Hidden)^T
  }

  // Copies the gradient of gate g to its columns of `all`, (rows, Gates Hidden).
  template <class T, class Queue>
  static void put(Queue& queue, std::size_t rows, T* all, std::size_t g, const T* gate) {
    copy_matrix(queue, ops::matrix<T>{all + g * Hidden, rows, Hidden, width}, ops::matrix<const T>{gate, rows, Hidden});
  }
  // The gradients of weight and bias `k`, which read input k, and of that input, given those of all gates. The latter is added to
  // what is there if `adds`.
  template <class T, class Queue>
  static void backward(Queue& queue, const backward_call<T>& call, std::size_t k, const T* gates, bool adds) {
    const std::size_t rows = call.rows, columns = k == 0 ? In : Hidden;
    const ops::matrix<const T> gradient{gates, rows, width};
    if (call.gradients)
      matmul(queue, ops::matrix<accumulated<T>>{call.gradients[k], width, columns}, gradient,
             ops::matrix<const T>{call.inputs[k], rows, columns}, ops::transpose::first,
             ops::epilogue<T>{.row_sums = call.gradients[2 + k]}); // (width, columns) = (rows, width)^T x (rows, columns)
    T* const to = call.input_gradients[k];
    if (to == nullptr) return;
    ops::epilogue<T> then{};
    if (adds) then.addend = {to, rows, columns};
    matmul(queue, ops::matrix<T>{to, rows, columns}, gradient, ops::matrix<const T>{call.parameters[k], width, columns},
           ops::transpose::none, then); // (rows, columns) = (rows, width) x (width, columns)
  }
};

} // namespace cairn::detail
