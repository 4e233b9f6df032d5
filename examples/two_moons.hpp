// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>

// Two half circles that reach into each other, with noise; the class of a point is the one on which it lies.
struct moon_points {
  std::vector<float> points;
  std::vector<int> classes;

  moon_points(std::size_t count, std::uint64_t seed) : points(2 * count), classes(count) {
    cairn::ops::fill_normal(std::span<float>(points), cairn::types::random_key{.seed = seed});
    for (std::size_t i = 0; i < count; ++i) {
      const bool second = i % 2 != 0;
      const float angle = std::numbers::pi_v<float> * cairn::ops::random_uniform<float>({.seed = seed, .position = 1}, i);
      const float x = second ? 1 - std::cos(angle) : std::cos(angle), y = second ? 0.5F - std::sin(angle) : std::sin(angle);
      classes[i] = second ? 1 : 0;
      points[2 * i] = x + 0.1F * points[2 * i];
      points[2 * i + 1] = y + 0.1F * points[2 * i + 1];
    }
  }
};
