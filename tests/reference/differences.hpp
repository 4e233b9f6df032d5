// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

// The largest |found - expected| / max(1, |expected|); infinite if the sizes differ or an element is NaN.
template <class T>
double largest_difference(const std::vector<T>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(found[i]) - expected[i]) / std::max(1.0, std::fabs(expected[i]));
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}
