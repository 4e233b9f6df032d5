// SPDX-License-Identifier: MIT
// The ops of apart.hpp's device, found by their first argument: the cpu's ops, run later.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <cairn/core/bfloat16.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>
#include <cairn/train/step/judged_by_losses.hpp>

#include "../ops/every_op.hpp"
#include "apart.hpp"

namespace apart {

// An op's argument, with addresses translated to those that the op may use when it runs.
template <class T>
T at(const T& value) {
  return value;
}
template <class T>
T* at(T* known) {
  return address_book::all().bytes_of(known);
}
template <class T>
cairn::ops::matrix<T> at(cairn::ops::matrix<T> m) {
  m.data = at(m.data);
  return m;
}
template <class T>
cairn::ops::epilogue<T> at(cairn::ops::epilogue<T> e) {
  e.bias = at(e.bias);
  e.addend = at(e.addend);
  e.mask = at(e.mask);
  e.row_sums = at(e.row_sums);
  return e;
}
template <class T>
cairn::ops::cross_entropy_options<T> at(cairn::ops::cross_entropy_options<T> o) {
  o.class_weights = at(o.class_weights);
  o.gradient_scale = at(o.gradient_scale);
  return o;
}
template <class T>
cairn::ops::sgd_coefficients<T> at(cairn::ops::sgd_coefficients<T> c) {
  c.factor = at(c.factor);
  c.decision.checked = at(c.decision.checked);
  return c;
}
template <class T>
cairn::ops::adam_coefficients<T> at(cairn::ops::adam_coefficients<T> c) {
  c.factor = at(c.factor);
  c.decision.checked = at(c.decision.checked);
  return c;
}
inline cairn::ops::gradients_to_check at(cairn::ops::gradients_to_check g) {
  g.squares = at(g.squares);
  g.mean = at(g.mean);
  g.factor = at(g.factor);
  g.state = at(g.state);
  return g;
}
template <class T>
cairn::detail::times<T> at(cairn::detail::times<T> f) {
  return {at(f.factor)};
}
inline cairn::detail::sum_of_heads at(const cairn::detail::sum_of_heads& f) { return {at(f.numbers), at(f.weights), f.count}; }

template <class T>
cairn::ops::channel_norm<T> at(cairn::ops::channel_norm<T> n) {
  n.mean = at(n.mean);
  n.variance = at(n.variance);
  n.weight = at(n.weight);
  n.bias = at(n.bias);
  return n;
}
template <class T>
cairn::ops::running_statistics<T> at(cairn::ops::running_statistics<T> r) {
  return {r.momentum, at(r.mean), at(r.variance)};
}
template <class T>
cairn::ops::normalized_product_memory<T> at(cairn::ops::normalized_product_memory<T> m) {
  return {at(m.weight), at(m.scales), at(m.partial)};
}
template <class T>
cairn::ops::normalized_product_gradients<T> at(cairn::ops::normalized_product_gradients<T> g) {
  return {at(g.x), at(g.addend), at(g.statistics), at(g.norm_weight), at(g.norm_bias), at(g.weight)};
}
template <class T>
cairn::ops::normalized_conv2d_gradients<T> at(cairn::ops::normalized_conv2d_gradients<T> g) {
  return {at(g.x), at(g.statistics), at(g.norm_weight), at(g.norm_bias), at(g.weight)};
}

// Each op runs the cpu's op later, with its arguments kept by value.
#define APART_OP(name)                                                                                                           \
  template <class... Given>                                                                                                      \
  void name(queue& q, Given... given) {                                                                                          \
    q.put([=](cairn::cpu::queue& processor) { cairn::ops::name(processor, at(given)...); });                                     \
  }
APART_OP(copy)
APART_OP(add)
APART_OP(dropout)
APART_OP(layer_norm_forward)
APART_OP(layer_norm_backward)
APART_OP(rms_norm_forward)
APART_OP(rms_norm_backward)
APART_OP(standardize)
APART_OP(standardize_backward)
APART_OP(softmax_forward)
APART_OP(softmax_backward)
APART_OP(batch_norm_forward)
APART_OP(batch_norm_update)
APART_OP(batch_norm_evaluate)
APART_OP(batch_norm_backward)
APART_OP(batch_norm_sums)
APART_OP(batch_norm_statistics)
APART_OP(batch_norm_gradient_sums)
APART_OP(batch_norm_input_gradient)
APART_OP(channel_statistics)
APART_OP(channel_statistics_backward)
APART_OP(channel_statistics_update)
APART_OP(normalized_conv2d_forward)
APART_OP(group_norm_forward)
APART_OP(group_norm_backward)
APART_OP(embedding_forward)
APART_OP(embedding_backward)
APART_OP(conv2d_forward)
APART_OP(conv2d_input_gradient)
APART_OP(conv2d_weight_gradient)
APART_OP(max_pool2d_forward)
APART_OP(max_pool2d_backward)
APART_OP(avg_pool2d_forward)
APART_OP(avg_pool2d_backward)
APART_OP(bce_with_logits)
APART_OP(mean_of_terms)
APART_OP(squared_norm)
APART_OP(clip)
APART_OP(check_gradients)
APART_OP(clip_checked)
APART_OP(mean_factor)
APART_OP(convert)
APART_OP(checksum)
APART_OP(sgd)
APART_OP(adam)
#undef APART_OP

template <class T>
void matmul(queue& q, cairn::ops::matrix<T> c, std::type_identity_t<cairn::ops::matrix<const T>> a,
            std::type_identity_t<cairn::ops::matrix<const T>> b, cairn::ops::transpose form,
            const std::type_identity_t<cairn::ops::epilogue<T>>& then = {}) {
  q.put([=](cairn::cpu::queue& processor) { cairn::ops::matmul(processor, at(c), at(a), at(b), form, at(then)); });
}
template <cairn::detail::narrow_element T>
void matmul(queue& q, cairn::ops::matrix<cairn::accumulated<T>> c, cairn::ops::matrix<const T> a,
            std::type_identity_t<cairn::ops::matrix<const T>> b, cairn::ops::transpose form,
            const std::type_identity_t<cairn::ops::epilogue<T>>& then = {}) {
  q.put([=](cairn::cpu::queue& processor) { cairn::ops::matmul(processor, at(c), at(a), at(b), form, at(then)); });
}
template <class T>
void copy_matrix(queue& q, cairn::ops::matrix<T> to, std::type_identity_t<cairn::ops::matrix<const T>> from) {
  q.put([=](cairn::cpu::queue& processor) { cairn::ops::copy_matrix(processor, at(to), at(from)); });
}
template <class T>
void add_matrix(queue& q, cairn::ops::matrix<T> sum, std::type_identity_t<cairn::ops::matrix<const T>> a,
                std::type_identity_t<cairn::ops::matrix<const T>> b) {
  q.put([=](cairn::cpu::queue& processor) { cairn::ops::add_matrix(processor, at(sum), at(a), at(b)); });
}
template <class T, class... Given>
void normalized_product_forward(queue& q, cairn::ops::matrix<T> h, cairn::accumulated<T>* statistics, Given... given) {
  q.put([=](cairn::cpu::queue& processor) {
    cairn::ops::normalized_product_forward(processor, at(h), at(statistics), at(given)...);
  });
}
template <class T, class... Given>
void normalized_product_backward(queue& q, const cairn::ops::normalized_product_gradients<T>& gradients,
                                 std::type_identity_t<cairn::ops::matrix<const T>> h_gradient,
                                 std::type_identity_t<cairn::ops::matrix<const T>> h, Given... given) {
  q.put([=](cairn::cpu::queue& processor) {
    cairn::ops::normalized_product_backward(processor, at(gradients), at(h_gradient), at(h), at(given)...);
  });
}
template <class T, class... Given>
void normalized_conv2d_backward(queue& q, const cairn::ops::convolution& how, std::size_t samples,
                                const cairn::ops::normalized_conv2d_gradients<T>& gradients, Given... given) {
  q.put([=](cairn::cpu::queue& processor) {
    cairn::ops::normalized_conv2d_backward(processor, how, samples, at(gradients), at(given)...);
  });
}
template <class T, class Target>
void softmax_cross_entropy(queue& q, double* loss, T* gradient, std::type_identity_t<cairn::ops::matrix<const T>> logits,
                           const Target* targets) {
  q.put([=](cairn::cpu::queue& processor) {
    cairn::ops::softmax_cross_entropy(processor, at(loss), at(gradient), at(logits), at(targets));
  });
}
template <class T, class Target>
void softmax_cross_entropy(queue& q, double* loss, T* gradient, std::type_identity_t<cairn::ops::matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cairn::ops::cross_entropy_options<T>>& options) {
  q.put([=](cairn::cpu::queue& processor) {
    cairn::ops::softmax_cross_entropy(processor, at(loss), at(gradient), at(logits), at(targets), at(options));
  });
}
template <class T>
void soft_cross_entropy(queue& q, double* loss, T* gradient, std::type_identity_t<cairn::ops::matrix<const T>> logits,
                        const cairn::accumulated<T>* targets, const cairn::accumulated<T>* class_weights, double label_smoothing,
                        const double* gradient_scale = nullptr) {
  q.put([=](cairn::cpu::queue& processor) {
    cairn::ops::soft_cross_entropy(processor, at(loss), at(gradient), at(logits), at(targets), at(class_weights), label_smoothing,
                                   at(gradient_scale));
  });
}
template <class F, class T, class... From>
void elementwise(queue& q, std::size_t count, const F& f, T* to, const From*... from) {
  q.put([=](cairn::cpu::queue& processor) { cairn::ops::elementwise(processor, count, at(f), at(to), at(from)...); });
}
template <class T>
void upload(queue& q, std::size_t count, T* to, const T* from) {
  q.put([=](cairn::cpu::queue&) {
    std::memcpy(at(to), from, count * sizeof(T));
    if constexpr (std::is_same_v<T, std::byte>) // a staging slot; the source of other uploads has an owner
      std::memset(const_cast<T*>(from), 0xFF, count * sizeof(T));
  });
}
template <class T>
void download(queue& q, std::size_t count, T* to, const T* from) {
  std::memset(to, 0xFF, count * sizeof(T)); // NaN
  q.put([=](cairn::cpu::queue&) { std::memcpy(to, at(from), count * sizeof(T)); });
}

static_assert(testing::has_every_op<queue, float> && testing::has_every_op<queue, double> &&
              testing::has_every_op<queue, cairn::bfloat16>);

} // namespace apart
