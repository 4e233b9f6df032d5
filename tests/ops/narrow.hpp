// SPDX-License-Identifier: MIT
// Compares ops on 16-bit elements with the same ops on floats of the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/device/cpu.hpp>

namespace narrow {

// The same values as 16-bit elements and as floats.
template <class T>
struct both {
  std::vector<T> own;
  std::vector<float> wide;
};

template <class T>
both<T> of(const std::vector<float>& values) {
  both<T> out;
  for (const float v : values) {
    out.own.push_back(T(v));
    out.wide.push_back(static_cast<float>(out.own.back()));
  }
  return out;
}
template <class T>
both<T> normal(std::size_t count, std::uint64_t stream) {
  std::vector<float> values(count);
  cairn::ops::fill_normal(std::span<float>(values), cairn::types::random_key{.seed = stream});
  return of<T>(values);
}

// Counts the elements that are not the rounded exact value, which may be off by `slack`.
template <class T>
std::size_t wrong(const std::vector<T>& found, const std::vector<float>& exact, float slack = 0) {
  std::size_t count = found.size() == exact.size() ? 0 : 1;
  for (std::size_t i = 0; i < found.size() && i < exact.size(); ++i) {
    const auto own = static_cast<float>(found[i]);
    const bool right = static_cast<float>(T(exact[i] - slack)) <= own && own <= static_cast<float>(T(exact[i] + slack));
    if (!right && !(own != own && exact[i] != exact[i])) ++count;
  }
  return count;
}

} // namespace narrow
