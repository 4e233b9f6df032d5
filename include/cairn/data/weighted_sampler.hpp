// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/permutation.hpp>
#include <cairn/data/sample_order.hpp>

namespace cairn::detail {

inline constexpr std::uint64_t weighted_purpose = 0x51E8D70B9C3A642FU; // see permutation.hpp

} // namespace cairn::detail

namespace cairn::types {

struct weighted_options {
  std::uint64_t seed = 0;
  std::size_t draws = 0; // in an epoch, by all ranks together; 0: as many as there are samples
};

} // namespace cairn::types

namespace cairn::samplers {

// Draws samples with replacement, each with a likelihood in proportion to its weight, as torch's WeightedRandomSampler with
// replacement=True: rare classes are then as frequent as others. All ranks make the same draws from (seed, epoch), without a
// message, and rank r of R reads draws r, r + R, r + 2R, ... So step k of all ranks reads the samples of step k of one rank with
// R times the batch. All ranks read equally much, which is up to R - 1 draws more than asked. Models sample_order.
//
//   loader batches{data, samplers::weighted{rank, samplers::balanced(data.targets)}, batch<64>{}};
//
// Throws input_error if a weight is negative or not finite, if all are 0, and, in a loader, if there is not one for each sample.
class weighted {
public:
  // `ranks` is a communicator, or anything else with rank() and size(); `weights` is a range of numbers.
  template <detail::ranked Ranks, class Weights>
  weighted(const Ranks& ranks, const Weights& weights, types::weighted_options options = {})
      : here_(detail::checked_share(ranks.rank(), ranks.size(), "weighted")), options_(options) {
    set(weights);
  }
  // One rank that reads everything.
  template <class Weights>
    requires(!detail::ranked<Weights>)
  explicit weighted(const Weights& weights, types::weighted_options options = {}) : options_(options) {
    set(weights);
  }

  const types::weighted_options& options() const { return options_; }
  std::size_t ranks() const { return here_.size; }

  std::size_t count(std::size_t samples) const {
    const std::size_t draws = options_.draws != 0 ? options_.draws : samples;
    return draws / here_.size + (draws % here_.size != 0 ? 1 : 0);
  }

  void order(std::size_t samples, std::uint64_t epoch, std::vector<std::size_t>& indices) const {
    if (samples != sums_.size())
      throw input_error("weighted: expected a weight for each of the " + std::to_string(samples) + " samples, found " +
                        std::to_string(sums_.size()));
    indices.resize(count(samples));
    const detail::random_key key{.seed = options_.seed ^ detail::weighted_purpose, .step = epoch};
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const std::array<std::uint32_t, 4> block = detail::random_block(key, k * here_.size + here_.rank);
      const std::uint64_t bits = (std::uint64_t{block[0]} << 32 | block[1]) >> 11; // as many as a double has
      const double at = static_cast<double>(bits) * 0x1p-53 * sums_.back();
      // The first whose sum is above: so none of weight 0. Rounding may give the whole sum.
      const auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
      indices[k] = found == sums_.end() ? last_ : static_cast<std::size_t>(found - sums_.begin());
    }
  }

private:
  template <class Weights>
  void set(const Weights& weights) {
    double sum = 0;
    for (const auto& one : weights) {
      const auto weight = static_cast<double>(one);
      if (!(weight >= 0) || !std::isfinite(weight))
        throw input_error("weighted: expected weights of 0 or more, found " + std::to_string(weight) + " for sample " +
                          std::to_string(sums_.size()));
      if (weight > 0) last_ = sums_.size();
      sums_.push_back(sum += weight);
    }
    if (!(sum > 0) || !std::isfinite(sum))
      throw input_error("weighted: expected weights with a finite sum above 0, found " + std::to_string(sum));
  }

  detail::rank_share here_;
  types::weighted_options options_{};
  std::vector<double> sums_; // of the weights up to each sample
  std::size_t last_ = 0;     // sample with a weight
};

// Weights with which all classes are drawn equally often: one through the number of samples of its class, for each target, an
// integer.
template <class Targets>
std::vector<double> balanced(const Targets& targets) {
  static_assert(std::integral<std::remove_cvref_t<decltype(*std::begin(targets))>>,
                "balanced: targets are class numbers, which are integers");
  std::unordered_map<std::int64_t, double> counts;
  for (const auto& target : targets) ++counts[static_cast<std::int64_t>(target)];
  std::vector<double> weights;
  for (const auto& target : targets) weights.push_back(1 / counts[static_cast<std::int64_t>(target)]);
  return weights;
}

} // namespace cairn::samplers
