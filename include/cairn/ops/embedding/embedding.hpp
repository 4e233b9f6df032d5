// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// Row i of the output (count, width) is row indices[i] of the weight (vocabulary, width), as torch.nn.Embedding. On a cpu, an
// index without a row in the weight throws cairn::error before anything is written; on a GPU it makes a row of NaN.
template <class T>
void embedding_forward(detail::queue_without_this_op, std::size_t count, std::size_t vocabulary, std::size_t width, T* output,
                       const T* weight, const std::int32_t* indices) = delete;

// Row v of the weight gradient (vocabulary, width) is overwritten with the sum of the rows i of the output gradient (count,
// width) with indices[i] = v, or 0 if there is none. They are added in ascending order of i, in chains (see sums.hpp); a cpu
// takes 65536 indices at a time. The indices are those of a forward pass.
template <class T>
void embedding_backward(detail::queue_without_this_op, std::size_t count, std::size_t vocabulary, std::size_t width,
                        accumulated<T>* weight_gradient, const T* output_gradient, const std::int32_t* indices) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// Throws cairn::error if an index is not in 0 … vocabulary - 1. The host must be able to read the indices. Bad data must not
// cause reads out of bounds.
inline void check_indices(const std::int32_t* indices, std::size_t count, std::size_t vocabulary) {
  for (std::size_t i = 0; i < count; ++i) {
    if (indices[i] >= 0 && static_cast<std::size_t>(indices[i]) < vocabulary) [[likely]]
      continue;
    throw error("Embedding: index " + std::to_string(i) + " is " + std::to_string(indices[i]) + ", but the vocabulary is 0 to " +
                std::to_string(vocabulary - 1) + "; give such indices, or an Embedding with a larger vocabulary");
  }
}

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept embedding_runs_on =
    requires(Queue& queue, std::size_t n, T* y, const T* x, accumulated<T>* sum, const std::int32_t* indices) {
      embedding_forward(queue, n, n, n, y, x, indices);
      embedding_backward(queue, n, n, n, sum, x, indices);
    };

} // namespace cairn::detail
