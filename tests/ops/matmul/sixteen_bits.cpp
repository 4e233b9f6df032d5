// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/reference.hpp>
#include <cairn/ops/matmul/sixteen_bits.hpp>

#include "../narrow.hpp"
#include "case.hpp"

namespace matmul_sixteen_bits_tests {

using namespace cairn;

namespace {

struct extents {
  std::size_t m, n, k;
};

constexpr ops::transpose forms[] = {ops::transpose::none, ops::transpose::first, ops::transpose::second};

// A product of T whose rows have `gap` more elements in memory, with every part of the epilogue or none.
template <class T>
struct narrow_case {
  extents of;
  ops::transpose form;
  bool finished;
  std::size_t rows_a, columns_a, rows_b, columns_b, gap;
  std::vector<T> a, b, bias, addend, mask;

  narrow_case(extents size, ops::transpose form_, bool finished_, std::size_t gap_)
      : of(size), form(form_), finished(finished_), rows_a(first() ? of.k : of.m), columns_a(first() ? of.m : of.k),
        rows_b(second() ? of.n : of.k), columns_b(second() ? of.k : of.n), gap(gap_), a(values(rows_a * (columns_a + gap), 1)),
        b(values(rows_b * (columns_b + gap), 2)), bias(values(of.n, 3)), addend(values(of.m * of.n, 4)),
        mask(values(of.m * of.n, 5)) {}

  bool first() const { return form == ops::transpose::first; }
  bool second() const { return form == ops::transpose::second; }
  static std::vector<T> values(std::size_t count, std::uint64_t stream) { return narrow::normal<T>(count + 1, stream).own; }

  ops::matrix<const T> left() const { return {a.data(), rows_a, columns_a, columns_a + gap}; }
  ops::matrix<const T> right() const { return {b.data(), rows_b, columns_b, columns_b + gap}; }
  template <class C>
  ops::epilogue<T> then(float* sums) const {
    if (!finished) return {};
    return {bias.data(), ops::activation::relu, {addend.data(), of.m, of.n}, {mask.data(), of.m, of.n},
            sums,        !std::is_same_v<C, T>};
  }

  // Whether the kernels of these sets give the bits of the reference, and leave what lies behind the last element.
  template <class C>
  bool agrees(cpu::queue& queue, const std::vector<detail::instruction_set>& sets) const {
    const std::vector<C> before(of.m * of.n + 1, C(1.5F));
    std::vector<C> expected(before);
    std::vector<float> expected_sums(of.m);
    detail::matmul_reference_of<T>(ops::matrix<C>{expected.data(), of.m, of.n}, left(), right(), form,
                                   then<C>(expected_sums.data()));
    bool right_ones = true;
    for (const detail::instruction_set isa : sets) {
      std::vector<C> found(before);
      std::vector<float> sums(of.m);
      const detail::narrow_product<T, C> whole({found.data(), of.m, of.n}, left(), right(), form, then<C>(sums.data()));
      detail::multiply_narrow_on(queue, isa, whole);
      right_ones = right_ones && found == expected && sums == expected_sums;
    }
    return right_ones;
  }

  // The same for the kernels of AMX, by the formula of amx_bf16.hpp.
  template <class C>
  bool agrees_with_tiles(cpu::queue& queue) const {
    std::vector<C> found(of.m * of.n + 1, C(1.5F)), expected(found);
    std::vector<float> sums(of.m);
    const detail::narrow_product<T, C> whole({found.data(), of.m, of.n}, left(), right(), form, then<C>(sums.data()));
    const detail::narrow_product<T, C> other({expected.data(), of.m, of.n}, left(), right(), form, then<C>(sums.data()));
    detail::multiply_narrow_on(queue, detail::instruction_set::amx_bf16, whole);
    const std::size_t block = detail::reduction_block(of.k);
    for (std::size_t i = 0; i < of.m; ++i)
      for (std::size_t j = 0; j < of.n; ++j) {
        float sum = 0;
        for (std::size_t begin = 0; begin < of.k; begin += block) {
          float of_block = 0;
          for (std::size_t first = begin; first < std::min(of.k, begin + block); first += 32) {
            float chains[2] = {0, 0};
            for (std::size_t p = first; p < std::min({of.k, begin + block, first + 32}); ++p)
              chains[p % 2] = std::fma(static_cast<float>(whole.a[i * whole.a_row + p * whole.a_step]),
                                       static_cast<float>(whole.b[p * whole.b_step + j * whole.b_column]), chains[p % 2]);
            of_block += chains[0] + chains[1];
          }
          sum = begin == 0 ? of_block : sum + of_block;
        }
        other.c(i, j) = static_cast<C>(detail::narrow_result(other, i, j, sum));
      }
    return found == expected;
  }
};

// With and without epilogue, and with rows that pairs of elements divide or not.
struct variant {
  bool finished;
  std::size_t gap;
};
constexpr variant variants[] = {{false, 0}, {true, 2}, {true, 3}};

template <class T>
void check(cpu& device, extents size) {
  std::vector<detail::instruction_set> sets = matmul_case::sets();
  if (detail::widest_for_bfloat16() >= detail::instruction_set::avx512_bf16) // of float16 the same as avx512
    sets.push_back(detail::instruction_set::avx512_bf16);
  for (const ops::transpose form : forms)
    for (const auto [finished, gap] : variants) {
      const narrow_case<T> one(size, form, finished, gap);
      CAPTURE(size.m);
      CAPTURE(size.n);
      CAPTURE(size.k);
      CHECK(one.template agrees<T>(device.compute(), sets));
      CHECK(one.template agrees<float>(device.compute(), sets));
    }
}

} // namespace

TEST_CASE("matmul: of 16-bit elements every kernel has the bits of the reference, rounded once, and as a sum not at all") {
  // One element; odd reductions; partial tiles; several chains; several blocks, by two threads; over nothing.
  cpu device({.threads = 2});
  for (const extents size : {extents{1, 1, 1}, {9, 11, 300}, {33, 70, 129}, {7, 200, 1}, {2, 130, 2051}, {2, 3, 0}}) {
    check<bfloat16>(device, size);
    check<float16>(device, size);
  }
}

TEST_CASE("matmul: of bfloat16 a step takes two elements, the second one first") {
  // In float 1 + 2^-24 is 1, and 2^-24 + 2^-24 + 1 is more.
  const bfloat16 one(1.0F), tiny(0x1p-24F), zero(0.0F);
  cpu device;
  const auto sum = [&](const std::vector<bfloat16>& terms) {
    const std::vector<bfloat16> ones(terms.size(), one);
    float found = 0;
    const detail::narrow_product<bfloat16, float> whole({&found, 1, 1}, {terms.data(), 1, terms.size()},
                                                        {ones.data(), 1, terms.size()}, ops::transpose::second, {});
    detail::multiply_narrow_on(device.compute(), detail::widest_instruction_set(), whole);
    return found;
  };
  CHECK(sum({tiny, zero, one, tiny}) == 1.0F + 0x1p-23F); // tiny, then tiny, then one
  CHECK(sum({tiny, zero, tiny, one}) == 1.0F);            // tiny, then one, then tiny
  CHECK(sum({tiny, one, tiny}) == 1.0F);                  // one, then tiny, then the last, which has no second
}

TEST_CASE("matmul: instructions for bfloat16 take subnormal numbers as zero, widened ones count") {
  const std::vector<bfloat16> least{bfloat16::from_bits(1)}, one{bfloat16(1.0F)};
  cpu device;
  for (const detail::instruction_set isa :
       {detail::instruction_set::plain, detail::instruction_set::avx512_bf16, detail::instruction_set::amx_bf16}) {
    if (isa > detail::widest_for_bfloat16()) continue;
    float found = -1;
    detail::multiply_narrow_on(device.compute(), isa,
                               detail::narrow_product<bfloat16, float>({&found, 1, 1}, {least.data(), 1, 1}, {one.data(), 1, 1},
                                                                       ops::transpose::none, {}));
    CHECK(found == (isa == detail::instruction_set::plain ? static_cast<float>(least[0]) : 0.0F));
  }
}

TEST_CASE("matmul: of many columns and a short reduction the sums fit into the scratch") {
  cpu device;
  const narrow_case<bfloat16> one({9, 140'001, 1}, ops::transpose::none, true, 0);
  CHECK(one.agrees<bfloat16>(device.compute(), {detail::instruction_set::plain, detail::widest_instruction_set()}));
}

TEST_CASE("matmul: tiles of AMX add even and odd elements of 32 apart, whatever the rows, the place and the threads") {
  if (detail::widest_for_bfloat16() < detail::instruction_set::amx_bf16) return;
  cpu device({.threads = 2});
  for (const extents size :
       {extents{1, 1, 1}, {9, 11, 300}, {33, 70, 129}, {7, 200, 1}, {65, 49, 64}, {2, 130, 2051}, {32, 32, 1024}, {2, 3, 0}})
    for (const ops::transpose form : forms)
      for (const auto [finished, gap] : variants) {
        const narrow_case<bfloat16> one(size, form, finished, gap);
        CHECK(one.agrees_with_tiles<bfloat16>(device.compute()));
        CHECK(one.agrees_with_tiles<float>(device.compute()));
      }
}

TEST_CASE("matmul: of float16 it is the product of floats, rounded once") {
  const narrow_case<float16> one({9, 11, 300}, ops::transpose::none, false, 0);
  std::vector<float> a, b, expected(9 * 11), found(9 * 11);
  for (const float16 x : one.a) a.push_back(static_cast<float>(x));
  for (const float16 x : one.b) b.push_back(static_cast<float>(x));
  cpu device({.threads = 2});
  detail::matmul_reference(ops::matrix<float>(expected.data(), 9, 11), {a.data(), 9, 300}, {b.data(), 300, 11},
                           ops::transpose::none);
  matmul(device.compute(), ops::matrix<float>(found.data(), 9, 11), one.left(), one.right(), ops::transpose::none);
  CHECK(found == expected);
}

} // namespace matmul_sixteen_bits_tests
