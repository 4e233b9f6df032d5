// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

// Numbers within 1 of a center, the same for every type apart from the rounding from float.
template <class T>
std::vector<T> made_up(std::size_t count, double frequency, double center = 0) {
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(static_cast<float>(center + std::sin(frequency * static_cast<double>(i * i % 10007))));
  return out;
}

// The same, rounded to values that `As` has.
template <class As, class T>
void take_values(std::vector<T>& of) {
  if constexpr (!std::is_same_v<T, As>)
    for (T& v : of) v = static_cast<T>(static_cast<As>(v));
}
template <class T, class As>
std::vector<T> made_up_as(std::size_t count, double frequency, double center = 0) {
  std::vector<T> out = made_up<T>(count, frequency, center);
  take_values<As>(out);
  return out;
}

// The largest difference, relative to the largest magnitude in `b`.
template <class T>
double relative_difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return 1e9;
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::isnan(d) ? 1e9 : std::fmax(most, d);
    size = std::fmax(size, std::abs(static_cast<double>(b[i])));
  }
  return most / size;
}
