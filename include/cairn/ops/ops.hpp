// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/checksum/checksum.hpp>
#include <cairn/ops/clip/clip.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/mean_factor/mean_factor.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>
#include <cairn/ops/transfer/transfer.hpp>

// The ops that a device must provide to run any network, on elements of type T: an overload of each whose first parameter is the
// device's queue. The declaration of an op, in ops/OP/OP.hpp, says what it computes. The other ops are those of single layers,
// losses and optimizers, which ask for them in the `requires` of their calls: so a device need not have the ops of layers that
// its networks do not contain, and is not broken by a layer that is added.
//
// A device's tests assert ops_for<its queue, float>, and detail::OP_runs_on<its queue, float> for the others that it has; the
// compiler then names the call that is missing.
//
// An op need not be a template, and its bits need not be those of another device.

namespace cairn::detail {

template <class Queue, class T>
concept moves_elements = requires(Queue& queue, std::size_t count, T* y, const T* x, matrix<T> to, matrix<const T> from) {
  upload(queue, count, y, x);
  download(queue, count, y, x);
  copy(queue, count, y, x);
  copy_matrix(queue, to, from);
  add(queue, count, y, x, x);
  add_matrix(queue, to, from, from);
};

// Any function of two elements.
struct sum_of_two {
  template <class T>
  CAIRN_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

template <class Queue, class T>
concept applies_functions =
    requires(Queue& queue, std::size_t count, T* y, const T* x) { elementwise(queue, count, sum_of_two{}, y, x, x); };

template <class Queue, class T>
concept prepares_updates = requires(Queue& queue, std::size_t count, T* y, const T* x, double* sum) {
  squared_norm(queue, sum, x, count);
  mean_factor(queue, sum, 1.0, count, x, count);
  clip(queue, sum, sum, 1.0, 1.0, sum);
  checksum(queue, y, x, count);
};

// Required only of 16-bit elements, whose sums are kept in another type.
template <class Queue, class T>
concept converts_elements = !is_narrow<T> || requires(Queue& queue, std::size_t count, T* y, const T* x, accumulated<T>* sum,
                                                      const accumulated<T>* sums) {
  convert(queue, count, y, sums);
  convert(queue, count, sum, x);
};

} // namespace cairn::detail

namespace cairn::ops {

// Updates and sums of gradients have elements of type accumulated<T>.
template <class Queue, class T>
concept ops_for =
    detail::moves_elements<Queue, T> && detail::converts_elements<Queue, T> && detail::applies_functions<Queue, T> &&
    detail::prepares_updates<Queue, accumulated<T>> && detail::moves_elements<Queue, accumulated<T>>;

} // namespace cairn::ops
