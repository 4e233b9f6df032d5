// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/input_types.hpp>
#include <cairn/data/minibatch.hpp>

namespace cairn::preprocess {

// The mean and the deviation of each feature of a dataset, as scikit-learn's StandardScaler has them in mean_ and scale_: the
// variance is divided by the number of rows. A feature that is the same number everywhere has a deviation of 1.
struct feature_statistics {
  std::vector<double> mean, deviation;
  std::size_t rows = 0; // that they are of
};

} // namespace cairn::preprocess

namespace cairn::detail {

// Mean and variance of rows that arrive one after another (Welford: Note on a method for calculating corrected sums of squares
// and products. 1962). Nothing cancels, however far from 0 a feature is, and one that does not vary has exactly the
// variance 0.
class running_moments {
public:
  explicit running_moments(std::size_t features) : mean_(features), squares_(features) {}

  template <std::floating_point T>
  void add(std::span<const T> row) {
    const double share = 1 / static_cast<double>(++rows_);
    double *const mean = mean_.data(), *const squares = squares_.data();
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double x = static_cast<double>(row[j]), distance = x - mean[j];
      mean[j] += distance * share;
      squares[j] += distance * (x - mean[j]);
    }
  }
  preprocess::feature_statistics result() const {
    preprocess::feature_statistics out{mean_, squares_, rows_};
    for (std::size_t j = 0; j < out.deviation.size(); ++j) {
      double& of = out.deviation[j];
      of = of == 0 ? 1 : std::sqrt(of / static_cast<double>(rows_));
      if (!std::isfinite(of) || !std::isfinite(out.mean[j]))
        throw input_error("preprocess::statistics_of: expected numbers whose squares a double holds, found larger ones in "
                          "feature " +
                          std::to_string(j) + "; divide the feature by a constant, such as its largest number");
    }
    return out;
  }

private:
  std::vector<double> mean_, squares_; // the mean so far, and the sum of squares of distances from it
  std::size_t rows_ = 0;
};

} // namespace cairn::detail

namespace cairn::preprocess {

// The statistics of a dataset's input, or of input K if a sample has several, from all of its samples, read once in their
// order. The features are the last extent: of images (height, width, channels) these are the channels, and every pixel is a
// row. Sums are taken in double. Equal datasets have equal statistics, on every rank. Throws input_error for a dataset without
// samples, and for a number that is not finite, with its sample and feature.
template <std::size_t K = 0, class Dataset>
feature_statistics statistics_of(const Dataset& data) {
  static_assert(detail::checked_dataset<Dataset>::value);
  using inputs = detail::inputs_of<typename Dataset::input_type>;
  static_assert(K < inputs::count, "preprocess::statistics_of: the dataset has fewer inputs than the number asks for");
  if (data.size() == 0) throw input_error("preprocess::statistics_of: expected samples, found a dataset without any");
  const shape extents = detail::shapes_of(data)[K];
  const std::size_t features = extents.rank == 0 ? 1 : extents[extents.rank - 1];
  const detail::batch_buffer<typename Dataset::input_type, typename Dataset::target_type> room(1, detail::shapes_of(data),
                                                                                               data.targets_per_sample());
  detail::running_moments moments(features);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::tuple sample{room.template input<I>(0)...};
    auto targets = room.targets(0);
    using number = typename std::tuple_element_t<K, decltype(sample)>::element_type;
    static_assert(std::floating_point<number>,
                  "preprocess::statistics_of: expected an input of float or double; of one of integers there is no scale");
    const std::span<const number> numbers = std::get<K>(sample);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data.read(i, std::get<I>(sample)..., targets);
      const auto wrong = std::find_if_not(numbers.begin(), numbers.end(), [](number x) { return std::isfinite(x); });
      if (wrong != numbers.end())
        throw input_error("preprocess::statistics_of: expected finite numbers, found " + std::to_string(*wrong) + " in feature " +
                          std::to_string(static_cast<std::size_t>(wrong - numbers.begin()) % features) + " of sample " +
                          std::to_string(i) + "; leave the sample out, or put a number in place of it");
      for (std::size_t begin = 0; begin < numbers.size(); begin += features) moments.add(numbers.subspan(begin, features));
    }
  }(typename inputs::positions{});
  return moments.result();
}

} // namespace cairn::preprocess
