// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// The most keys of a sample.
inline constexpr std::size_t most_keys = 131072;

// The keys that a query may look at: the query at place i looks at the places i - before to i + after, as far as there are keys.
struct key_band {
  std::size_t before = most_keys, after = most_keys;

  // The first key for the query at this place, and the one after the last. Without any key, begin == end.
  CAIRN_HOST_DEVICE constexpr std::size_t begin(std::size_t place, std::size_t keys) const {
    const std::size_t first = place > before ? place - before : 0;
    return first < keys ? first : keys;
  }
  CAIRN_HOST_DEVICE constexpr std::size_t end(std::size_t place, std::size_t keys) const {
    return keys - place > after && place < keys ? place + after + 1 : keys;
  }
};

// The extents of an attention. Query i stands at place first_place + i among the keys: at 0 where a whole text looks at itself;
// at the end where the keys of earlier tokens were kept and only new tokens ask.
struct attention_extents {
  std::size_t samples = 0, queries = 0, keys = 0;
  std::size_t heads = 1, key_heads = 1; // heads is a multiple: heads / key_heads heads share keys and values
  std::size_t width = 0;                // of a head
  key_band band{};
  std::size_t first_place = 0;
};

// Where queries, keys and values lie: head h of a row is the columns [h width, (h + 1) width), and rows are a stride apart. So
// the three may be columns of one matrix, as a projection writes them. A gradient lies as its operand does.
template <class T>
struct attention_operands {
  T* query = nullptr; // (samples, queries, heads * width)
  T* key = nullptr;   // (samples, keys, key_heads * width)
  T* value = nullptr; // like the keys
  std::size_t query_stride = 0, key_stride = 0;
};

// y = softmax(q k^T / sqrt(width)) v for each sample and head, over the keys that a query may look at (Vaswani et al.: Attention
// is all you need. arXiv:1706.03762). The output is (samples, queries, heads * width). A query that may look at no key has an
// output of zero; torch has NaN there.
//
// `log_sums` is (samples, heads, queries): the logarithm of the sum of the exponentials of a query's scores, or infinity if it
// has none. It is what backward needs to make the probabilities again, which are never in memory as a whole (Dao et al.:
// FlashAttention. arXiv:2205.14135). Null if not wanted.
//
// The output of a query depends on its own keys only, bit for bit: not on the number of other keys or queries. A sum over keys
// has one order, which begins at the first key.
template <class T>
void attention_forward(detail::queue_without_this_op, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in) = delete;

// With p the probabilities, s the scores q k^T, and dp = dy v^T:
//   dv = p^T dy,  ds = p (dp - dot(dy, y)) / sqrt(width),  dq = ds k,  dk = ds^T q
// The gradients of keys and values are summed over the heads that share them. No gradient may overlap an operand.
template <class T>
void attention_backward(detail::queue_without_this_op, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in) = delete;

// What an attention may have besides its extents; by default it has nothing of it.
template <class T>
struct attention_extras {
  // (samples): a query may look at the first so many keys of its sample only, 0 to all. Null: at all. Another number throws
  // cairn::error on a cpu; on a GPU it makes the outputs of its sample NaN.
  const std::int32_t* key_lengths = nullptr;
  // (queries, keys): added to the scaled scores; minus infinity forbids, and a query whose keys are all forbidden may look at
  // none. The strides are elements from the matrix of a sample, or of a head, to the next; 0: it is the same for all. It is a
  // constant and has no gradient. Null: nothing is added.
  const T* added = nullptr;
  std::size_t added_sample_stride = 0, added_head_stride = 0;
  // Dropout of probabilities, after the softmax: probability (sample, head, query, key) is dropped as element
  // ((sample * heads + head) * queries + query) * keys + key of ops::dropout is. Log sums are those without dropout. The mask is
  // not stored: forward, recompute and backward draw it again.
  dropout_rate rate{.threshold = 0, .scale = 1};
  types::random_key random{};
};

// The same with these, which backward gets again as forward had them. With m the factors of dropout, 0 or scale:
//   y = (m p) v,  dv = (m p)^T dy,  dp = m (dy v^T)
template <class T>
void attention_forward(detail::queue_without_this_op, const attention_extents& of, T* output, accumulated<T>* log_sums,
                       const attention_operands<const T>& in, const attention_extras<T>& extras) = delete;
template <class T>
void attention_backward(detail::queue_without_this_op, const attention_extents& of, const attention_operands<T>& gradients,
                        const T* output_gradient, const T* output, const accumulated<T>* log_sums,
                        const attention_operands<const T>& in, const attention_extras<T>& extras) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept attention_runs_on =
    requires(Queue& queue, const attention_extents& of, T* y, const T* x, accumulated<T>* sum, const accumulated<T>* sums,
             const attention_operands<const T>& in, const attention_operands<T>& gradients) {
      attention_forward(queue, of, y, sum, in);
      attention_backward(queue, of, gradients, x, x, sums, in);
    };

// ... and with extras.
template <class Queue, class T>
concept attention_with_extras_runs_on =
    requires(Queue& queue, const attention_extents& of, T* y, const T* x, accumulated<T>* sum, const accumulated<T>* sums,
             const attention_operands<const T>& in, const attention_operands<T>& gradients, const attention_extras<T>& extras) {
      attention_forward(queue, of, y, sum, in, extras);
      attention_backward(queue, of, gradients, x, x, sums, in, extras);
    };

// ... and without them, or with them if Extras.
template <class Queue, class T, bool Extras>
concept attends_on = (!Extras && attention_runs_on<Queue, T>) || (Extras && attention_with_extras_runs_on<Queue, T>);

} // namespace cairn::detail
