// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/softmax_cross_entropy/formula.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The greater of `most` and the maximum of a row, in lanes if it is long: one after another, each comparison would wait for the
// one before.
template <class T>
T largest_of(T most, const T* row, std::size_t count) {
  constexpr std::size_t lanes = 16;
  std::size_t c = 0;
  if (count >= 4 * lanes) {
    T in_lanes[lanes];
    for (T& m : in_lanes) m = most;
    for (; c + lanes <= count; c += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const T x = row[c + lane];
        in_lanes[lane] = x > in_lanes[lane] ? x : in_lanes[lane];
      }
    for (const T m : in_lanes) most = m > most ? m : most;
  }
  for (; c < count; ++c) most = row[c] > most ? row[c] : most;
  return most;
}
// The maximum of a row. A NaN in front stays, as every lane begins with it; others are ignored here, and found by the sum.
template <class T>
accumulated<T> largest(const T* row, std::size_t classes) {
  auto most = static_cast<accumulated<T>>(row[0]);
  widened_row<T> own;
  constexpr std::size_t piece = is_narrow<T> ? strip : std::size_t(-1);
  for (std::size_t begin = 0; begin < classes; begin += std::min(piece, classes - begin)) {
    const std::size_t count = std::min(piece, classes - begin);
    most = largest_of(most, own.read(row + begin, count), count);
  }
  return most;
}

template <class T>
double gradient_scale_of(const cross_entropy_options<T>& options) {
  return options.gradient_scale == nullptr ? 1 : *options.gradient_scale;
}

// The arguments of one call; the gradient is null if it is not wanted. Exponentials are computed in accumulated<T>.
template <class T, class Target>
struct cross_entropy {
  using wide = accumulated<T>;
  static constexpr std::size_t piece = 1024;

  const T* logits;
  T* gradient;
  const Target* targets;
  std::size_t classes;
  const cross_entropy_options<T>* options; // null: none
  double scale = 1;                        // of the gradient
  cross_entropy_shares by{}, of_gradient{};
  instruction_set set = widest_for_elements();

  std::size_t target(std::size_t row) const { return static_cast<std::size_t>(targets[row]); }
  bool ignored(std::size_t row) const { return options != nullptr && std::cmp_equal(+targets[row], options->ignore_index); }
  const wide* weights() const { return options == nullptr ? nullptr : options->class_weights; }
  double weight(std::size_t c) const { return weights() == nullptr ? 1 : static_cast<double>(weights()[c]); }
  double distance(std::size_t row, wide most) const {
    return static_cast<double>(logits[row * classes + target(row)]) - static_cast<double>(most);
  }

  void prepare(std::size_t rows) {
    if (options == nullptr) return take(cross_entropy_shares::of(static_cast<double>(rows), 0, 0, classes));
    double total = 0, every = 0;
    for (std::size_t row = 0; row < rows; ++row) total += ignored(row) ? 0 : weight(target(row));
    for (std::size_t c = 0; c < classes; ++c) every += weight(c);
    take(cross_entropy_shares::of(total, every, options->label_smoothing, classes));
  }
  void take(const cross_entropy_shares& shares) {
    by = of_gradient = shares;
    of_gradient.share *= scale;
  }

  // Where exponentials of a piece are until the gradient is made of them: in its place, or in the piece's own memory if there is
  // none or it has 16 bits.
  static wide* place(T* result, wide* own) {
    if constexpr (is_narrow<T>) return own;
    else return result == nullptr ? own : result;
  }
  // The logits of a piece, in its own memory if they have 16 bits.
  static const wide* read(wide* own, const T* x, std::size_t count) {
    if constexpr (is_narrow<T>) return widen(own, x, count), own;
    else return x;
  }
  void fill(wide* to, const wide* x, std::size_t count, wide most) const {
    run_elements(set, shifted_exponential<wide>{most}, count, std::array{to}, std::array{x});
  }

  // The loss of one row, times W, a piece of the row at a time.
  double loss_of(std::size_t row) const {
    alignas(64) wide own[piece];
    const T* const x = logits + row * classes;
    T* const result = gradient == nullptr ? nullptr : gradient + row * classes;
    if (ignored(row)) {
      if (result != nullptr) std::fill_n(result, classes, static_cast<T>(wide{0}));
      return 0;
    }
    const wide most = largest(x, classes);
    const double of_target = weight(target(row)), chosen = distance(row, most);
    double sum = 0, distances = 0;
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      const wide* const v = read(own, x + begin, count);
      const auto distance_of = [v, most](std::size_t c) __attribute__((always_inline)) {
        return static_cast<double>(v[c]) - static_cast<double>(most);
      };
      const wide* const w = weights() == nullptr ? nullptr : weights() + begin;
      const auto weighted = [w, distance_of](std::size_t c)
                                __attribute__((always_inline)) { return static_cast<double>(w[c]) * distance_of(c); };
      if (by.spread != 0 && w == nullptr) distances += sum_in_lanes(count, distance_of); // before x may be overwritten
      else if (by.spread != 0) distances += sum_in_lanes(count, weighted);
      wide* const to = place(result == nullptr ? nullptr : result + begin, own);
      fill(to, v, count, most);
      sum += sum_in_lanes(count, [to](std::size_t c) __attribute__((always_inline)) { return static_cast<double>(to[c]); });
    }
    if (result != nullptr) finish(row, result, own, most, of_gradient.gradient<wide>(of_target, sum));
    return by.loss(of_target, sum, chosen, distances);
  }
  void finish(std::size_t row, T* result, wide* own, wide most, const cross_entropy_shares::of_row<wide>& f) const {
    const set_for_results<T> set_of_results = widest_for_results<T>();
    for (std::size_t begin = 0; begin < classes; begin += piece) {
      const std::size_t count = std::min(piece, classes - begin);
      wide* const to = place(result + begin, own);
      const wide* const e = to;
      if (is_narrow<T> && classes > piece) // `own` has the last piece
        fill(to, read(own, logits + row * classes + begin, count), count, most);
      run_elements(set_of_results, scaled<wide>{f.factor}, count, std::array{to}, std::array{e});
      if (by.spread != 0 && weights() == nullptr)
        run_elements(set_of_results, lowered<wide>{f.even}, count, std::array{to}, std::array{e});
      else if (by.spread != 0)
        run_elements(set_of_results, lowered_by_weight<wide>{f.even}, count, std::array{to}, std::array{e, weights() + begin});
      if (target(row) >= begin && target(row) - begin < count) to[target(row) - begin] -= f.of_target;
      if constexpr (is_narrow<T>) round_once(result + begin, to, count);
    }
  }

  // The sum of the losses of several rows of at most `short_row` classes without options. Many rows share one array of
  // exponentials, since a block of vector code is as long as a short row.
  static constexpr std::size_t short_row = 64;

  double short_rows(std::size_t first, std::size_t last) const {
    alignas(64) wide own[piece];
    double chosen[piece];
    const std::size_t rows = piece / classes;
    double loss = 0;
    for (std::size_t begin = first; begin < last; begin += rows) {
      const std::size_t count = std::min(rows, last - begin);
      const wide* const v = read(own, logits + begin * classes, count * classes);
      for (std::size_t row = 0; row < count; ++row) {
        const wide* const x = v + row * classes;
        const wide most = largest_of(x[0], x, classes);
        chosen[row] = distance(begin + row, most);
        for (std::size_t c = 0; c < classes; ++c) own[row * classes + c] = x[c] - most;
      }
      run_elements(set, shifted_exponential<wide>{0}, count * classes, std::array<wide*, 1>{own},
                   std::array<const wide*, 1>{own});
      for (std::size_t row = 0; row < count; ++row) {
        wide* const e = own + row * classes;
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += static_cast<double>(e[c]);
        loss += by.loss(1, sum, chosen[row], 0);
        if (gradient == nullptr) continue;
        const auto f = of_gradient.gradient<wide>(1, sum);
        wide* const to = place(gradient + (begin + row) * classes, e);
        for (std::size_t c = 0; c < classes; ++c) to[c] = e[c] * f.factor;
        to[target(begin + row)] -= f.of_target;
      }
      if constexpr (is_narrow<T>)
        if (gradient != nullptr) round_once(gradient + begin * classes, own, count * classes);
    }
    return loss;
  }
};

// Rows are added up in parts of about 4096 logits.
inline std::size_t rows_at_once(std::size_t classes) { return std::max<std::size_t>(1, 4096 / classes); }

template <class T, class Target>
void run_cross_entropy(cpu::queue& queue, double* loss, std::size_t rows, cross_entropy<T, Target> call,
                       const strip_of_rows& of_batch) {
  call.prepare(of_batch.all);
  call.targets += of_batch.first;
  const double sum = sum_of_parts(queue, rows, rows_at_once(call.classes), [&](std::size_t begin, std::size_t end, auto) {
    if (call.options == nullptr && call.classes <= call.short_row) return call.short_rows(begin, end);
    double part = 0;
    for (std::size_t row = begin; row < end; ++row) part += call.loss_of(row);
    return part;
  });
  *loss = of_batch.first == 0 ? sum * call.by.share : *loss + sum * call.by.share;
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets) {
  detail::run_cross_entropy<T, Target>(queue, loss, logits.rows, {logits.data, output_gradient, targets, logits.columns, nullptr},
                                       {0, logits.rows});
}

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cross_entropy_options<T>>& options) {
  // With a scale alone, the bits are those without options, times the scale.
  const bool scales_only = options.gradient_scale != nullptr && options.ignore_index == options.ignores_nothing &&
                           options.label_smoothing == 0 && options.class_weights == nullptr;
  detail::run_cross_entropy<T, Target>(queue, loss, logits.rows,
                                       {logits.data, output_gradient, targets, logits.columns, scales_only ? nullptr : &options,
                                        detail::gradient_scale_of(options)},
                                       {0, logits.rows});
}

template <class T, std::integral Target>
void softmax_cross_entropy(cpu::queue& queue, double* loss, T* output_gradient, std::type_identity_t<matrix<const T>> logits,
                           const Target* targets, const std::type_identity_t<cross_entropy_options<T>>& options,
                           const strip_of_rows& of_batch) {
  detail::run_cross_entropy<T, Target>(
      queue, loss, logits.rows,
      {logits.data, output_gradient, targets, logits.columns, &options, detail::gradient_scale_of(options)}, of_batch);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
