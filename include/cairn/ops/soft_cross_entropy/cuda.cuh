// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/mean_of_terms/cuda.cuh>
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>

namespace cairn::detail {

// The rows of one part per team.
template <class T>
struct soft_cross_entropy_of_part {
  using wide = accumulated<T>;
  static constexpr unsigned resident_threads =
      sizeof(wide) == sizeof(float) ? 768 : 512; // exponentials of doubles need registers

  const T* logits;
  T* gradient; // null: not wanted
  const wide *targets, *class_weights;
  std::size_t classes, all_rows;
  bool aligned; // every row of logits and gradient
  double smoothing;
  const double* gradient_scale; // null: 1
  cut rows;
  double* sums;

  CAIRN_DEVICE wide amount(std::size_t row, std::size_t c) const {
    const wide even = static_cast<wide>(smoothing / static_cast<double>(classes));
    const wide target = static_cast<wide>(1 - smoothing) * targets[row * classes + c] + even;
    return class_weights == nullptr ? target : target * class_weights[c];
  }
  // The loss of a row. Each logit is read for the last time before its gradient, which may lie there, is written.
  template <class Team>
  CAIRN_DEVICE double loss_of(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(classes);
    const T* const x = logits + row * classes;
    const auto load = [&](std::size_t q) { return load_wide(x, q * width, classes, aligned); };
    const wide most = team.greatest(quads, [&](std::size_t q) {
      const wide_quad<T> v = load(q);
      wide found = v.at[0];
      for (std::size_t j = 1; j < width; ++j) found = q * width + j < classes && v.at[j] > found ? v.at[j] : found;
      return found;
    });
    const auto add_powers = [&](std::size_t q, wide(&some)[1]) {
      const wide_quad<T> v = load(q);
      for (std::size_t j = 0; j < width; ++j) some[0] += q * width + j < classes ? exponential(v.at[j] - most) : wide{0};
    };
    const double sum = team.template sums_over_quads<wide, 1>(quads, add_powers).at[0];
    const double all = team.sum(classes, [&](std::size_t c) { return static_cast<double>(amount(row, c)); });
    const double distances = team.sum(classes, [&](std::size_t c) {
      return static_cast<double>(amount(row, c)) * (static_cast<double>(widened(x[c])) - static_cast<double>(most));
    });
    if (gradient != nullptr) {
      T* const result = gradient + row * classes;
      const double share = (gradient_scale == nullptr ? 1 : *gradient_scale) / static_cast<double>(all_rows);
      const wide factor = static_cast<wide>(share * all / sum), part = static_cast<wide>(share);
      team.each(quads, [&](std::size_t q) {
        wide_quad<T> v = load(q);
        for (std::size_t j = 0; j < width; ++j) {
          const std::size_t c = q * width + j;
          v.at[j] = exponential(v.at[j] - most) * factor;
          if (c < classes) v.at[j] -= amount(row, c) * part;
        }
        store_wide(result, v, q * width, classes, aligned);
      });
    }
    return all * log(sum) - distances;
  }
  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t part) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(part); ++i) sum += loss_of(team, rows.begin(part) + i);
    team.once([&] { sums[part] = sum; });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void soft_cross_entropy(cuda::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                        const accumulated<T>* targets, const accumulated<T>* class_weights, double label_smoothing,
                        const double* gradient_scale = nullptr) {
  constexpr const char* op = "soft_cross_entropy";
  using namespace detail;
  const std::size_t classes = logits.columns;
  const cut how(logits.rows, 1, 8192);
  double* const sums = queue.partial(op).data();
  const bool aligned = rows_are_quads<T>(classes, logits.data, output_gradient);
  launch_teams_for(classes / 2, queue, op, how.parts,
                   soft_cross_entropy_of_part<T>{logits.data, output_gradient, targets, class_weights, classes, logits.rows,
                                                 aligned, label_smoothing, gradient_scale, how, sums});
  launch_teams<256>(queue, op, 1, sum_of_parts_then<store_mean>{{loss, logits.rows}, how.parts, sums});
}

} // namespace cairn::ops
