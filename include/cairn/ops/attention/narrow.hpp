// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/kept_probabilities.hpp>
#include <cairn/ops/attention/reference.hpp>
#include <cairn/ops/attention/stored.hpp>

CAIRN_KERNELS_BEGIN

// 16-bit elements: computed one at a time, with sums in double. Each result is rounded once, when it is written.
namespace cairn::detail {

template <class T, class Kept, class Extras = ops::attention_extras<T>>
void narrow_attention_forward(cpu::queue& queue, const attention_extents& of, T* output, Kept kept,
                              const attention_operands<const T>& in, const Extras& extras = {}) {
  check_attention(of, extras);
  queue.parallel_for(of.samples * of.key_heads, [&](std::size_t part, std::span<std::byte> scratch) {
    attention_forward_plain(of, part / of.key_heads, part % of.key_heads, reinterpret_cast<double*>(scratch.data()), output, kept,
                            in, extras);
  });
}
template <class T, class Kept, class Extras = ops::attention_extras<T>>
void narrow_attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                               const T* output_gradient, const T* output, Kept kept, const attention_operands<const T>& in,
                               const Extras& extras = {}) {
  check_attention(of, extras);
  queue.parallel_for(of.samples * of.key_heads, [&](std::size_t part, std::span<std::byte> scratch) {
    attention_backward_plain(of, part / of.key_heads, part % of.key_heads, reinterpret_cast<double*>(scratch.data()), gradients,
                             output_gradient, output, kept, in, extras);
  });
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::narrow_element T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in) {
  detail::narrow_attention_forward(queue, of, output, log_sums, in);
}
template <detail::narrow_element T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in) {
  detail::narrow_attention_backward(queue, of, gradients, output_gradient, output, log_sums, in);
}

template <detail::narrow_element T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::narrow_attention_forward(queue, of, output, log_sums, in, extras);
}
template <detail::narrow_element T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::narrow_attention_backward(queue, of, gradients, output_gradient, output, log_sums, in, extras);
}

template <detail::narrow_element T>
void stored_attention_forward(cpu::queue& queue, const attention_extents& of, T* output, T* probabilities,
                              const attention_operands<const T>& in) {
  detail::narrow_attention_forward(queue, of, output, detail::kept_probabilities<T>{probabilities}, in);
}
template <detail::narrow_element T>
void stored_attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                               const T* output_gradient, const T* output, const T* probabilities,
                               const attention_operands<const T>& in) {
  detail::narrow_attention_backward(queue, of, gradients, output_gradient, output,
                                    detail::kept_probabilities<const T>{probabilities}, in);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
