// SPDX-License-Identifier: MIT
// The ops on images of the device in recording_device.hpp.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>

#include "recording_device.hpp"

namespace recording {

template <class T>
void conv2d_forward(queue& q, const cairn::ops::convolution& how, std::size_t samples, cairn::ops::matrix<T> output,
                    const T* input, const T* weight, const cairn::ops::epilogue<T>& then) {
  q.put("conv2d_forward", {span_of(output), span_of(input, samples * how.over.inputs() * how.in_channels),
                           span_of(weight, how.out_channels * how.depth()), span_of(then.bias, how.out_channels),
                           span_of(then.addend), span_of(then.mask)});
  cairn::ops::conv2d_forward(q.real(), how, samples, output, input, weight, then);
}
template <class T>
void conv2d_input_gradient(queue& q, const cairn::ops::convolution& how, std::size_t samples, T* input_gradient,
                           std::type_identity_t<cairn::ops::matrix<const T>> output_gradient, const T* weight,
                           const cairn::ops::epilogue<T>& then) {
  q.put("conv2d_input_gradient",
        {span_of(input_gradient, samples * how.over.inputs() * how.in_channels), span_of(output_gradient),
         span_of(weight, how.out_channels * how.depth()), span_of(then.addend), span_of(then.mask)});
  cairn::ops::conv2d_input_gradient(q.real(), how, samples, input_gradient, output_gradient, weight, then);
}
template <class T>
void conv2d_weight_gradient(queue& q, const cairn::ops::convolution& how, std::size_t samples,
                            std::type_identity_t<cairn::accumulated<T>>* weight_gradient,
                            std::type_identity_t<cairn::accumulated<T>>* bias_gradient,
                            cairn::ops::matrix<const T> output_gradient, const T* input) {
  q.put("conv2d_weight_gradient",
        {span_of(weight_gradient, how.out_channels * how.depth()), span_of(bias_gradient, how.out_channels),
         span_of(output_gradient), span_of(input, samples * how.over.inputs() * how.in_channels)});
  cairn::ops::conv2d_weight_gradient(q.real(), how, samples, weight_gradient, bias_gradient, output_gradient, input);
}
template <class T>
void max_pool2d_forward(queue& q, const cairn::ops::window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) {
  const std::size_t each = samples * channels;
  q.put("max_pool2d_forward", {span_of(output, each * over.outputs()), span_of(input, each * over.inputs())});
  cairn::ops::max_pool2d_forward(q.real(), over, samples, channels, output, input);
}
template <class T>
void max_pool2d_backward(queue& q, const cairn::ops::window& over, std::size_t samples, std::size_t channels, T* input_gradient,
                         const T* output_gradient, const T* input) {
  const std::size_t each = samples * channels;
  q.put("max_pool2d_backward", {span_of(input_gradient, each * over.inputs()), span_of(output_gradient, each * over.outputs()),
                                span_of(input, each * over.inputs())});
  cairn::ops::max_pool2d_backward(q.real(), over, samples, channels, input_gradient, output_gradient, input);
}
template <class T>
void avg_pool2d_forward(queue& q, const cairn::ops::window& over, cairn::ops::mean_of which, std::size_t samples,
                        std::size_t channels, T* output, const T* input) {
  const std::size_t each = samples * channels;
  q.put("avg_pool2d_forward", {span_of(output, each * over.outputs()), span_of(input, each * over.inputs())});
  cairn::ops::avg_pool2d_forward(q.real(), over, which, samples, channels, output, input);
}
template <class T>
void avg_pool2d_backward(queue& q, const cairn::ops::window& over, cairn::ops::mean_of which, std::size_t samples,
                         std::size_t channels, T* input_gradient, const T* output_gradient) {
  const std::size_t each = samples * channels;
  q.put("avg_pool2d_backward", {span_of(input_gradient, each * over.inputs()), span_of(output_gradient, each * over.outputs())});
  cairn::ops::avg_pool2d_backward(q.real(), over, which, samples, channels, input_gradient, output_gradient);
}
template <class T>
void group_norm_forward(queue& q, const cairn::ops::channel_groups& of, double eps, T* output, cairn::accumulated<T>* statistics,
                        const T* input, const T* weight, const T* bias) {
  const std::size_t count = of.samples * of.pixels * of.channels;
  q.put("group_norm_forward", {span_of(output, count), span_of(statistics, of.samples * of.groups * 2), span_of(input, count),
                               span_of(weight, of.channels), span_of(bias, of.channels)});
  cairn::ops::group_norm_forward(q.real(), of, eps, output, statistics, input, weight, bias);
}
template <class T>
void group_norm_backward(queue& q, const cairn::ops::channel_groups& of, T* input_gradient,
                         cairn::accumulated<T>* weight_gradient, cairn::accumulated<T>* bias_gradient, const T* output_gradient,
                         const T* input, const cairn::accumulated<T>* statistics, const T* weight) {
  const std::size_t count = of.samples * of.pixels * of.channels;
  q.put("group_norm_backward", {span_of(input_gradient, count), span_of(weight_gradient, of.channels),
                                span_of(bias_gradient, of.channels), span_of(output_gradient, count), span_of(input, count),
                                span_of(statistics, of.samples * of.groups * 2), span_of(weight, of.channels)});
  cairn::ops::group_norm_backward(q.real(), of, input_gradient, weight_gradient, bias_gradient, output_gradient, input,
                                  statistics, weight);
}

} // namespace recording
