// SPDX-License-Identifier: MIT
// Every kernel that Cairn has for GPUs, for float and double: tests/checks/cuda_kernels.py reads what ptxas says of them.
#include <cstdint>

#include <cairn/core/random.hpp>
#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/ops.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>

using namespace cairn;
template <class T>
void use(cuda::queue& q, T* y, const T* x, double* loss, const std::int32_t* i) {
  const ops::matrix<T> to{y, 2, 2};
  const ops::matrix<const T> from{x, 2, 2};
  copy(q, 2, y, x);
  copy_matrix(q, to, from);
  add(q, 2, y, x, x);
  add_matrix(q, to, from, from);
  matmul(q, to, from, from, ops::transpose::second, {});
  elementwise(q, 2, detail::sum_of_two{}, y, x, x);
  elementwise(q, 2, detail::relu_value{}, y, x);
  elementwise(q, 2, detail::relu_slope{}, y, x, x);
  elementwise(q, 2, detail::gelu_value{}, y, x);
  elementwise(q, 2, detail::gelu_slope{}, y, x, x);
  elementwise(q, 2, detail::tanh_value{}, y, x);
  elementwise(q, 2, detail::tanh_slope{}, y, x, x);
  elementwise(q, 2, detail::sigmoid_value{}, y, x);
  elementwise(q, 2, detail::sigmoid_slope{}, y, x, x);
  elementwise(q, 2, detail::silu_value{}, y, x);
  elementwise(q, 2, detail::silu_slope{}, y, x, x);
  elementwise(q, 2, detail::tanh_gelu_value{}, y, x);
  elementwise(q, 2, detail::tanh_gelu_slope{}, y, x, x);
  elementwise(q, 2, detail::leaky_relu_value<percent<1>>{}, y, x);
  elementwise(q, 2, detail::leaky_relu_slope<percent<1>>{}, y, x, x);
  elementwise(q, 2, detail::elu_value<fraction{1}>{}, y, x);
  elementwise(q, 2, detail::elu_slope<fraction{1}>{}, y, x, x);
  dropout(q, 2, y, x, types::random_key{}, ops::dropout_rate{});
  layer_norm_forward(q, 2, 2, 1e-5, y, y, x, x, x);
  layer_norm_backward(q, 2, 2, y, y, y, x, x, x, x);
  rms_norm_forward(q, 2, 2, 1e-5, y, y, x, x);
  rms_norm_backward(q, 2, 2, y, y, x, x, x, x);
  softmax_forward(q, 2, 2, y, x);
  softmax_backward(q, 2, 2, y, x, x);
  batch_norm_forward(q, 2, 2, 1e-5, y, y, x, x, x);
  batch_norm_update(q, 2, 2, 0.1, y, y, x);
  batch_norm_evaluate(q, 2, 2, 1e-5, y, x, x, x, x, x);
  batch_norm_backward(q, 2, 2, 1e-5, y, y, y, x, x, x, x);
  batch_norm_sums(q, 2, 2, loss, x);
  batch_norm_statistics(q, 2, y, loss);
  batch_norm_update(q, 2, 0.1, y, y, x, loss);
  batch_norm_gradient_sums(q, 2, 2, 1e-5, loss, y, y, x, x, x);
  batch_norm_input_gradient(q, 2, 2, 1e-5, y, x, x, x, x, loss);
  group_norm_forward(q, ops::channel_groups{}, 1e-5, y, y, x, x, x);
  group_norm_backward(q, ops::channel_groups{}, y, y, y, x, x, x, x);
  add_positions(q, 2, 2, y, x, x);
  positions_gradient(q, 2, 2, 2, y, x);
  add_sinusoids(q, 2, 2, 2, y, x);
  rotate(q, ops::rotation{}, false, 2, y, x);
  embedding_forward(q, 2, 2, 2, y, x, i);
  embedding_backward(q, 2, 2, 2, y, x, i);
  conv2d_forward(q, ops::convolution{}, 2, to, x, x, {});
  conv2d_input_gradient(q, ops::convolution{}, 2, y, from, x, {});
  conv2d_weight_gradient(q, ops::convolution{}, 2, y, y, from, x);
  const ops::channel_norm<T> norm{x, x, 1, 1e-5, x, x};
  channel_statistics(q, from, y);
  channel_statistics_backward(q, to, from, from, x, x);
  channel_statistics_update(q, 2, 2, 0.1, y, y, x);
  normalized_product_forward(q, to, y, from, norm, x, ops::normalized_product_memory<T>{});
  normalized_product_backward(q, ops::normalized_product_gradients<T>{}, from, from, x, x, from, norm, x, y);
  normalized_conv2d_forward(q, ops::convolution{}, 2, to, y, x, norm, x, y, y);
  normalized_conv2d_backward(q, ops::convolution{}, 2, ops::normalized_conv2d_gradients<T>{}, from, x, norm, x, y, y);
  max_pool2d_forward(q, ops::window{}, 2, 2, y, x);
  max_pool2d_backward(q, ops::window{}, 2, 2, y, x, x);
  avg_pool2d_forward(q, ops::window{}, ops::mean_of::window, 2, 2, y, x);
  avg_pool2d_backward(q, ops::window{}, ops::mean_of::window, 2, 2, y, x);
  softmax_cross_entropy(q, loss, y, from, i);
  softmax_cross_entropy(q, loss, y, from, i, ops::cross_entropy_options<T>{});
  soft_cross_entropy(q, loss, y, from, x, x, 0.1);
  mean_of_terms(q, loss, y, 2, x, x, detail::logit_error{}, detail::logit_error_slope{});
  bce_with_logits(q, loss, y, 2, x, x, x, 1);
  mean_of_terms(q, loss, y, 2, x, x, detail::squared_error{}, detail::squared_error_slope{});
  mean_of_terms(q, loss, y, 2, x, x, detail::absolute_error{}, detail::absolute_error_slope{});
  mean_of_terms(q, loss, y, 2, x, x, detail::smooth_error<T>{1}, detail::smooth_error_slope<T>{1});
  squared_norm(q, loss, x, 2);
  checksum(q, y, x, 2);
  mean_factor(q, loss, 1.0, 2, x, 4);
  clip(q, loss, loss, 1.0, 1.0, loss);
  sgd(q, 2, y, y, x, {});
  adam(q, 2, y, y, y, x, {});
}
template void use(cuda::queue&, float*, const float*, double*, const std::int32_t*);
template void use(cuda::queue&, double*, const double*, double*, const std::int32_t*);
