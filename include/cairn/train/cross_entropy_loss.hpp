// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/view.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>
#include <cairn/train/loss.hpp>

namespace cairn {

// -log softmax(output)[target], averaged, as torch.nn.CrossEntropyLoss with class numbers as targets. The
// classes are the innermost extent of the output, at least two, as one would always be right; every other index has a
// target of its own.
//
// An integer that is no class number throws cairn::error before anything is written.
struct CrossEntropyLoss {
  static constexpr bool accepts(const shape& output) { return output.rank > 0 && output.last() > 1; }
  static constexpr std::size_t targets_per_sample(const shape& output) {
    return output.size() / output.last();
  }

  template <class, class Target>
  static constexpr bool takes = std::integral<Target>;

  template <class Queue, class T, class Target>
  static void run(Queue& queue, const loss_call<T, Target>& call) {
    const std::size_t classes = call.output_shape->last();
    const std::size_t rows = call.rows * targets_per_sample(*call.output_shape);
    softmax_cross_entropy(queue, call.loss, call.output_gradient, matrix<const T>{call.output, rows, classes},
                          call.targets);
  }
};

static_assert(loss<CrossEntropyLoss>);

} // namespace cairn
