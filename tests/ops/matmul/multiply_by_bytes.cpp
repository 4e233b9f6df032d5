// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/random.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/multiply_by_bytes.hpp>

namespace multiply_by_bytes_tests {

using namespace cairn;
using detail::instruction_set, detail::matrix, detail::product, detail::weight_in_bytes;

namespace {

// Numbers of very different sizes in a row.
std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float x = ops::random_uniform<float>({seed, 0, 0}, i) - 0.5F;
    all[i] = ops::random_bits({seed, 1, 0}, i) % 3 == 0 ? x * x * x : x;
  }
  return all;
}

struct operands {
  std::size_t m, n, k;
  std::vector<float> a, weight, bias, addend;

  operands(std::size_t m_, std::size_t n_, std::size_t k_)
      : m(m_), n(n_), k(k_), a(numbers(m * k, 1)), weight(numbers(n * k, 2)), bias(numbers(n, 3)), addend(numbers(m * n, 4)) {}
  matrix<const float> of_weight() const { return {weight.data(), n, k}; }
  ops::epilogue<float> then() const {
    ops::epilogue<float> e;
    e.bias = bias.data();
    e.then = ops::activation::relu;
    e.addend = {addend.data(), m, n};
    return e;
  }
  template <class Kernels>
  std::vector<std::byte> packed() const {
    std::vector<std::byte> bytes(weight_in_bytes::bytes(n, k));
    weight_in_bytes::pack(bytes.data(), of_weight(), Kernels::sliver);
    return bytes;
  }
  template <class Kernels>
  std::vector<float> by(const ops::epilogue<float>& e) const {
    const auto bytes = packed<Kernels>();
    std::vector<float> c(m * n, -7);
    const product<float> whole({c.data(), m, n}, {a.data(), m, k}, of_weight(), ops::transpose::second, e);
    std::vector<std::byte> scratch(1 << 20);
    detail::multiply_by_bytes<Kernels>(whole, weight_in_bytes(bytes.data(), n, k), 0, n, scratch);
    return c;
  }
};

// The formula of the header, element by element.
std::vector<float> expected(const operands& o, const ops::epilogue<float>& e) {
  std::vector<float> c(o.m * o.n);
  for (std::size_t i = 0; i < o.m; ++i) {
    const float* const row = o.a.data() + i * o.k;
    float largest = 0;
    for (std::size_t p = 0; p < o.k; ++p) largest = std::max(largest, std::abs(row[p]));
    int exponent = -100;
    if (largest > 0) std::frexp(largest, &exponent);
    exponent = std::max(exponent, -100);
    const double step = std::ldexp(1.0, exponent - 23);
    for (std::size_t j = 0; j < o.n; ++j) {
      const float* const weight = o.weight.data() + j * o.k;
      const float scale = weight_in_bytes::scale_of(weight, o.k);
      std::int64_t sum = 0;
      for (std::size_t p = 0; p < o.k; ++p) {
        const auto x =
            std::min(static_cast<std::int64_t>(std::round(static_cast<double>(row[p]) / step)), std::int64_t{(1 << 23) - 1});
        sum += x * static_cast<std::int64_t>(scale > 0 ? std::nearbyint(weight[p] / scale) : 0);
      }
      float value = static_cast<float>(static_cast<double>(sum) * (static_cast<double>(scale) * step));
      if (e.bias != nullptr) value += e.bias[j];
      if (e.then == ops::activation::relu) value = std::max(0.0F, value);
      if (e.addend.data != nullptr) value += e.addend(i, j);
      c[i * o.n + j] = value;
    }
  }
  return c;
}

// Calls f(kernels) for all that this machine has.
template <class F>
void with_each(const F& f) {
  f(detail::bytes_plain<float>{});
  const instruction_set widest = detail::widest_instruction_set();
#if CAIRN_X86
  if (widest >= instruction_set::avx2) f(detail::bytes_avx2<float>{});
  if (widest >= instruction_set::avx512 && __builtin_cpu_supports("avx512vnni") != 0) f(detail::bytes_avx512<float>{});
#else
  static_cast<void>(widest);
#endif
}

} // namespace

TEST_CASE("multiply_by_bytes: every kernel has the bits of exact sums, for all sizes") {
  for (const auto [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1},
                               {1, 16, 4},
                               {1, 17, 7},
                               {2, 48, 8},
                               {3, 49, 33},
                               {5, 96, 100},
                               {2, 130, 257},
                               {1, 10, 512},
                               {9, 47, 31},
                               {2, 3, 0},
                               {1, 20, 5000},
                               {300, 5, 6}}) {
    const operands o(m, n, k);
    for (const ops::epilogue<float>& e : {ops::epilogue<float>{}, o.then()}) {
      const std::vector<float> right = expected(o, e);
      with_each([&]<class Kernels>(Kernels) {
        CAPTURE(o.m);
        CAPTURE(o.n);
        CAPTURE(o.k);
        CHECK(o.by<Kernels>(e) == right);
      });
    }
  }
}

TEST_CASE("multiply_by_bytes: the largest sums are exact") {
  operands o(2, 17, 70'000);
  std::fill(o.weight.begin(), o.weight.end(), 3.0F);
  std::fill(o.a.begin(), o.a.end(), 1.0F - 0x1p-24F); // all digits are large
  for (std::size_t p = 0; p < o.k; ++p) o.a[o.k + p] = -o.a[p];
  const std::vector<float> right = expected(o, {});
  with_each([&]<class Kernels>(Kernels) { CHECK(o.by<Kernels>({}) == right); });
}

TEST_CASE("multiply_by_bytes: rows of zeros, of tiny and of huge numbers, and one that is not finite") {
  operands o(5, 20, 40);
  for (std::size_t p = 0; p < o.k; ++p) {
    o.a[p] = 0;
    o.a[o.k + p] *= 1e-38F;
    o.a[2 * o.k + p] *= 1e38F;
    o.weight[3 * o.k + p] = 0;
  }
  const std::vector<float> right = expected(o, {});
  with_each([&]<class Kernels>(Kernels) { CHECK(o.by<Kernels>({}) == right); });
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    operands one = o;
    one.a[3 * o.k + 39] = -bad;
    with_each([&]<class Kernels>(Kernels) {
      const auto c = one.by<Kernels>({});
      for (std::size_t i = 0; i < c.size(); ++i) {
        if (i / o.n == 3) CHECK(std::isnan(c[i]));
        else CHECK(c[i] == right[i]);
      }
    });
    operands other = o;
    other.weight[7 * o.k + 2] = bad;
    with_each([&]<class Kernels>(Kernels) {
      const auto c = other.by<Kernels>({});
      for (std::size_t i = 0; i < c.size(); ++i) CHECK(std::isnan(c[i]) == (i % o.n == 7));
    });
  }
}

TEST_CASE("multiply_by_bytes: a weight is near its integers, and its largest element is exact") {
  const operands o(1, 33, 50);
  const auto bytes = o.packed<detail::bytes_plain<float>>();
  const weight_in_bytes made(bytes.data(), o.n, o.k);
  for (std::size_t j = 0; j < o.n; ++j) {
    const std::int8_t* const sliver = made.sliver(j / 16 * 16);
    int sum = 0, largest = 0;
    for (std::size_t p = 0; p < o.k; ++p) {
      const int w = sliver[(p / 4 * 16 + j % 16) * 4 + p % 4];
      CHECK(std::abs(static_cast<float>(w) * made.scales()[j] - o.weight[j * o.k + p]) <= 0.5001F * made.scales()[j]);
      sum += w;
      largest = std::max(largest, std::abs(w));
    }
    CHECK(sum == made.sums()[j]);
    CHECK(largest == 127);
  }
}

TEST_CASE("multiply_by_bytes: on several threads, by the machine's kernels") {
  const operands o(3, 500, 600);
  const instruction_set isa = detail::widest_instruction_set();
  std::vector<std::byte> bytes(weight_in_bytes::bytes(o.n, o.k));
  detail::pack_weight<float>(isa, ops::weight_format::int8, bytes.data(), o.of_weight());
  for (const std::size_t threads : {1U, 3U}) {
    cpu device{types::device_options{.threads = threads}};
    std::vector<float> c(o.m * o.n);
    ops::matmul<float>(device.compute(), {c.data(), o.m, o.n}, {o.a.data(), o.m, o.k}, o.of_weight(),
                       {o.weight.data(), bytes.data(), ops::weight_format::int8}, o.then());
    CHECK(c == expected(o, o.then()));
  }
}

} // namespace multiply_by_bytes_tests
