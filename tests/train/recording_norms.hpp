// SPDX-License-Identifier: MIT
// The normalizations of the device in recording_device.hpp.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>

#include "recording_device.hpp"

namespace recording {

template <class T>
void layer_norm_forward(queue& q, std::size_t rows, std::size_t features, double eps, T* output, T* statistics, const T* input,
                        const T* weight, const T* bias) {
  q.put("layer_norm_forward", {span_of(output, rows * features), span_of(statistics, 2 * rows), span_of(input, rows * features),
                               span_of(weight, features), span_of(bias, features)});
  cairn::ops::layer_norm_forward(q.real(), rows, features, eps, output, statistics, input, weight, bias);
}
template <class T>
void layer_norm_backward(queue& q, std::size_t rows, std::size_t features, T* input_gradient, T* weight_gradient,
                         T* bias_gradient, const T* output_gradient, const T* input, const T* statistics, const T* weight) {
  const std::size_t count = rows * features;
  q.put("layer_norm_backward",
        {span_of(input_gradient, count), span_of(weight_gradient, features), span_of(bias_gradient, features),
         span_of(output_gradient, count), span_of(input, count), span_of(statistics, 2 * rows), span_of(weight, features)});
  cairn::ops::layer_norm_backward(q.real(), rows, features, input_gradient, weight_gradient, bias_gradient, output_gradient,
                                  input, statistics, weight);
}
template <class T>
void rms_norm_forward(queue& q, std::size_t rows, std::size_t features, double eps, T* output, T* inverses, const T* input,
                      const T* weight) {
  q.put("rms_norm_forward",
        {span_of(output, rows * features), span_of(inverses, rows), span_of(input, rows * features), span_of(weight, features)});
  cairn::ops::rms_norm_forward(q.real(), rows, features, eps, output, inverses, input, weight);
}
template <class T>
void rms_norm_backward(queue& q, std::size_t rows, std::size_t features, T* input_gradient, T* weight_gradient,
                       const T* output_gradient, const T* input, const T* inverses, const T* weight) {
  const std::size_t count = rows * features;
  q.put("rms_norm_backward", {span_of(input_gradient, count), span_of(weight_gradient, features), span_of(output_gradient, count),
                              span_of(input, count), span_of(inverses, rows), span_of(weight, features)});
  cairn::ops::rms_norm_backward(q.real(), rows, features, input_gradient, weight_gradient, output_gradient, input, inverses,
                                weight);
}
template <class T>
void standardize(queue& q, std::size_t rows, std::size_t features, T* output, const T* input, const cairn::accumulated<T>* mean,
                 const cairn::accumulated<T>* deviation) {
  const std::size_t count = rows * features;
  q.put("standardize", {span_of(output, count), span_of(input, count), span_of(mean, features), span_of(deviation, features)});
  cairn::ops::standardize(q.real(), rows, features, output, input, mean, deviation);
}
template <class T>
void standardize_backward(queue& q, std::size_t rows, std::size_t features, T* input_gradient, const T* output_gradient,
                          const cairn::accumulated<T>* deviation) {
  const std::size_t count = rows * features;
  q.put("standardize_backward", {span_of(input_gradient, count), span_of(output_gradient, count), span_of(deviation, features)});
  cairn::ops::standardize_backward(q.real(), rows, features, input_gradient, output_gradient, deviation);
}
template <class T>
void batch_norm_forward(queue& q, std::size_t rows, std::size_t features, double eps, T* output,
                        cairn::accumulated<T>* statistics, const T* input, const T* weight, const T* bias,
                        cairn::ops::activation then, const std::type_identity_t<cairn::ops::running_statistics<T>>& moved) {
  const std::size_t count = rows * features;
  q.put("batch_norm_forward", {span_of(output, count), span_of(statistics, 2 * features), span_of(input, count),
                               span_of(weight, features), span_of(bias, features), span_of(moved.mean, features),
                               span_of(moved.mean == nullptr ? nullptr : moved.variance, features)});
  cairn::ops::batch_norm_forward(q.real(), rows, features, eps, output, statistics, input, weight, bias, then, moved);
}
template <class T>
void batch_norm_evaluate(queue& q, std::size_t rows, std::size_t features, double eps, T* output, const T* input,
                         const cairn::accumulated<T>* mean, const cairn::accumulated<T>* variance, const T* weight, const T* bias,
                         cairn::ops::activation then) {
  const std::size_t count = rows * features;
  q.put("batch_norm_evaluate", {span_of(output, count), span_of(input, count), span_of(mean, features),
                                span_of(variance, features), span_of(weight, features), span_of(bias, features)});
  cairn::ops::batch_norm_evaluate(q.real(), rows, features, eps, output, input, mean, variance, weight, bias, then);
}
template <class T>
void batch_norm_update(queue& q, std::size_t rows, std::size_t features, double momentum, T* running_mean, T* running_variance,
                       const T* statistics) {
  q.put("batch_norm_update",
        {span_of(running_mean, features), span_of(running_variance, features), span_of(statistics, 2 * features)});
  cairn::ops::batch_norm_update(q.real(), rows, features, momentum, running_mean, running_variance, statistics);
}
template <class T>
void batch_norm_backward(queue& q, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                         cairn::accumulated<T>* weight_gradient, cairn::accumulated<T>* bias_gradient, const T* output_gradient,
                         const T* input, const cairn::accumulated<T>* statistics, const T* weight,
                         cairn::ops::activation before) {
  const std::size_t count = rows * features;
  q.put("batch_norm_backward",
        {span_of(input_gradient, count), span_of(weight_gradient, features), span_of(bias_gradient, features),
         span_of(output_gradient, count), span_of(input, count), span_of(statistics, 2 * features), span_of(weight, features)});
  cairn::ops::batch_norm_backward(q.real(), rows, features, eps, input_gradient, weight_gradient, bias_gradient, output_gradient,
                                  input, statistics, weight, before);
}
template <class T>
void batch_norm_sums(queue& q, std::size_t rows, std::size_t features, double* sums, const T* input) {
  q.put("batch_norm_sums", {span_of(sums, 2 * features + 1), span_of(input, rows * features)});
  cairn::ops::batch_norm_sums(q.real(), rows, features, sums, input);
}
template <class T>
void batch_norm_statistics(queue& q, std::size_t features, T* statistics, const double* sums) {
  q.put("batch_norm_statistics", {span_of(statistics, 2 * features), span_of(sums, 2 * features + 1)});
  cairn::ops::batch_norm_statistics(q.real(), features, statistics, sums);
}
template <class T>
void batch_norm_update(queue& q, std::size_t features, double momentum, T* running_mean, T* running_variance, const T* statistics,
                       const double* rows) {
  q.put("batch_norm_update", {span_of(running_mean, features), span_of(running_variance, features),
                              span_of(statistics, 2 * features), span_of(rows, 1)});
  cairn::ops::batch_norm_update(q.real(), features, momentum, running_mean, running_variance, statistics, rows);
}
template <class T>
void batch_norm_gradient_sums(queue& q, std::size_t rows, std::size_t features, double eps, double* sums,
                              cairn::accumulated<T>* weight_gradient, cairn::accumulated<T>* bias_gradient,
                              const T* output_gradient, const T* input, const cairn::accumulated<T>* statistics) {
  const std::size_t count = rows * features;
  q.put("batch_norm_gradient_sums",
        {span_of(sums, 2 * features), span_of(weight_gradient, features), span_of(bias_gradient, features),
         span_of(output_gradient, count), span_of(input, count), span_of(statistics, 2 * features)});
  cairn::ops::batch_norm_gradient_sums(q.real(), rows, features, eps, sums, weight_gradient, bias_gradient, output_gradient,
                                       input, statistics);
}
template <class T>
void batch_norm_input_gradient(queue& q, std::size_t rows, std::size_t features, double eps, T* input_gradient,
                               const T* output_gradient, const T* input, const cairn::accumulated<T>* statistics, const T* weight,
                               const double* sums, cairn::ops::activation before) {
  const std::size_t count = rows * features;
  q.put("batch_norm_input_gradient",
        {span_of(input_gradient, count), span_of(output_gradient, count), span_of(input, count),
         span_of(statistics, 2 * features), span_of(weight, features), span_of(sums, 2 * features + 1)});
  cairn::ops::batch_norm_input_gradient(q.real(), rows, features, eps, input_gradient, output_gradient, input, statistics, weight,
                                        sums, before);
}
// Queries, keys and values are columns of one matrix.

} // namespace recording
