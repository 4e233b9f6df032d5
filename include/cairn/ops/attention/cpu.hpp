// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/cuts_of_backward.hpp>
#include <cairn/ops/attention/in_strips.hpp>
#include <cairn/ops/attention/kept_probabilities.hpp>
#include <cairn/ops/attention/reference.hpp>
#include <cairn/ops/attention/stored.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Extras as the formulas of one element take them.
template <class T>
ops::attention_extras<T> all_of(no_attention_extras) {
  return {};
}
template <class T>
const ops::attention_extras<T>& all_of(const ops::attention_extras<T>& extras) {
  return extras;
}

// A part is a head of a sample or, if there are fewer of these than threads, a strip of one. Kept are the logarithms of sums or
// the probabilities.
template <class T, class Kept, class Extras = no_attention_extras>
void attention_forward_in_parts(cpu::queue& queue, const attention_extents& of, T* output, Kept kept,
                                const attention_operands<const T>& in, const Extras& extras = {}) {
  check_attention(of, extras);
  if (!attention_in_strips<T, Extras>::takes(of))
    return queue.parallel_for(of.samples * of.key_heads, [&](std::size_t part, std::span<std::byte> scratch) {
      attention_forward_plain(of, part / of.key_heads, part % of.key_heads, reinterpret_cast<double*>(scratch.data()), output,
                              kept, in, all_of<T>(extras));
    });
  const std::size_t heads = of.samples * of.heads, strips = attention_in_strips<T, Extras>::strips(of);
  const std::size_t cuts = heads < queue.threads() ? strips : 1, each = strips / std::max<std::size_t>(1, cuts);
  queue.parallel_for(heads * cuts, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t sample = part / cuts / of.heads, head = part / cuts % of.heads, cut = part % cuts;
    attention_in_strips<T, Extras>(of, in, sample, scratch, extras).forward(head, cut * each, (cut + 1) * each, output, kept);
  });
}

// A part is a key head of a sample, with all heads that share it. If there are much fewer of these than threads there are two
// passes: in the first a part is a few strips of queries of a head, in the second a block of keys of a key head. As both make the
// scores and their derivatives, they have 7 products where one pass has 5.
template <class T, class Kept, class Extras = no_attention_extras>
void attention_backward_in_parts(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                                 const T* output_gradient, const T* output, Kept kept, const attention_operands<const T>& in,
                                 const Extras& extras = {}) {
  check_attention(of, extras);
  using in_strips = attention_in_strips<T, Extras>;
  const std::size_t parts = of.samples * of.key_heads;
  if (!in_strips::takes(of))
    return queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
      attention_backward_plain(of, part / of.key_heads, part % of.key_heads, reinterpret_cast<double*>(scratch.data()), gradients,
                               output_gradient, output, kept, in, all_of<T>(extras));
    });
  cuts_of_backward cuts(of, in_strips::strips(of), queue.threads());
  cuts.keys = std::max(cuts.keys, in_strips::cuts_of_keys(of));
  if (cuts.keys < 2)
    return queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
      in_strips(of, in, part / of.key_heads, scratch, extras)
          .backward(part % of.key_heads, gradients, output_gradient, output, kept);
    });
  // The last strips have the most keys of a causal mask, and the first keys the most queries: they come first.
  queue.parallel_for(of.samples * of.heads * cuts.strips, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t cut = cuts.strips - 1 - part / (of.samples * of.heads), row = part % (of.samples * of.heads);
    const auto [begin, end] = cuts.part_of_strips(cut);
    in_strips(of, in, row / of.heads, scratch, extras)
        .query_gradients(row % of.heads, begin, end, gradients, output_gradient, output, kept);
  });
  queue.parallel_for(parts * cuts.keys, [&](std::size_t part, std::span<std::byte> scratch) {
    const auto [first, last] = cuts.part_of_keys(part / parts);
    in_strips(of, in, part % parts / of.key_heads, scratch, extras)
        .key_gradients(part % parts % of.key_heads, first, last, gradients, output_gradient, output, kept);
  });
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in) {
  detail::attention_forward_in_parts(queue, of, output, log_sums, in);
}
template <class T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in) {
  detail::attention_backward_in_parts(queue, of, gradients, output_gradient, output, log_sums, in);
}

template <class T>
void attention_forward(cpu::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::attention_forward_in_parts(queue, of, output, log_sums, in, extras);
}
template <class T>
void attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::attention_backward_in_parts(queue, of, gradients, output_gradient, output, log_sums, in, extras);
}

template <class T>
void stored_attention_forward(cpu::queue& queue, const attention_extents& of, T* output, T* probabilities,
                              const attention_operands<const T>& in) {
  detail::attention_forward_in_parts(queue, of, output, detail::kept_probabilities<T>{probabilities}, in);
}
template <class T>
void stored_attention_backward(cpu::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                               const T* output_gradient, const T* output, const T* probabilities,
                               const attention_operands<const T>& in) {
  detail::attention_backward_in_parts(queue, of, gradients, output_gradient, output,
                                      detail::kept_probabilities<const T>{probabilities}, in);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
