// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace cairn {

// A straight axis: 0 is drawn at `from`, `most` at `to`; lengths in pixels.
struct axis_scale {
  double from = 0;
  double to = 0;
  double most = 1;

  constexpr double operator()(double value) const { return from + (to - from) * value / most; }
  constexpr double length(double value) const { return (to - from) * value / most; }
};

// The distance between the ticks of an axis from 0 to `most`: 1, 2 or 5 times a power of ten, at most `ticks`
// of them.
inline double decimal_step(double most, std::size_t ticks) {
  if (!(most > 0)) return 1;
  const double least = most / static_cast<double>(ticks > 0 ? ticks : 1);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least * (1 - 1e-9)) return power * factor;
  return power * 10;
}

// The same for bytes: 1, 2 or 5 times a power of ten of KiB, MiB or GiB, whichever suits `most`.
inline double byte_step(double most, std::size_t ticks) {
  double unit = 1;
  while (most / unit >= 1024) unit *= 1024;
  const double step = decimal_step(most / unit, ticks);
  return unit == 1 && step < 1 ? 1 : step * unit;
}

// The ticks of a logarithmic axis from `least` to `most`, both included: 1, 2 and 5 times the powers of ten, or the
// powers alone where that is more than `ticks`. For bytes `unit` is 1024: then powers of ten of each binary unit.
inline std::vector<double> log_ticks(double least, double most, std::size_t ticks, double unit = 1000) {
  std::vector<double> out;
  if (!(least > 0) || !(most >= least) || !std::isfinite(most)) return out;
  const double first = std::pow(unit, std::floor(std::log(least) / std::log(unit)) - 1);
  for (const bool all : {true, false}) {
    out.clear();
    for (double power = first; power <= most * (1 + 1e-9); power *= unit)
      for (double ten = power; ten < power * (unit > 1000 ? 1000 : unit) * (1 - 1e-9); ten *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
          const double tick = factor * ten;
          const bool inside = tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9);
          if (inside && (all || factor < 2)) out.push_back(tick);
        }
    if (out.size() <= ticks) break;
  }
  return out;
}

// Every how many rows a row can have its number, if a number needs `room` and a row is `row` high: 1, 2 or 5
// times a power of ten.
inline std::size_t label_every(double row, double room) {
  for (std::size_t power = 1;; power *= 10)
    for (const std::size_t factor : {1U, 2U, 5U})
      if (static_cast<double>(factor * power) * row >= room) return factor * power;
}

} // namespace cairn
