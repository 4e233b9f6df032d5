// SPDX-License-Identifier: MIT
// Every kernel that Cairn has for GPUs, for every type of elements: tests/checks/cuda_kernels.py reads what ptxas says of them.
#include <cstdint>

#include <cairn/comm/nccl/ordered_sum.cuh>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
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
  standardize(q, 2, 2, y, x, x, x);
  standardize_backward(q, 2, 2, y, x, x);
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
  attention_forward(q, ops::attention_extents{}, y, y, ops::attention_operands<const T>{});
  attention_backward(q, ops::attention_extents{}, ops::attention_operands<T>{}, x, x, x, ops::attention_operands<const T>{});
  const ops::attention_extras<T> extras{};
  attention_forward(q, ops::attention_extents{}, y, y, ops::attention_operands<const T>{}, extras);
  attention_backward(q, ops::attention_extents{}, ops::attention_operands<T>{}, x, x, x, ops::attention_operands<const T>{},
                     extras);
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
  check_gradients(q, nullptr, ops::gradients_to_check{}, 1.0, detail::loss_scale_rule{});
  clip_checked(q, loss, loss, 1.0, nullptr);
  sgd(q, 2, y, y, x, {});
  adam(q, 2, y, y, y, x, {});
  detail::launch_each(q, "ordered_sum", 2, detail::ordered_sum<T>{y, y, x, 1, 16, 0, 2});
}
// The ops that take elements of 16 bits.
template <class T>
void use_sixteen_bits(cuda::queue& q, T* y, const T* x, float* sums, double* loss, const std::int32_t* i) {
  const ops::matrix<T> to{y, 2, 2};
  const ops::matrix<const T> from{x, 2, 2};
  const float* const wide = sums;
  convert(q, 2, y, wide);
  convert(q, 2, sums, x);
  add(q, 2, y, x, x);
  add_matrix(q, to, from, from);
  matmul(q, to, from, from, ops::transpose::second, {});
  matmul(q, ops::matrix<float>{sums, 2, 2}, from, from, ops::transpose::first, {});
  elementwise(q, 2, detail::relu_value{}, y, x);
  elementwise(q, 2, detail::relu_slope{}, y, x, x);
  elementwise(q, 2, detail::gelu_value{}, y, x);
  elementwise(q, 2, detail::gelu_slope{}, y, x, x);
  dropout(q, 2, y, x, types::random_key{}, ops::dropout_rate{});
  layer_norm_forward(q, 2, 2, 1e-5, y, sums, x, x, x);
  layer_norm_backward(q, 2, 2, y, sums, sums, x, x, wide, x);
  rms_norm_forward(q, 2, 2, 1e-5, y, sums, x, x);
  rms_norm_backward(q, 2, 2, y, sums, x, x, wide, x);
  standardize(q, 2, 2, y, x, wide, wide);
  standardize_backward(q, 2, 2, y, x, wide);
  softmax_forward(q, 2, 2, y, x);
  softmax_backward(q, 2, 2, y, x, x);
  embedding_forward(q, 2, 2, 2, y, x, i);
  embedding_backward(q, 2, 2, 2, sums, x, i);
  softmax_cross_entropy(q, loss, y, from, i);
  softmax_cross_entropy(q, loss, y, from, i, ops::cross_entropy_options<T>{});
  mean_of_terms(q, loss, y, 2, x, wide, detail::squared_error{}, detail::squared_error_slope{});
  add_positions(q, 2, 2, y, x, x);
  positions_gradient(q, 2, 2, 2, sums, x);
  add_sinusoids(q, 2, 2, 2, y, x);
  rotate(q, ops::rotation{}, false, 2, y, x);
  const ops::attention_operands<const T> in{};
  const ops::attention_operands<T> gradients{};
  attention_forward(q, ops::attention_extents{}, y, sums, in);
  attention_backward(q, ops::attention_extents{}, gradients, x, x, wide, in);
  const ops::attention_extras<T> extras{};
  attention_forward(q, ops::attention_extents{}, y, sums, in, extras);
  attention_backward(q, ops::attention_extents{}, gradients, x, x, wide, in, extras);
  conv2d_forward(q, ops::convolution{}, 2, to, x, x, {});
  conv2d_input_gradient(q, ops::convolution{}, 2, y, from, x, {});
  conv2d_weight_gradient(q, ops::convolution{}, 2, sums, sums, from, x);
  max_pool2d_forward(q, ops::window{}, 2, 2, y, x);
  max_pool2d_backward(q, ops::window{}, 2, 2, y, x, x);
  avg_pool2d_forward(q, ops::window{}, ops::mean_of::window, 2, 2, y, x);
  avg_pool2d_backward(q, ops::window{}, ops::mean_of::window, 2, 2, y, x);
  batch_norm_forward(q, 2, 2, 1e-5, y, sums, x, x, x);
  batch_norm_evaluate(q, 2, 2, 1e-5, y, x, wide, wide, x, x);
  batch_norm_backward(q, 2, 2, 1e-5, y, sums, sums, x, x, wide, x);
  batch_norm_sums(q, 2, 2, loss, x);
  batch_norm_gradient_sums(q, 2, 2, 1e-5, loss, sums, sums, x, x, wide);
  batch_norm_input_gradient(q, 2, 2, 1e-5, y, x, x, wide, x, loss);
  group_norm_forward(q, ops::channel_groups{}, 1e-5, y, sums, x, x, x);
  group_norm_backward(q, ops::channel_groups{}, y, sums, sums, x, x, wide, x);
  channel_statistics(q, from, sums);
  channel_statistics_backward(q, to, from, from, wide, wide);
  const ops::channel_norm<T> norm{wide, wide, 1, 1e-5, x, x};
  normalized_product_forward(q, to, sums, from, norm, x, ops::normalized_product_memory<T>{});
  normalized_product_backward(q, ops::normalized_product_gradients<T>{}, from, from, wide, wide, from, norm, x, sums);
  normalized_conv2d_forward(q, ops::convolution{}, 2, to, sums, x, norm, x, sums, sums);
  normalized_conv2d_backward(q, ops::convolution{}, 2, ops::normalized_conv2d_gradients<T>{}, from, x, norm, x, sums, sums);
  soft_cross_entropy(q, loss, y, from, wide, wide, 0.1);
  bce_with_logits(q, loss, y, 2, x, wide, wide, 1);
}
// For the two architectures between which their code differs: tiles of 16 bits are of tensor cores from sm_80 on.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 750 || __CUDA_ARCH__ == 900
template void use_sixteen_bits(cuda::queue&, bfloat16*, const bfloat16*, float*, double*, const std::int32_t*);
template void use_sixteen_bits(cuda::queue&, float16*, const float16*, float*, double*, const std::int32_t*);
#endif
template void use(cuda::queue&, float*, const float*, double*, const std::int32_t*);
template void use(cuda::queue&, double*, const double*, double*, const std::int32_t*);
