// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

// A norm of the channels, a ReLU and a product, of which only the product is written: h = relu(norm(x)) weight^T.
//
//   (rows, out) = (rows, in) x (out, in)^T
//
// The normalised map is made tile by tile, and is never in memory as a whole (Pleiss et al.: Memory-efficient implementation of
// DenseNets. arXiv:1707.06990, which stores it in a shared buffer).

namespace cairn::detail {

// The number of rows of a tile: a tile of some hundred channels stays in a second-level cache. It is fixed, so that the bits of
// sums over rows depend only on their number.
inline constexpr std::size_t norm_tile_rows = 128;
constexpr std::size_t norm_tiles(std::size_t rows) { return (rows + norm_tile_rows - 1) / norm_tile_rows; }

} // namespace cairn::detail

namespace cairn::ops {

// The memory that a call needs in addition, in elements of accumulated<T>.
struct normalized_product_room {
  std::size_t weight = 0, scales = 0, partial = 0;
};
constexpr normalized_product_room room_of_normalized_product(std::size_t rows, std::size_t in, std::size_t out) {
  return {in * out, 3 * (in > out ? in : out), 2 * out * detail::norm_tiles(rows)};
}
template <class T>
struct normalized_product_memory {
  accumulated<T>* weight = nullptr;
  accumulated<T>* scales = nullptr;
  accumulated<T>* partial = nullptr;
};

// `statistics`, if not null, receives those of h (channel_statistics.hpp).
template <class T>
void normalized_product_forward(detail::queue_without_this_op, matrix<T> h, std::type_identity_t<accumulated<T>>* statistics,
                                std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight,
                                const std::type_identity_t<normalized_product_memory<T>>& memory) = delete;

// The gradients that backward computes. Those that are null are not wanted.
template <class T>
struct normalized_product_gradients {
  matrix<T> x{};                         // addend + the gradient of x, without the part through its statistics
  matrix<const T> addend{};              // may be x itself, or null
  accumulated<T>* statistics = nullptr;  // (in, 2): of the mean and the variance that the norm takes
  accumulated<T>* norm_weight = nullptr; // (in)
  accumulated<T>* norm_bias = nullptr;
  accumulated<T>* weight = nullptr; // (out, in)
};
// `h_gradient` is the gradient of h, to which the part through its statistics is added; one of the two may be null. The other
// arguments are those of forward. `scales` has room for 3 x in elements, followed by 3 x out elements.
template <class T>
void normalized_product_backward(detail::queue_without_this_op, const normalized_product_gradients<T>& gradients,
                                 std::type_identity_t<matrix<const T>> h_gradient, std::type_identity_t<matrix<const T>> h,
                                 const std::type_identity_t<accumulated<T>>* h_statistics,
                                 const std::type_identity_t<accumulated<T>>* h_statistics_gradient,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                 const std::type_identity_t<T>* weight, std::type_identity_t<accumulated<T>>* scales) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept normalized_product_runs_on = requires(Queue& queue, T* y, const T* x, matrix<T> to, matrix<const T> from,
                                              accumulated<T>* sum, const accumulated<T>* sums, const channel_norm<T>& norm) {
  normalized_product_forward(queue, to, sum, from, norm, x, normalized_product_memory<T>{});
  normalized_product_backward(queue, normalized_product_gradients<T>{}, from, from, sums, sums, from, norm, x, sum);
};

} // namespace cairn::detail
