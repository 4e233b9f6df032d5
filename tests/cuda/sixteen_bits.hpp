// SPDX-License-Identifier: MIT
// Compares an op of 16-bit elements on a GPU with the same op of the same elements on a cpu.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>

#include "agree.hpp"

namespace testing {

// The last place of a number, as a part of it, at the most.
template <class T>
inline constexpr double last_place = std::is_same_v<T, cairn::bfloat16> ? 1.0 / 128 : 1.0 / 1024;

template <class T>
std::vector<T> rounded(const std::vector<double>& x) {
  std::vector<T> out;
  for (const double number : x) out.push_back(T(static_cast<float>(number)));
  return out;
}

// Arrays of T that an op reads, those that it reads and writes, and those of floats and of doubles that it reads and writes.
struct narrow_operands {
  std::vector<std::vector<double>> in{}, out{}, sums{}, doubles{};
  std::vector<std::int32_t> integers{};
  std::size_t scratch = 0; // floats that an op may leave anything in
};
template <class T>
struct narrow_given {
  std::vector<const T*> in{};
  std::vector<T*> out{};
  std::vector<float*> sums{};
  std::vector<double*> doubles{};
  const std::int32_t* integers = nullptr;
  float* scratch = nullptr;
};
template <class T>
struct narrow_results {
  std::vector<std::vector<T>> out{};
  std::vector<std::vector<float>> sums{};
  std::vector<std::vector<double>> doubles{};
};

template <class T, class Op>
narrow_results<T> narrow_of_gpu(const narrow_operands& all, const Op& op, std::size_t skipped = 0) {
  std::vector<on_gpu<T>> in, out;
  std::vector<on_gpu<float>> sums;
  std::vector<on_gpu<double>> doubles;
  narrow_given<T> there;
  for (const auto& x : all.in) there.in.push_back(in.emplace_back(rounded<T>(x), skipped).data());
  for (const auto& x : all.out) there.out.push_back(out.emplace_back(rounded<T>(x), skipped).data());
  for (const auto& x : all.sums) there.sums.push_back(sums.emplace_back(converted<float>(x), skipped).data());
  for (const auto& x : all.doubles) there.doubles.push_back(doubles.emplace_back(x, 0).data());
  const on_gpu<std::int32_t> integers(all.integers, 0);
  there.integers = integers.data();
  const on_gpu<float> scratch(std::vector<float>(all.scratch), skipped);
  there.scratch = scratch.data();
  op(gpu().compute(), there);
  narrow_results<T> found;
  for (const auto& x : out) found.out.push_back(x.back());
  for (const auto& x : sums) found.sums.push_back(x.back());
  for (const auto& x : doubles) found.doubles.push_back(x.back());
  return found;
}
template <class T, class Op>
narrow_results<T> narrow_of_cpu(const narrow_operands& all, const Op& op) {
  std::vector<std::vector<T>> in;
  narrow_results<T> found;
  for (const auto& x : all.in) in.push_back(rounded<T>(x));
  for (const auto& x : all.out) found.out.push_back(rounded<T>(x));
  for (const auto& x : all.sums) found.sums.push_back(converted<float>(x));
  found.doubles = all.doubles;
  narrow_given<T> here;
  for (const auto& x : in) here.in.push_back(x.data());
  for (auto& x : found.out) here.out.push_back(x.data());
  for (auto& x : found.sums) here.sums.push_back(x.data());
  for (auto& x : found.doubles) here.doubles.push_back(x.data());
  here.integers = all.integers.data();
  std::vector<float> scratch(all.scratch);
  here.scratch = scratch.data();
  cairn::cpu::queue processor{1};
  op(processor, here);
  return found;
}

// The largest distance of x from y, relative to the number, or to a part of the largest one, as sums lose what cancels out.
template <class X>
double relative_distance(const std::vector<X>& x, const std::vector<X>& y, double part) {
  double most = 0, worst = 0;
  for (const X& e : y)
    if (std::isfinite(static_cast<double>(e))) most = std::max(most, std::abs(static_cast<double>(e)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double far = std::abs(a - b) / std::max({std::abs(b), most * part, 1e-30});
    worst = std::isnan(far) ? std::numeric_limits<double>::infinity() : std::max(worst, far);
  }
  return worst;
}

// At most 1 if the GPU's results are the cpu's: those of 16 bits within one last place, those of floats and doubles within
// `of_sums` of the largest. Arrays that a GPU cannot read 16 bytes at a time must give the very bits of aligned ones; if not, it
// is infinite.
template <class T, class Op>
double narrow_apart(const narrow_operands& all, const Op& op, double of_sums = 1e-5) {
  const narrow_results<T> there = narrow_of_gpu<T>(all, op), here = narrow_of_cpu<T>(all, op);
  const narrow_results<T> other = narrow_of_gpu<T>(all, op, 1);
  double worst = 0;
  for (std::size_t i = 0; i < here.out.size(); ++i)
    worst = std::max(worst, relative_distance(there.out[i], here.out[i], 1.0 / 64) / last_place<T>);
  for (std::size_t i = 0; i < here.sums.size(); ++i)
    worst = std::max(worst, relative_distance(there.sums[i], here.sums[i], 1) / of_sums);
  for (std::size_t i = 0; i < here.doubles.size(); ++i)
    worst = std::max(worst, relative_distance(there.doubles[i], here.doubles[i], 1) / of_sums);
  for (std::size_t i = 0; i < there.out.size(); ++i)
    for (std::size_t j = 0; j < there.out[i].size(); ++j)
      if (there.out[i][j].bits != other.out[i][j].bits) return std::numeric_limits<double>::infinity();
  return worst;
}

} // namespace testing
