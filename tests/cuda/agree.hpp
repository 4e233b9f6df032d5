// SPDX-License-Identifier: MIT
// An op on a GPU, or on the fake runtime, beside the same op on a cpu in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/random_normal.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/transfer/cuda.cuh>

#include <doctest/doctest.h>

namespace testing {

inline std::vector<double> normal(std::size_t count, std::uint32_t which) {
  std::vector<double> numbers(count);
  cairn::fill_normal(std::span<double>(numbers), cairn::random_key{.seed = 5, .position = which});
  return numbers;
}

// The one GPU of all tests.
inline cairn::cuda& gpu() {
  static cairn::cuda only;
  return only;
}

// Numbers of a GPU, where an op writes too, that come back. Behind `skipped` numbers they are not aligned as a block is.
template <class T>
class on_gpu {
public:
  on_gpu(const std::vector<T>& numbers, std::size_t skipped)
      : skipped_(skipped), count_(numbers.size()), memory_(gpu().allocate((count_ + skipped) * sizeof(T))) {
    cairn::upload(gpu().compute(), count_, data(), numbers.data());
    gpu().compute().finish();
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()) + skipped_; }
  std::vector<T> back() const {
    std::vector<T> numbers(count_);
    cairn::download(gpu().compute(), count_, numbers.data(), static_cast<const T*>(data()));
    gpu().compute().finish();
    return numbers;
  }

private:
  std::size_t skipped_, count_;
  cairn::cuda::memory memory_;
};

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  return std::vector<To>(from.begin(), from.end());
}

// What an op reads, and what it reads and writes.
struct operands {
  std::vector<std::vector<double>> in{};
  std::vector<std::vector<double>> out{};
  std::vector<std::vector<double>> doubles{}; // written too, whatever T is
  std::vector<std::int32_t> integers{};
};
template <class T>
struct given {
  std::vector<const T*> in{};
  std::vector<T*> out{};
  std::vector<double*> doubles{};
  const std::int32_t* integers = nullptr;
};

// The largest |x - y| / (1 + |y|), of NaN on one side only infinity.
template <class X>
double distance(const std::vector<X>& x, const std::vector<double>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = static_cast<double>(x[i]), b = y[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue; // infinities too
    const double far = std::abs(a - b) / (1 + std::abs(b));
    worst = std::isnan(far) ? INFINITY : std::max(worst, far);
  }
  return worst;
}

// How far op(queue, given<T>) on a GPU is from op(queue, given<double>) on a cpu. `skipped` elements stand before each array.
template <class T, class Op>
double apart(const operands& all, const Op& op, std::size_t skipped = 0) {
  operands expected = all;
  cairn::cpu::queue processor{1};
  given<double> here;
  for (const auto& x : expected.in) here.in.push_back(x.data());
  for (auto& x : expected.out) here.out.push_back(x.data());
  for (auto& x : expected.doubles) here.doubles.push_back(x.data());
  here.integers = expected.integers.data();
  // What the GPU is given is rounded to T, so that this is given the same.
  for (auto* const list : {&expected.in, &expected.out})
    for (auto& x : *list)
      for (double& n : x) n = static_cast<double>(static_cast<T>(n));
  op(processor, here);

  std::vector<on_gpu<T>> in, out;
  std::vector<on_gpu<double>> doubles;
  given<T> there;
  for (const auto& x : all.in) there.in.push_back(in.emplace_back(converted<T>(x), skipped).data());
  for (const auto& x : all.out) there.out.push_back(out.emplace_back(converted<T>(x), skipped).data());
  for (const auto& x : all.doubles) there.doubles.push_back(doubles.emplace_back(x, 0).data());
  const on_gpu<std::int32_t> integers(all.integers, 0);
  there.integers = integers.data();
  op(gpu().compute(), there);
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) worst = std::max(worst, distance(out[i].back(), expected.out[i]));
  for (std::size_t i = 0; i < doubles.size(); ++i) worst = std::max(worst, distance(doubles[i].back(), expected.doubles[i]));
  return worst;
}

} // namespace testing
