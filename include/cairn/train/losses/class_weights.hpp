// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// One weight for each class, kept as double and as float so that no step converts them.
class class_weights {
public:
  class_weights() = default;
  class_weights(std::initializer_list<double> weights) : class_weights(std::span(weights.begin(), weights.size())) {}
  explicit class_weights(std::span<const double> weights)
      : doubles_(weights.begin(), weights.end()), floats_(weights.begin(), weights.end()) {}

  std::size_t size() const { return doubles_.size(); }
  const std::vector<double>& values() const { return doubles_; }
  template <class T>
  const T* data() const {
    if constexpr (std::is_same_v<T, double>) return doubles_.data();
    else return floats_.data();
  }

private:
  std::vector<double> doubles_;
  std::vector<float> floats_;
};

} // namespace cairn::types
