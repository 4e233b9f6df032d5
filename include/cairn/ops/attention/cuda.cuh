// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/blocks.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/checked_attention.hpp>
#include <cairn/ops/attention/cuda_backward.cuh>
#include <cairn/ops/attention/cuda_extras.cuh>
#include <cairn/ops/attention/cuda_forward.cuh>
#include <cairn/ops/attention/cuda_tile.cuh>

namespace cairn::detail {

// The number of pieces of at most `size` that hold `count`.
constexpr std::size_t pieces_of(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

// Throws an error that names the extents which do not fit. Places in a tile of 64 rows are found in 32 bits.
inline void check_attention_on_gpu(const attention_extents& of, std::size_t query_stride, std::size_t key_stride) {
  check_attention(of);
  constexpr std::size_t limit = std::size_t{1} << 26;
  const std::size_t longest = std::max({query_stride, key_stride, of.heads * of.width});
  if (longest >= limit)
    throw error("attention: expected rows of fewer than " + std::to_string(limit) + " elements on a GPU, found " +
                std::to_string(longest));
}

template <class T, class... P>
bool heads_are_quads(const attention_extents& of, const attention_operands<const T>& in, const P*... others) {
  constexpr std::size_t width = quad_width<T>;
  return of.width % width == 0 && in.query_stride % width == 0 && in.key_stride % width == 0 &&
         are_quads(in.query, in.key, in.value, others...);
}

template <class T, class Extras>
void attention_forward_on_gpu(cuda::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                              const attention_operands<const T>& in, const Extras& extras) {
  using body = attention_outputs<T, Extras>;
  check_attention_on_gpu(of, in.query_stride, in.key_stride);
  const std::size_t tiles = pieces_of(of.queries, body::tile::rows), cuts = pieces_of(of.width, body::tile::columns);
  launch_blocks(queue, "attention_forward", of.samples * of.heads * tiles * cuts,
                body{{of, in, extras, heads_are_quads(of, in, output)}, tiles, cuts, output, log_sums});
}

template <class T, class Extras>
void attention_backward_on_gpu(cuda::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                               const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                               const attention_operands<const T>& in, const Extras& extras) {
  constexpr const char* op = "attention_backward";
  using tile = attention_tile<T>;
  check_attention_on_gpu(of, in.query_stride, in.key_stride);
  const bool aligned = heads_are_quads(of, in, gradients.query, gradients.key, gradients.value, output_gradient, output);
  const gradients_on_gpu<T, Extras> all{{of, in, extras, aligned}, gradients, output_gradient, output, log_sums};
  launch_teams<32>(queue, op, of.samples * of.queries * of.heads, attention_dots<T, Extras>{all, of.queries});
  const std::size_t cuts = pieces_of(of.width, tile::columns), key_tiles = pieces_of(of.keys, tile::rows);
  const std::size_t key_blocks = of.samples * of.key_heads * key_tiles * cuts;
  launch_blocks(queue, op, key_blocks, attention_key_gradients<T, Extras, true>{all, key_tiles, cuts, of.key_heads});
  launch_blocks(queue, op, key_blocks, attention_key_gradients<T, Extras, false>{all, key_tiles, cuts, of.key_heads});
  const std::size_t tiles = pieces_of(of.queries, tile::rows), heads = of.samples * of.heads;
  using query_gradients = attention_query_gradients<T, Extras>;
  if (cuts > 1) launch_blocks(queue, op, heads * tiles * (cuts - 1), query_gradients{all, tiles, cuts - 1, 1});
  launch_blocks(queue, op, heads * tiles, query_gradients{all, tiles, 1, 0});
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void attention_forward(cuda::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in) {
  detail::attention_forward_on_gpu(queue, of, output, log_sums, in, detail::no_extras_on_gpu{});
}
template <detail::floating_element T>
void attention_forward(cuda::queue& queue, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::attention_forward_on_gpu(queue, of, output, log_sums, in, detail::extras_on_gpu<T>(extras));
}

template <detail::floating_element T>
void attention_backward(cuda::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in) {
  detail::attention_backward_on_gpu(queue, of, gradients, output_gradient, output, log_sums, in, detail::no_extras_on_gpu{});
}
template <detail::floating_element T>
void attention_backward(cuda::queue& queue, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in, const attention_extras<T>& extras) {
  detail::attention_backward_on_gpu(queue, of, gradients, output_gradient, output, log_sums, in,
                                    detail::extras_on_gpu<T>(extras));
}

} // namespace cairn::ops
