// SPDX-License-Identifier: MIT
// Compares an op on a GPU, or on the fake runtime, with the same op on a cpu in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/random_normal.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/transfer/cuda.cuh>

#include <doctest/doctest.h>

#include "bounds.hpp"

#if !defined(CAIRN_ON_EMULATOR)
#define CAIRN_ON_EMULATOR 0 // 1: kernels run as nvcc compiles them, on the emulator of GPUs, where large cases would take minutes
#endif

namespace testing {

inline std::vector<double> normal(std::size_t count, std::uint32_t which) {
  std::vector<double> numbers(count);
  cairn::ops::fill_normal(std::span<double>(numbers), cairn::types::random_key{.seed = 5, .position = which});
  return numbers;
}

// The one GPU that all tests use.
inline cairn::cuda& gpu() {
  static cairn::cuda only;
  return only;
}

// An array on the GPU that an op may read or write, and that can be copied back. The `skipped` elements in front of it take away
// the alignment of a block.
template <class T>
class on_gpu {
public:
  on_gpu(const std::vector<T>& numbers, std::size_t skipped)
      : skipped_(skipped), count_(numbers.size()), memory_(gpu().allocate((count_ + skipped) * sizeof(T))) {
    cairn::ops::upload(gpu().compute(), count_, data(), numbers.data());
    gpu().compute().finish();
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()) + skipped_; }
  std::vector<T> back() const {
    std::vector<T> numbers(count_);
    cairn::ops::download(gpu().compute(), count_, numbers.data(), static_cast<const T*>(data()));
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

// Arrays that an op reads, and arrays that it reads and writes.
struct operands {
  std::vector<std::vector<double>> in{};
  std::vector<std::vector<double>> out{};
  std::vector<std::vector<double>> doubles{}; // written too; doubles whatever T is
  std::vector<std::int32_t> integers{};
};
template <class T>
struct given {
  std::vector<const T*> in{};
  std::vector<T*> out{};
  std::vector<double*> doubles{};
  const std::int32_t* integers = nullptr;
};

// The largest |x - y| / (1 + |y|); infinity where only one side is NaN.
template <class X>
double distance(const std::vector<X>& x, const std::vector<double>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = static_cast<double>(x[i]), b = y[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue; // equal infinities too
    const double far = std::abs(a - b) / (1 + std::abs(b));
    worst = std::isnan(far) ? INFINITY : std::max(worst, far);
  }
  return worst;
}

// The arrays that op(queue, given<T>) writes.
template <class T>
struct results_of {
  std::vector<std::vector<T>> out{};
  std::vector<std::vector<double>> doubles{};
};

// Runs the op on the GPU, with `skipped` elements in front of each array.
template <class T, class Op>
results_of<T> of_gpu(const operands& all, const Op& op, std::size_t skipped = 0) {
  std::vector<on_gpu<T>> in, out;
  std::vector<on_gpu<double>> doubles;
  given<T> there;
  for (const auto& x : all.in) there.in.push_back(in.emplace_back(converted<T>(x), skipped).data());
  for (const auto& x : all.out) there.out.push_back(out.emplace_back(converted<T>(x), skipped).data());
  for (const auto& x : all.doubles) there.doubles.push_back(doubles.emplace_back(x, 0).data());
  const on_gpu<std::int32_t> integers(all.integers, 0);
  there.integers = integers.data();
  op(gpu().compute(), there);
  results_of<T> found;
  for (const auto& x : out) found.out.push_back(x.back());
  for (const auto& x : doubles) found.doubles.push_back(x.back());
  return found;
}
// Runs the op on a cpu in double. Operands are rounded to T first, as the GPU gets them.
template <class T, class Op>
results_of<double> of_cpu(operands all, const Op& op) {
  for (auto* const list : {&all.in, &all.out})
    for (auto& x : *list)
      for (double& n : x) n = static_cast<double>(static_cast<T>(n));
  cairn::cpu::queue processor{1};
  given<double> here;
  for (const auto& x : all.in) here.in.push_back(x.data());
  for (auto& x : all.out) here.out.push_back(x.data());
  for (auto& x : all.doubles) here.doubles.push_back(x.data());
  here.integers = all.integers.data();
  op(processor, here);
  return {all.out, all.doubles};
}
template <class T>
double distance(const results_of<T>& x, const results_of<double>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.out.size(); ++i) worst = std::max(worst, distance(x.out[i], y.out[i]));
  for (std::size_t i = 0; i < x.doubles.size(); ++i) worst = std::max(worst, distance(x.doubles[i], y.doubles[i]));
  return worst;
}
// The distance of the GPU's results from those of the cpu.
template <class T, class Op>
double apart(const operands& all, const Op& op, std::size_t skipped = 0) {
  return distance(of_gpu<T>(all, op, skipped), of_cpu<T>(all, op));
}

// The largest distances that tests have found so far, in float and in double. If the variable CAIRN_FOUND names a file, they are
// written to it at the end, as a table with the bounds beside them.
class found_distances {
public:
  static found_distances& of_tests() {
    static found_distances only;
    return only;
  }
  void note(std::string_view op, double of_float, double of_double) {
    for (std::size_t i = 0; i < std::size(bounds); ++i)
      if (bounds[i].op == op) float_[i] = std::max(float_[i], of_float), double_[i] = std::max(double_[i], of_double);
  }
  ~found_distances() {
    const char* const name = std::getenv("CAIRN_FOUND");
    std::FILE* const to = name == nullptr ? nullptr : std::fopen(name, "w");
    if (to == nullptr) return;
    std::fprintf(to, "| op | float | at most | double | at most |\n| --- | ---: | ---: | ---: | ---: |\n");
    for (std::size_t i = 0; i < std::size(bounds); ++i)
      std::fprintf(to, "| %s | %.1e | %.0e | %.1e | %.0e |\n", std::string(bounds[i].op).c_str(), float_[i], bounds[i].of_float,
                   double_[i], bounds[i].of_double);
    std::fclose(to);
  }

private:
  double float_[std::size(bounds)] = {}, double_[std::size(bounds)] = {};
};

inline const bound_of_op* bound_of(std::string_view name) {
  const auto* const bound = std::find_if(std::begin(bounds), std::end(bounds), [&](const auto& b) { return b.op == name; });
  REQUIRE_MESSAGE(bound != std::end(bounds), "tests/cuda/bounds.hpp has no bound for ", std::string(name));
  return bound;
}

// Whether distances that a test has found are within the table's bounds.
inline bool within(std::string_view name, double of_float, double of_double) {
  const bound_of_op* const bound = bound_of(name);
  found_distances::of_tests().note(name, of_float, of_double);
  return of_float <= bound->of_float && of_double <= bound->of_double;
}

// The distance of an op on the GPU from the same op on a cpu in double, as a fraction of the op's bound: at most 1 if the op is
// right. With `same_bits`, arrays that a GPU cannot read 16 bytes at a time must give the very bits of aligned ones; if not, the
// result is infinite.
template <class Op>
double over(std::string_view name, const operands& all, const Op& op, bool same_bits = true) {
  const bound_of_op* const bound = bound_of(name);
  const auto of = [&]<class T>(T, double most) {
    const results_of<T> aligned = of_gpu<T>(all, op);
    const double worst = distance(aligned, of_cpu<T>(all, op));
    if (same_bits) {
      const results_of<T> other = of_gpu<T>(all, op, 1);
      for (std::size_t i = 0; i < aligned.out.size(); ++i)
        if (std::memcmp(aligned.out[i].data(), other.out[i].data(), aligned.out[i].size() * sizeof(T)) != 0)
          return std::pair<double, double>{worst, INFINITY};
    }
    return std::pair<double, double>{worst, worst == 0 ? 0 : worst / most};
  };
  const auto in_float = of(0.0F, bound->of_float), in_double = of(0.0, bound->of_double);
  found_distances::of_tests().note(name, in_float.first, in_double.first);
  return std::max(in_float.second, in_double.second);
}

} // namespace testing
