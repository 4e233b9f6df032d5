// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// *loss = 1/rows sum over rows of  log(sum_c e^(x_c - m)) - (x_t - m),   m being the row's maximum
// output_gradient = (softmax(x) - [c = t]) / rows      not computed when it is null; may lie on the logits
//
// The logits and their gradient are (rows, classes) without gaps, the targets (rows) class numbers. Taking
// the maximum away first keeps every exponential in (0, 1]. Rows are added up in double; of no rows the loss
// is 0. A target that is no class throws cairn::error before anything is written.
template <class T, std::integral Target>
void softmax_cross_entropy(detail::queue_without_this_op, double* loss, T* output_gradient,
                           std::type_identity_t<matrix<const T>> logits, const Target* targets) = delete;

namespace detail {

// Reading a logit that is not there must not happen, whatever a data file says.
template <std::integral Target>
void check_classes(const Target* targets, std::size_t rows, std::size_t classes) {
  for (std::size_t row = 0; row < rows; ++row) {
    const Target target = targets[row];
    if (std::cmp_greater_equal(+target, 0) && std::cmp_less(+target, classes)) [[likely]]
      continue;
    throw error("CrossEntropyLoss: target " + std::to_string(row) + " is " + std::to_string(target) +
                ", but the classes are 0 to " + std::to_string(classes - 1) +
                "; give class numbers, or a network with more outputs");
  }
}

} // namespace detail

} // namespace cairn
