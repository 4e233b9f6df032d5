// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
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
#include <cairn/ops/softmax_cross_entropy/formula.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>

namespace cairn::detail {

// The loss of a row; see cross_entropy_options. Without options `spread` is 0 and all weights are 1.
template <class T, class Target>
struct cross_entropy_on_gpu {
  using wide = accumulated<T>;

  const T* logits;
  T* gradient;
  const Target* targets;
  std::size_t classes;
  bool aligned; // every row of logits and gradient
  std::int64_t ignored;
  bool ignores;
  double smoothing;
  const wide* class_weights;
  double of_targets, of_classes; // the sums of the weights of all targets that count, and of all classes, ...
  const double* totals;          // ... or where a kernel has written both
  const double* gradient_scale;  // null: 1

  CAIRN_DEVICE double weight(std::size_t c) const { return class_weights == nullptr ? 1 : static_cast<double>(class_weights[c]); }
  // A target that is no class must not be used as an index, whatever the host has checked.
  CAIRN_DEVICE bool is_class(std::size_t row) const {
    return targets[row] >= Target{0} && static_cast<std::size_t>(targets[row]) < classes;
  }
  CAIRN_DEVICE bool counts(std::size_t row) const {
    return is_class(row) && !(ignores && static_cast<std::int64_t>(targets[row]) == ignored);
  }
  CAIRN_DEVICE double target_weight(std::size_t row) const {
    return counts(row) ? weight(static_cast<std::size_t>(targets[row])) : 0;
  }
  CAIRN_DEVICE double total_of_targets() const { return totals == nullptr ? of_targets : totals[0]; }
  CAIRN_DEVICE double total_of_classes() const { return totals == nullptr ? of_classes : totals[1]; }

  // The loss of a row times the sum of weights. Each logit is read for the last time before its gradient, which may lie there,
  // is written.
  template <class Team>
  CAIRN_DEVICE double loss_of(const Team& team, std::size_t row) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(classes);
    const T* const x = logits + row * classes;
    T* const result = gradient == nullptr ? nullptr : gradient + row * classes;
    const auto load = [&](std::size_t q) { return load_wide(x, q * width, classes, aligned); };
    const auto store = [&](const wide_quad<T>& v, std::size_t q) { store_wide(result, v, q * width, classes, aligned); };
    if (!counts(row)) {
      if (result != nullptr) team.each(quads, [&](std::size_t q) { store(wide_quad<T>{}, q); });
      return 0;
    }
    const auto target = static_cast<std::size_t>(targets[row]);
    const wide most = team.greatest(quads, [&](std::size_t q) {
      const wide_quad<T> v = load(q);
      wide found = v.at[0];
      for (std::size_t j = 1; j < width; ++j) found = q * width + j < classes && v.at[j] > found ? v.at[j] : found;
      return found;
    });
    const wide of_class = widened(x[target]); // read before the last sum: after it, others may write here
    const auto add_powers = [&](std::size_t q, wide(&some)[1]) {
      const wide_quad<T> v = load(q);
      for (std::size_t j = 0; j < width; ++j) some[0] += q * width + j < classes ? exponential(v.at[j] - most) : wide{0};
    };
    const double sum = team.template sums_over_quads<wide, 1>(quads, add_powers).at[0];
    const auto by = cross_entropy_shares::of(total_of_targets(), total_of_classes(), smoothing, classes);
    const double chosen = static_cast<double>(of_class) - static_cast<double>(most);
    const double distances = by.spread == 0 ? 0 : team.sum(classes, [&](std::size_t c) {
      return weight(c) * (static_cast<double>(widened(x[c])) - static_cast<double>(most));
    });
    const double loss = by.loss(weight(target), sum, chosen, distances);
    if (result != nullptr) {
      auto of_gradient = by;
      if (gradient_scale != nullptr) of_gradient.share *= *gradient_scale;
      const auto f = of_gradient.template gradient<wide>(weight(target), sum);
      team.each(quads, [&](std::size_t q) {
        wide_quad<T> v = load(q);
        for (std::size_t j = 0; j < width; ++j) {
          const std::size_t c = q * width + j;
          v.at[j] = exponential(v.at[j] - most) * f.factor;
          if (f.even != 0 && c < classes) v.at[j] -= f.even * (class_weights == nullptr ? wide{1} : class_weights[c]);
          if (c == target) v.at[j] -= f.of_target;
        }
        store(v, q);
      });
    }
    return loss;
  }
};

template <class T, class Target>
struct cross_entropy_totals {
  cross_entropy_on_gpu<T, Target> of;
  std::size_t rows;
  double* totals;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t) const {
    const double of_targets = team.sum(rows, [&](std::size_t row) { return of.target_weight(row); });
    const double of_classes = team.sum(of.classes, [&](std::size_t c) { return of.weight(c); });
    team.once([&] {
      totals[0] = of_targets;
      totals[1] = of_classes;
    });
  }
};
template <class T, class Target>
struct cross_entropy_of_part {
  static constexpr unsigned resident_threads =
      sizeof(accumulated<T>) == sizeof(float) ? 768 : 512; // exponentials of doubles need registers

  cross_entropy_on_gpu<T, Target> of;
  cut rows;
  double* sums;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t part) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(part); ++i) sum += of.loss_of(team, rows.begin(part) + i);
    team.once([&] { sums[part] = sum; });
  }
};
template <class T, class Target>
struct store_cross_entropy {
  double* loss;
  bool adds; // to the loss of earlier strips
  cross_entropy_on_gpu<T, Target> of;
  CAIRN_DEVICE void operator()(double sum) const {
    const double total = of.total_of_targets(), own = total == 0 ? 0 : sum / total;
    *loss = adds ? *loss + own : own;
  }
};

template <class T, class Target>
void run_cross_entropy(cuda::queue& queue, double* loss, std::size_t rows, cross_entropy_on_gpu<T, Target> of,
                       const ops::strip_of_rows& of_batch) {
  constexpr const char* op = "softmax_cross_entropy";
  of.aligned = rows_are_quads<T>(of.classes, of.logits, of.gradient);
  const auto room = queue.partial(op);
  double *const totals = room.data(), *const sums = totals + 2;
  if (of.class_weights == nullptr && !of.ignores) { // all weights are 1, and every row counts
    of.of_targets = static_cast<double>(of_batch.all);
    of.of_classes = static_cast<double>(of.classes);
  } else {
    of.totals = totals;
    launch_teams<256>(queue, op, 1, cross_entropy_totals<T, Target>{of, of_batch.all, totals});
  }
  of.targets += of_batch.first;
  const cut how(rows, 1, 8192);
  launch_teams_for(of.classes / 2, queue, op, how.parts, cross_entropy_of_part<T, Target>{of, how, sums});
  launch_teams<256>(queue, op, 1,
                    sum_of_parts_then<store_cross_entropy<T, Target>>{{loss, of_batch.first != 0, of}, how.parts, sums});
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T, std::integral Target>
void softmax_cross_entropy(cuda::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets) {
  detail::run_cross_entropy(queue, loss, logits.rows,
                            detail::cross_entropy_on_gpu<T, Target>{logits.data, output_gradient, targets, logits.columns, false,
                                                                    0, false, 0, nullptr, 0, 0, nullptr, nullptr},
                            strip_of_rows{0, logits.rows});
}

template <detail::floating_element T, std::integral Target>
void softmax_cross_entropy(cuda::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cross_entropy_options<T>>& options,
                           const strip_of_rows& of_batch) {
  const bool ignores = options.ignore_index != options.ignores_nothing;
  detail::run_cross_entropy(queue, loss, logits.rows,
                            detail::cross_entropy_on_gpu<T, Target>{logits.data, output_gradient, targets, logits.columns, false,
                                                                    options.ignore_index, ignores, options.label_smoothing,
                                                                    options.class_weights, 0, 0, nullptr, options.gradient_scale},
                            of_batch);
}

template <detail::floating_element T, std::integral Target>
void softmax_cross_entropy(cuda::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cross_entropy_options<T>>& options) {
  softmax_cross_entropy(queue, loss, output_gradient, logits, targets, options, strip_of_rows{0, logits.rows});
}

} // namespace cairn::ops
