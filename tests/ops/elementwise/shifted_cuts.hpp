// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

// The instruction sets that this machine has.
inline std::vector<cairn::detail::instruction_set> instruction_sets() {
  std::vector<cairn::detail::instruction_set> result;
  for (const auto set :
       {cairn::detail::instruction_set::plain, cairn::detail::instruction_set::avx2, cairn::detail::instruction_set::avx512})
    if (set <= cairn::detail::widest_instruction_set()) result.push_back(set);
  return result;
}

// Returns whether every element's bits are the same wherever it is and however the array is cut: runs the function over all
// operands, then from element `shift` on, then one element at a time, with every instruction set.
template <std::size_t Results, class T, std::size_t Operands, class F>
bool bits_ignore_cuts(const F& f, const std::array<std::vector<T>, Operands>& operands) {
  const std::size_t count = operands[0].size();
  const auto run = [&](cairn::detail::instruction_set set, std::array<std::vector<T>, Results>& out, std::size_t begin,
                       std::size_t length) {
    std::array<T*, Results> to{};
    std::array<const T*, Operands> from{};
    for (std::size_t k = 0; k < Results; ++k) to[k] = out[k].data() + begin;
    for (std::size_t k = 0; k < Operands; ++k) from[k] = operands[k].data() + begin;
    cairn::detail::run_elements(set, f, length, to, from);
  };
  const auto same = [&](const auto& a, const auto& b, std::size_t begin) {
    for (std::size_t k = 0; k < Results; ++k)
      if (std::memcmp(a[k].data() + begin, b[k].data() + begin, (count - begin) * sizeof(T)) != 0) return false;
    return true;
  };
  std::array<std::vector<T>, Results> whole, cut;
  for (auto* const all : {&whole, &cut})
    for (auto& out : *all) out.assign(count, T{0});
  for (const auto set : instruction_sets()) {
    run(set, whole, 0, count);
    for (std::size_t shift = 1; shift < 20; ++shift) {
      run(set, cut, shift, count - shift);
      if (!same(whole, cut, shift)) return false;
    }
    for (std::size_t i = 0; i < count; ++i) run(set, cut, i, 1);
    if (!same(whole, cut, 0)) return false;
  }
  return true;
}

// `count` numbers from low to high, in even steps.
template <class T>
std::vector<T> steps(double low, double high, std::size_t count) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = static_cast<T>(low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1));
  return result;
}

// The largest relative error of f(x), as each instruction set computes it, against exact(x) in double.
template <class F, class Exact>
double largest_error(const F& f, double low, double high, const Exact& exact, std::size_t count = 200001) {
  const std::vector<float> x = steps<float>(low, high, count);
  std::vector<float> y(x.size());
  double largest = 0;
  for (const auto set : instruction_sets()) {
    cairn::detail::run_elements(set, f, x.size(), std::array{y.data()}, std::array{x.data()});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(static_cast<double>(x[i]));
      const double error = (static_cast<double>(y[i]) - expected) / expected;
      if (expected != 0 && !(error < largest && -error < largest)) largest = error < 0 ? -error : error;
    }
  }
  return largest;
}
