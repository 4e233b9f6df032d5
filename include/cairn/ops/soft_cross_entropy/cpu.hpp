// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>
#include <cairn/ops/softmax_cross_entropy/formula.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The arguments of one call. Terms are computed in accumulated<T>, a piece of a row at a time.
template <class T>
struct soft_targets_call {
  using wide = accumulated<T>;
  static constexpr std::size_t piece = 1024;

  const T* logits;
  T* gradient; // null: not wanted
  const wide* targets;
  const wide* class_weights; // null: all are 1
  std::size_t classes;
  double label_smoothing;
  double share; // of the gradient: scale / rows
  instruction_set set;

  // Exponentials of distances from the largest logit, v_c of each class, and logits that are not wide.
  struct pieces {
    alignas(64) wide powers[piece];
    alignas(64) wide amounts[piece];
    widened_row<T, piece> logits;
  };
  const wide* fill(pieces& own, std::size_t row, std::size_t begin, std::size_t count, wide most) const {
    const wide* const x = own.logits.read(logits + row * classes + begin, count);
    const wide* const t = targets + row * classes + begin;
    const auto kept = static_cast<wide>(1 - label_smoothing);
    const auto even = static_cast<wide>(label_smoothing / static_cast<double>(classes));
    for (std::size_t c = 0; c < count; ++c) own.amounts[c] = kept * t[c] + even;
    if (class_weights != nullptr)
      for (std::size_t c = 0; c < count; ++c) own.amounts[c] *= class_weights[begin + c];
    run_elements(set, shifted_exponential<wide>{most}, count, std::array<wide*, 1>{own.powers}, std::array<const wide*, 1>{x});
    return x;
  }

  double loss_of(std::size_t row, pieces& own) const {
    const T* const x = logits + row * classes;
    const wide most = largest(x, classes);
    double sum = 0, all = 0, distances = 0;
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      const wide* const from = fill(own, row, begin, count, most);
      const wide *const e = own.powers, *const v = own.amounts;
      sum += sum_in_lanes(count, [e](std::size_t c) __attribute__((always_inline)) { return static_cast<double>(e[c]); });
      all += sum_in_lanes(count, [v](std::size_t c) __attribute__((always_inline)) { return static_cast<double>(v[c]); });
      const auto weighted = [v, from, most](std::size_t c) __attribute__((always_inline)) {
        return static_cast<double>(v[c]) * (static_cast<double>(from[c]) - static_cast<double>(most));
      };
      distances += sum_in_lanes(count, weighted);
    }
    if (gradient != nullptr) {
      const auto factor = static_cast<wide>(share * all / sum), part = static_cast<wide>(share);
      T* const result = gradient + row * classes;
      for (std::size_t begin = 0; begin < classes; begin += piece) {
        const std::size_t count = std::min(piece, classes - begin);
        if (classes > piece) fill(own, row, begin, count, most); // of a short row `own` still holds its only piece
        wide* const made = own.logits.room(result + begin);
        for (std::size_t c = 0; c < count; ++c) made[c] = own.powers[c] * factor - own.amounts[c] * part;
        own.logits.write(result + begin, count);
      }
    }
    return all * std::log(sum) - distances;
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void soft_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                        const accumulated<T>* targets, const accumulated<T>* class_weights, double label_smoothing,
                        const double* gradient_scale = nullptr) {
  const std::size_t rows = logits.rows, classes = logits.columns;
  const double share = rows == 0 ? 0 : 1.0 / static_cast<double>(rows);
  const double scale = gradient_scale == nullptr ? 1 : *gradient_scale;
  const detail::soft_targets_call<T> own{logits.data, output_gradient, targets,       class_weights,
                                         classes,     label_smoothing, scale * share, detail::widest_for_elements()};
  const double sum =
      detail::sum_of_parts(queue, rows, detail::rows_at_once(classes), [&](std::size_t begin, std::size_t end, auto) {
        typename detail::soft_targets_call<T>::pieces room;
        double part = 0;
        for (std::size_t row = begin; row < end; ++row) part += own.loss_of(row, room);
        return part;
      });
  *loss = sum * share;
}

} // namespace cairn::ops

CAIRN_KERNELS_END
