// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/dataset.hpp>

namespace cairn {

// Some samples of a dataset, as torch's Subset: sample i is sample indices[i] of the whole dataset; an index may repeat. The
// dataset is not copied and must outlive the subset. Models dataset.
//
// A transform's random numbers depend on a sample's index in the subset. Throws input_error for an index that the dataset
// does not have.
template <class Dataset>
class subset {
  static_assert(detail::checked_dataset<Dataset>::value);

public:
  using input_type = typename Dataset::input_type;
  using target_type = typename Dataset::target_type;

  subset(const Dataset& whole, std::vector<std::size_t> indices) : whole_(&whole), indices_(std::move(indices)) {
    for (const std::size_t index : indices_)
      if (index >= whole.size())
        throw input_error("subset: expected indices below the " + std::to_string(whole.size()) +
                          " samples of the dataset, found " + std::to_string(index));
  }
  // A temporary dataset would be gone before the first sample is read.
  subset(const Dataset&&, std::vector<std::size_t>) = delete;

  std::size_t size() const { return indices_.size(); }
  decltype(auto) sample_shape() const
    requires(!detail::are_several<input_type>)
  {
    return whole_->sample_shape();
  }
  decltype(auto) sample_shapes() const
    requires(detail::are_several<input_type>)
  {
    return whole_->sample_shapes();
  }
  std::size_t targets_per_sample() const { return whole_->targets_per_sample(); }

  template <class... Spans>
  void read(std::size_t index, Spans... to) const
    requires(sizeof...(Spans) == detail::inputs_of<input_type>::count + 1)
  {
    whole_->read(indices_[index], to...);
  }

  // A hash of the whole dataset's fingerprint and of the indices; 0 if the whole dataset's is 0.
  std::uint64_t fingerprint() const
    requires detail::fingerprinted_dataset<Dataset>
  {
    const std::array<std::uint64_t, 2> both{whole_->fingerprint(), detail::quick_checksum(std::as_bytes(std::span(indices_)))};
    return both[0] == 0 ? 0 : detail::quick_checksum(std::as_bytes(std::span(both)));
  }

  const Dataset& whole() const { return *whole_; }
  const std::vector<std::size_t>& indices() const { return indices_; }

private:
  const Dataset* whole_;
  std::vector<std::size_t> indices_;
};

} // namespace cairn
