// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/feature_statistics.hpp>

namespace cairn::detail {

// A layer that standardizes: one whose first buffers are named "mean" and "std".
struct scaled_layer {
  std::string place; // as "0" or "2.1"
  std::uint32_t leaf = 0;
  std::size_t features = 0;
};

// All of them in a network, from the first to the last.
template <class Owner>
std::vector<scaled_layer> scaled_layers(const Owner& owner) {
  std::vector<scaled_layer> found;
  scaled_layer last{"", UINT32_MAX, 0};
  owner.for_each_buffer([&](const auto& q) {
    const std::string_view own = q.facts->name;
    if (q.index == 0 && own == "mean") {
      last = {q.name.substr(0, q.name.size() - own.size()), q.leaf, q.numbers.size()};
      if (last.place.ends_with('.')) last.place.pop_back();
    } else if (q.index == 1 && own == "std" && q.leaf == last.leaf && q.numbers.size() == last.features) found.push_back(last);
  });
  return found;
}

// The one at this place, or the only one if there is no place.
template <class Owner>
scaled_layer scaled_layer_at(const Owner& owner, std::string_view place) {
  const std::vector<scaled_layer> all = scaled_layers(owner);
  std::string places;
  for (const scaled_layer& each : all) {
    if (each.place == place || (place.empty() && all.size() == 1)) return each;
    places += (places.empty() ? "\"" : ", \"") + each.place + "\"";
  }
  if (all.empty())
    throw input_error(
        "preprocess::set_statistics: expected a network with a preprocess::Standardize<Features>, found none in it; "
        "write one as its first layer");
  throw input_error("preprocess::set_statistics: expected the place of a preprocess::Standardize, one of " + places + ", found " +
                    (place.empty() ? "none" : "\"" + std::string(place) + "\""));
}

// A mean or a deviation as the network keeps it.
template <class T>
T kept_statistic(double x, bool is_deviation, std::size_t feature) {
  const auto kept = static_cast<T>(
      std::abs(x) > static_cast<double>(std::numeric_limits<T>::max()) ? std::numeric_limits<double>::infinity() : x);
  if (std::isfinite(kept) && (!is_deviation || kept >= std::numeric_limits<T>::min())) return kept;
  throw input_error("preprocess::set_statistics: expected a " + std::string(is_deviation ? "positive deviation" : "mean") +
                    " that a number of " + std::to_string(8 * sizeof(T)) + " bits holds, found " + std::to_string(x) +
                    " in feature " + std::to_string(feature));
}

} // namespace cairn::detail

namespace cairn::preprocess {

// Gives a network's preprocess::Standardize these statistics. `owner` is a model or a trainer, on any device. `place` is where
// the layer is, as its buffers are named ("0" of "0.mean"); it may be left out if there is only one. With ddp every rank calls
// it with the same statistics, or one rank does, before synchronize(its rank). Throws input_error, and changes nothing, if
// there is no such layer, or for other features than it has, or for a deviation that is not above 0.
template <class Owner>
void set_statistics(Owner& owner, const feature_statistics& found, std::string_view place = {}) {
  using number = typename Owner::number;
  const detail::scaled_layer at = detail::scaled_layer_at(std::as_const(owner), place);
  if (found.mean.size() != at.features || found.deviation.size() != at.features)
    throw input_error("preprocess::set_statistics: expected a mean and a deviation for each of the " +
                      std::to_string(at.features) + " features of the preprocess::Standardize at \"" + at.place + "\", found " +
                      std::to_string(found.mean.size()) + " and " + std::to_string(found.deviation.size()));
  std::vector<number> kept[2];
  for (std::size_t j = 0; j < at.features; ++j) {
    kept[0].push_back(detail::kept_statistic<number>(found.mean[j], false, j));
    kept[1].push_back(detail::kept_statistic<number>(found.deviation[j], true, j));
  }
  owner.for_each_buffer([&](const auto& q) {
    if (q.leaf != at.leaf || q.index > 1) return;
    for (std::size_t j = 0; j < at.features; ++j) q.numbers[j] = kept[q.index][j];
  });
}

// The same with the statistics of a dataset's input, or of its input K, which are returned: what scikit-learn's
// StandardScaler().fit(X) is. Call it once, before training, with the data of training alone:
//
//   trainer<Sequential<preprocess::Standardize<13>, Linear<13, 64>, ReLU, Linear<64, 1>>, MSELoss, Adam, batch<32>> train{...};
//   preprocess::learn_statistics(train, data.train);
template <std::size_t K = 0, class Owner, class Dataset>
feature_statistics learn_statistics(Owner& owner, const Dataset& data, std::string_view place = {}) {
  feature_statistics found = statistics_of<K>(data);
  set_statistics(owner, found, place);
  return found;
}

} // namespace cairn::preprocess
