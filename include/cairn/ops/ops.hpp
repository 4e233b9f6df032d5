// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/adam/adam.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/checksum/checksum.hpp>
#include <cairn/ops/clip/clip.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/embedding/embedding.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>
#include <cairn/ops/mean_factor/mean_factor.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>
#include <cairn/ops/sgd/sgd.hpp>
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn {

// The ops that a device must provide to run every layer, loss and optimizer of Cairn, and those of users that are made of its
// ops, on elements of type T: an overload of each op whose first parameter is the device's queue. The declaration of an op, in
// ops/OP/OP.hpp, says what it computes.
//
// A device's tests assert ops_for<its queue, float>; the compiler then names the call that is missing. A trainer reports which of
// the four groups below (ops that move or convert elements, for layers, for losses, for updates) is not complete.
//
// An op need not be a template, and its bits need not be those of another device.
namespace detail {

template <class Queue, class T>
concept moves_elements = requires(Queue& queue, std::size_t count, T* y, const T* x, matrix<T> to, matrix<const T> from) {
  upload(queue, count, y, x);
  download(queue, count, y, x);
  copy(queue, count, y, x);
  copy_matrix(queue, to, from);
  add(queue, count, y, x, x);
  add_matrix(queue, to, from, from);
};

// Any function of two elements.
struct sum_of_two {
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

template <class Queue, class T>
concept computes_layers =
    requires(Queue& queue, std::size_t count, T* y, const T* x, matrix<T> to, matrix<const T> from, const epilogue<T>& then,
             const random_key& key, const dropout_rate& rate, accumulated<T>* sum, const accumulated<T>* sums, double* of_ranks,
             const std::int32_t* indices, const convolution& how) {
      matmul(queue, to, from, from, transpose::second, then);
      elementwise(queue, count, sum_of_two{}, y, x, x);
      matmul(queue, matrix(sum, count, count), from, from, transpose::first, then);
      dropout(queue, count, y, x, key, rate);
      layer_norm_forward(queue, count, count, 1e-5, y, sum, x, x, x);
      layer_norm_backward(queue, count, count, y, sum, sum, x, x, sums, x);
      batch_norm_forward(queue, count, count, 1e-5, y, sum, x, x, x);
      batch_norm_update(queue, count, count, 0.1, sum, sum, sums);
      batch_norm_evaluate(queue, count, count, 1e-5, y, x, sums, sums, x, x);
      batch_norm_backward(queue, count, count, 1e-5, y, sum, sum, x, x, sums, x);
      batch_norm_sums(queue, count, count, of_ranks, x);
      batch_norm_statistics(queue, count, sum, of_ranks);
      batch_norm_update(queue, count, 0.1, sum, sum, sums, of_ranks);
      batch_norm_gradient_sums(queue, count, count, 1e-5, of_ranks, sum, sum, x, x, sums);
      batch_norm_input_gradient(queue, count, count, 1e-5, y, x, x, sums, x, of_ranks);
      group_norm_forward(queue, channel_groups{}, 1e-5, y, sum, x, x, x);
      group_norm_backward(queue, channel_groups{}, y, sum, sum, x, x, sums, x);
      embedding_forward(queue, count, count, count, y, x, indices);
      embedding_backward(queue, count, count, count, sum, x, indices);
      conv2d_forward(queue, how, count, to, x, x, then);
      conv2d_input_gradient(queue, how, count, y, from, x, then);
      conv2d_weight_gradient(queue, how, count, sum, sum, from, x);
      max_pool2d_forward(queue, how.over, count, count, y, x);
      max_pool2d_backward(queue, how.over, count, count, y, x, x);
      avg_pool2d_forward(queue, how.over, mean_of::window, count, count, y, x);
      avg_pool2d_backward(queue, how.over, mean_of::window, count, count, y, x);
    };

template <class Queue, class T>
concept computes_losses =
    requires(Queue& queue, std::size_t count, T* y, const T* x, matrix<const T> from, double* loss, const accumulated<T>* targets,
             const std::int32_t* labels, const cross_entropy_options<T>& options) {
      softmax_cross_entropy(queue, loss, y, from, labels);
      softmax_cross_entropy(queue, loss, y, from, labels, options);
      soft_cross_entropy(queue, loss, y, from, targets, targets, 0.0);
      bce_with_logits(queue, loss, y, count, x, targets, targets, count);
      mean_of_terms(queue, loss, y, count, x, targets, sum_of_two{}, sum_of_two{});
    };

template <class Queue, class T>
concept computes_updates = requires(Queue& queue, std::size_t count, T* y, const T* x, double* sum,
                                    const sgd_coefficients<T>& of_sgd, const adam_coefficients<T>& of_adam) {
  squared_norm(queue, sum, x, count);
  mean_factor(queue, sum, 1.0, count, x, count);
  clip(queue, sum, sum, 1.0, 1.0, sum);
  checksum(queue, y, x, count);
  sgd(queue, count, y, y, x, of_sgd);
  adam(queue, count, y, y, y, x, of_adam);
};

// Required only of 16-bit elements, whose sums are kept in another type.
template <class Queue, class T>
concept converts_elements = !is_narrow<T> || requires(Queue& queue, std::size_t count, T* y, const T* x, accumulated<T>* sum,
                                                      const accumulated<T>* sums) {
  convert(queue, count, y, sums);
  convert(queue, count, sum, x);
};

} // namespace detail

// Updates and sums of gradients have elements of type accumulated<T>.
template <class Queue, class T>
concept ops_for = detail::moves_elements<Queue, T> && detail::converts_elements<Queue, T> && detail::computes_layers<Queue, T> &&
                  detail::computes_losses<Queue, T> && detail::computes_updates<Queue, accumulated<T>> &&
                  detail::moves_elements<Queue, accumulated<T>>;

} // namespace cairn
