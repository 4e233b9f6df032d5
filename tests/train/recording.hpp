// SPDX-License-Identifier: MIT
// The ops of the device in recording_device.hpp. From its record, order.hpp proves that the work would also be right if queues
// really ran at the same time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>
#include <cairn/train/ranks/step_facts.hpp>

#include "../ops/every_op.hpp"
#include "recording_dense.hpp"
#include "recording_device.hpp"
#include "recording_images.hpp"
#include "recording_norms.hpp"

namespace recording {

// The ops of this device, found by their first argument. Each records what it touches, then does its work.
template <class T>
void matmul(queue& q, cairn::ops::matrix<T> c, std::type_identity_t<cairn::ops::matrix<const T>> a,
            std::type_identity_t<cairn::ops::matrix<const T>> b, cairn::ops::transpose form,
            const std::type_identity_t<cairn::ops::epilogue<T>>& then = {}) {
  q.put("matmul", {span_of(c), span_of(a), span_of(b), span_of(then.bias, c.columns), span_of(then.addend), span_of(then.mask),
                   span_of(then.row_sums, c.rows)});
  cairn::ops::matmul(q.real(), c, a, b, form, then);
}
template <class T, class F, class... From>
void elementwise(queue& q, std::size_t count, const F& f, T* to, const From*... from) {
  q.put("elementwise", {span_of(to, count), span_of(from, count)...});
  cairn::ops::elementwise(q.real(), count, f, to, from...);
}
template <class T>
void add(queue& q, std::size_t count, T* sum, const std::type_identity_t<T>* a, const std::type_identity_t<T>* b) {
  q.put("add", {span_of(sum, count), span_of(a, count), span_of(b, count)});
  cairn::ops::add(q.real(), count, sum, a, b);
}
template <class T>
void copy(queue& q, std::size_t count, T* to, const T* from) {
  if (to != from) q.put("copy", {span_of(to, count), span_of(from, count)});
  cairn::ops::copy(q.real(), count, to, from);
}
template <class T>
void upload(queue& q, std::size_t count, T* to, const T* from) {
  q.put("upload", {span_of(to, count), span_of(from, count)});
  cairn::ops::upload(q.real(), count, to, from);
}
template <class T>
void download(queue& q, std::size_t count, T* to, const T* from) {
  q.put("download", {span_of(to, count), span_of(from, count)});
  cairn::ops::download(q.real(), count, to, from);
}
template <class T>
void add_matrix(queue& q, cairn::ops::matrix<T> sum, std::type_identity_t<cairn::ops::matrix<const T>> a,
                std::type_identity_t<cairn::ops::matrix<const T>> b) {
  q.put("add_matrix", {span_of(sum), span_of(a), span_of(b)});
  cairn::ops::add_matrix(q.real(), sum, a, b);
}
template <class T>
void copy_matrix(queue& q, cairn::ops::matrix<T> to, std::type_identity_t<cairn::ops::matrix<const T>> from) {
  if (to.data != from.data) q.put("copy_matrix", {span_of(to), span_of(from)});
  cairn::ops::copy_matrix(q.real(), to, from);
}
template <class T, class... Rest>
void dropout(queue& q, std::size_t count, T* output, const T* input, const Rest&... rest) {
  q.put("dropout", {span_of(output, count), span_of(input, count)});
  cairn::ops::dropout(q.real(), count, output, input, rest...);
}
template <class T>
void softmax_forward(queue& q, std::size_t rows, std::size_t columns, T* output, const T* input) {
  q.put("softmax_forward", {span_of(output, rows * columns), span_of(input, rows * columns)});
  cairn::ops::softmax_forward(q.real(), rows, columns, output, input);
}
template <class T>
void softmax_backward(queue& q, std::size_t rows, std::size_t columns, T* input_gradient, const T* output_gradient,
                      const T* output) {
  const std::size_t count = rows * columns;
  q.put("softmax_backward", {span_of(input_gradient, count), span_of(output_gradient, count), span_of(output, count)});
  cairn::ops::softmax_backward(q.real(), rows, columns, input_gradient, output_gradient, output);
}
template <class T>
void attention_forward(queue& q, const cairn::ops::attention_extents& of, T* output, T* log_sums,
                       const cairn::ops::attention_operands<const T>& in) {
  const std::size_t rows = of.samples * of.queries;
  q.put("attention_forward", {span_of(output, rows * of.heads * of.width), span_of(log_sums, rows * of.heads),
                              span_of(in.query, rows * in.query_stride)});
  cairn::ops::attention_forward(q.real(), of, output, log_sums, in);
}
template <class T>
void attention_backward(queue& q, const cairn::ops::attention_extents& of, const cairn::ops::attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const T* log_sums,
                        const cairn::ops::attention_operands<const T>& in) {
  const std::size_t rows = of.samples * of.queries, count = rows * of.heads * of.width;
  q.put("attention_backward",
        {span_of(gradients.query, rows * in.query_stride), span_of(output_gradient, count), span_of(output, count),
         span_of(log_sums, rows * of.heads), span_of(in.query, rows * in.query_stride)});
  cairn::ops::attention_backward(q.real(), of, gradients, output_gradient, output, log_sums, in);
}
template <class T>
std::size_t elements_of_added(const cairn::ops::attention_extents& of, const cairn::ops::attention_extras<T>& extras) {
  return (of.samples - 1) * extras.added_sample_stride + (of.heads - 1) * extras.added_head_stride + of.queries * of.keys;
}
template <class T>
void attention_forward(queue& q, const cairn::ops::attention_extents& of, T* output, T* log_sums,
                       const cairn::ops::attention_operands<const T>& in, const cairn::ops::attention_extras<T>& extras) {
  const std::size_t rows = of.samples * of.queries;
  q.put("attention_forward", {span_of(output, rows * of.heads * of.width), span_of(log_sums, rows * of.heads),
                              span_of(in.query, rows * in.query_stride), span_of(extras.key_lengths, of.samples),
                              span_of(extras.added, elements_of_added(of, extras))});
  cairn::ops::attention_forward(q.real(), of, output, log_sums, in, extras);
}
template <class T>
void attention_backward(queue& q, const cairn::ops::attention_extents& of, const cairn::ops::attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const T* log_sums,
                        const cairn::ops::attention_operands<const T>& in, const cairn::ops::attention_extras<T>& extras) {
  const std::size_t rows = of.samples * of.queries, count = rows * of.heads * of.width;
  q.put("attention_backward",
        {span_of(gradients.query, rows * in.query_stride), span_of(output_gradient, count), span_of(output, count),
         span_of(log_sums, rows * of.heads), span_of(in.query, rows * in.query_stride), span_of(extras.key_lengths, of.samples),
         span_of(extras.added, elements_of_added(of, extras))});
  cairn::ops::attention_backward(q.real(), of, gradients, output_gradient, output, log_sums, in, extras);
}
template <class T>
void stored_attention_forward(queue& q, const cairn::ops::attention_extents& of, T* output, T* probabilities,
                              const cairn::ops::attention_operands<const T>& in) {
  const std::size_t rows = of.samples * of.queries;
  q.put("stored_attention_forward",
        {span_of(output, rows * of.heads * of.width), span_of(probabilities, rows * of.heads * of.keys),
         span_of(in.query, rows * in.query_stride)});
  cairn::ops::stored_attention_forward(q.real(), of, output, probabilities, in);
}
template <class T>
void stored_attention_backward(queue& q, const cairn::ops::attention_extents& of,
                               const cairn::ops::attention_operands<T>& gradients, const T* output_gradient, const T* output,
                               const T* probabilities, const cairn::ops::attention_operands<const T>& in) {
  const std::size_t rows = of.samples * of.queries, count = rows * of.heads * of.width;
  q.put("stored_attention_backward",
        {span_of(gradients.query, rows * in.query_stride), span_of(output_gradient, count), span_of(output, count),
         span_of(probabilities, rows * of.heads * of.keys), span_of(in.query, rows * in.query_stride)});
  cairn::ops::stored_attention_backward(q.real(), of, gradients, output_gradient, output, probabilities, in);
}
template <class T>
void embedding_forward(queue& q, std::size_t count, std::size_t vocabulary, std::size_t width, T* output, const T* weight,
                       const std::int32_t* indices) {
  q.put("embedding_forward", {span_of(output, count * width), span_of(weight, vocabulary * width), span_of(indices, count)});
  cairn::ops::embedding_forward(q.real(), count, vocabulary, width, output, weight, indices);
}
template <class T>
void embedding_backward(queue& q, std::size_t count, std::size_t vocabulary, std::size_t width,
                        cairn::accumulated<T>* weight_gradient, const T* output_gradient, const std::int32_t* indices) {
  q.put("embedding_backward",
        {span_of(weight_gradient, vocabulary * width), span_of(output_gradient, count * width), span_of(indices, count)});
  cairn::ops::embedding_backward(q.real(), count, vocabulary, width, weight_gradient, output_gradient, indices);
}
// The options are the last argument, and may be left out.
template <class T, class Target, class... Options>
void softmax_cross_entropy(queue& q, double* loss, T* gradient, cairn::ops::matrix<const T> logits, const Target* targets,
                           const Options&... options) {
  q.put("softmax_cross_entropy",
        {span_of(gradient, logits.rows * logits.columns), span_of(logits), span_of(targets, logits.rows)});
  cairn::ops::softmax_cross_entropy(q.real(), loss, gradient, logits, targets, options...);
}
template <class T>
void soft_cross_entropy(queue& q, double* loss, T* gradient, cairn::ops::matrix<const T> logits, const T* targets,
                        const T* class_weights, double label_smoothing, const double* gradient_scale = nullptr) {
  const std::size_t count = logits.rows * logits.columns;
  q.put("soft_cross_entropy", {span_of(gradient, count), span_of(logits), span_of(targets, count)});
  cairn::ops::soft_cross_entropy(q.real(), loss, gradient, logits, targets, class_weights, label_smoothing, gradient_scale);
}
template <class T, class Term, class Derivative>
void mean_of_terms(queue& q, double* loss, T* gradient, std::size_t count, const T* output, const T* targets, const Term& term,
                   const Derivative& derivative, const double* gradient_scale = nullptr) {
  q.put("mean_of_terms", {span_of(gradient, count), span_of(output, count), span_of(targets, count)});
  cairn::ops::mean_of_terms(q.real(), loss, gradient, count, output, targets, term, derivative, gradient_scale);
}
template <class T>
void bce_with_logits(queue& q, double* loss, T* gradient, std::size_t count, const T* output, const T* targets, const T* weights,
                     std::size_t columns, const double* gradient_scale = nullptr) {
  q.put("bce_with_logits", {span_of(gradient, count), span_of(output, count), span_of(targets, count)});
  cairn::ops::bce_with_logits(q.real(), loss, gradient, count, output, targets, weights, columns, gradient_scale);
}
template <class T>
void squared_norm(queue& q, double* sum, const T* x, std::size_t count) {
  q.put("squared_norm", {span_of(x, count)});
  cairn::ops::squared_norm(q.real(), sum, x, count);
}
template <class T>
void checksum(queue& q, T* four, const T* x, std::size_t count) {
  q.put("checksum", {span_of(four, 4), span_of(x, count)});
  cairn::ops::checksum(q.real(), four, x, count);
}
inline void clip(queue& q, double* factor, const double* squares, double scale, double max_norm, const double* mean) {
  cairn::ops::clip(q.real(), factor, squares, scale, max_norm, mean);
}
inline void check_gradients(queue& q, cairn::ops::checked_gradients* checked, const cairn::ops::gradients_to_check& g,
                            double number, const cairn::detail::loss_scale_rule& rule) {
  cairn::ops::check_gradients(q.real(), checked, g, number, rule);
}
inline void clip_checked(queue& q, double* factor, const double* squares, double max_norm,
                         const cairn::ops::checked_gradients* checked) {
  cairn::ops::clip_checked(q.real(), factor, squares, max_norm, checked);
}
template <class T>
void mean_factor(queue& q, double* factor, double times, std::size_t count, const T* words, std::size_t stride) {
  cairn::ops::mean_factor(q.real(), factor, times, count, words, stride);
}
template <class T, class Coefficients>
void sgd(queue& q, std::size_t count, T* parameters, T* velocity, const T* gradients, const Coefficients& c) {
  q.put("sgd", {span_of(parameters, count), span_of(velocity, count), span_of(gradients, count)});
  cairn::ops::sgd(q.real(), count, parameters, velocity, gradients, c);
}

template <class T, class Coefficients>
void adam(queue& q, std::size_t count, T* parameters, T* mean, T* square, const T* gradients, const Coefficients& c) {
  q.put("adam", {span_of(parameters, count), span_of(mean, count), span_of(square, count), span_of(gradients, count)});
  cairn::ops::adam(q.real(), count, parameters, mean, square, gradients, c);
}

static_assert(cairn::detail::attention_runs_on<queue, float> && cairn::detail::attention_runs_on<queue, double>);
static_assert(cairn::detail::attention_with_extras_runs_on<queue, float>);
static_assert(cairn::detail::stored_attention_runs_on<queue, float> && cairn::detail::stored_attention_runs_on<queue, double>);
static_assert(testing::has_every_op<queue, float> && testing::has_every_op<queue, double>);

// One of two ranks with the same gradients, with a queue of its own. Its type says what it forgets, so that a test can show that
// the proof finds it.
enum class forgets : unsigned char { nothing, to_wait_for_the_gradients, to_let_the_update_wait };

template <forgets Forgets>
class communicator {
public:
  static constexpr std::string_view name = "recording";

  struct ticket {
    bool open = false;
    event done{};
    void wait(queue& q) {
      if (std::exchange(open, false) && Forgets != forgets::to_let_the_update_wait) q.wait(done);
    }
  };

  int rank() const { return 0; }
  int size() const { return 2; }

  template <class T>
  ticket all_reduce(queue& compute, std::span<T> span) {
    if (own_ == nullptr) own_ = std::make_unique<queue>(compute.log());
    const event ready = compute.record();
    if (Forgets != forgets::to_wait_for_the_gradients) own_->wait(ready);
    own_->put("all_reduce", {span_of(span.data(), span.size())});
    copy_facts(span);
    for (T& x : span) x += x;
    return {true, own_->record()};
  }
  ticket broadcast(queue& compute, std::span<std::byte>, int) { return {true, compute.record()}; }
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) { // the other rank has the same
    std::copy(own.begin(), own.end(), std::copy(own.begin(), own.end(), all.begin()));
  }

private:
  // The other rank is like this one, so it has the same step facts. Their form shows where they are: whole numbers, then zeros.
  template <class T>
  static void copy_facts(std::span<T> span) {
    constexpr std::size_t each = cairn::detail::facts_of_ranks<T>::each;
    if (span.size() < 2 * each) return;
    for (std::size_t i = 0; i < each; ++i)
      if (span[i] < 0 || span[i] != std::floor(span[i]) || span[each + i] != 0) return;
    std::copy_n(span.begin(), each, span.begin() + each);
  }

  std::unique_ptr<queue> own_;
};

} // namespace recording
