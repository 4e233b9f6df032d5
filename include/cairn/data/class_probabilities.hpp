// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/input_types.hpp>

namespace cairn::vision {

// A dataset whose targets are probabilities of classes, for SoftCrossEntropyLoss, in place of the numbers of classes: each
// target t becomes `classes` numbers, 1 at place t and 0 elsewhere. They are of the type of the inputs if that is double, else
// float. Models dataset. vision::mixup mixes them:
//
//   const vision::class_probabilities soft{data.train, 10};
//
// Throws input_error for fewer than two classes, and, where a sample is read, for a target that is no class. The dataset is not
// copied and must outlive this.
template <class Dataset>
class class_probabilities {
  static_assert(detail::checked_dataset<Dataset>::value);
  using label = typename Dataset::target_type;
  static_assert(std::integral<label>, "vision::class_probabilities: expected a dataset whose targets are numbers of classes");

public:
  using input_type = typename Dataset::input_type;
  using target_type = std::conditional_t<std::is_same_v<input_type, double>, double, float>;

  class_probabilities(const Dataset& whole, std::size_t classes) : whole_(&whole), classes_(classes) {
    if (classes < 2) throw input_error("class_probabilities: expected at least two classes, found " + std::to_string(classes));
  }
  // A temporary dataset would be gone before the first sample is read.
  class_probabilities(const Dataset&&, std::size_t) = delete;

  std::size_t size() const { return whole_->size(); }
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
  std::size_t targets_per_sample() const { return whole_->targets_per_sample() * classes_; }

  template <class... Spans>
    requires(sizeof...(Spans) == detail::inputs_of<input_type>::count + 1)
  void read(std::size_t index, Spans... to) const {
    read_all(index, std::tuple(to...), typename detail::inputs_of<input_type>::positions{});
  }

  // A hash of the whole dataset's fingerprint and of the number of classes; 0 if the whole dataset's is 0.
  std::uint64_t fingerprint() const
    requires detail::fingerprinted_dataset<Dataset>
  {
    const std::array<std::uint64_t, 2> both{whole_->fingerprint(), classes_};
    return both[0] == 0 ? 0 : detail::quick_checksum(std::as_bytes(std::span(both)));
  }

  const Dataset& whole() const { return *whole_; }
  std::size_t classes() const { return classes_; }

private:
  template <class Spans, std::size_t... K> // targets come last
  void read_all(std::size_t index, const Spans& to, std::index_sequence<K...>) const {
    const std::span<target_type> targets = std::get<sizeof...(K)>(to);
    std::array<label, 64> few; // few targets need no heap memory
    std::vector<label> many(targets.size() / classes_ > few.size() ? targets.size() / classes_ : 0);
    const std::span<label> own = many.empty() ? std::span<label>(few).first(targets.size() / classes_) : std::span<label>(many);
    whole_->read(index, std::get<K>(to)..., own);
    std::fill(targets.begin(), targets.end(), target_type{0});
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!(std::cmp_greater_equal(own[i], 0) && std::cmp_less(own[i], classes_)))
        throw input_error("class_probabilities: expected a class from 0 to " + std::to_string(classes_ - 1) + ", found " +
                          std::to_string(own[i]) + " as a target of sample " + std::to_string(index));
      targets[i * classes_ + static_cast<std::size_t>(own[i])] = 1;
    }
  }

  const Dataset* whole_;
  std::size_t classes_;
};

} // namespace cairn::vision
