// SPDX-License-Identifier: MIT
// long to compile
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

  // Whether the kernels of this set give the bits of the reference, a bit pattern behind the last element included.
  template <class C>
  bool agrees(cpu::queue& queue, detail::instruction_set isa) const {
    std::vector<C> found(of.m * of.n + 1, C(1.5F)), expected(found);
    std::vector<float> sums(of.m), expected_sums(of.m);
    detail::multiply_narrow_on(
        queue, isa, detail::narrow_product<T, C>({found.data(), of.m, of.n}, left(), right(), form, then<C>(sums.data())));
    detail::matmul_reference_of<T>(ops::matrix<C>{expected.data(), of.m, of.n}, left(), right(), form,
                                   then<C>(expected_sums.data()));
    return found == expected && sums == expected_sums;
  }
};

template <class T>
void check(extents size) {
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    for (const detail::instruction_set isa : matmul_case::sets())
      for (const ops::transpose form : forms)
        for (const bool finished : {false, true})
          for (const std::size_t gap : {0U, 3U}) {
            const narrow_case<T> one(size, form, finished, gap);
            CAPTURE(size.m);
            CAPTURE(size.n);
            CAPTURE(size.k);
            CHECK(one.template agrees<T>(device.compute(), isa));
            CHECK(one.template agrees<float>(device.compute(), isa));
          }
  }
}

} // namespace

TEST_CASE("matmul: of 16-bit elements every kernel has the bits of the reference, rounded once, and as a sum not at all") {
  // One element; odd reductions; partial tiles; several chains; several blocks; over nothing.
  for (const extents size :
       {extents{1, 1, 1}, {9, 11, 300}, {33, 70, 129}, {7, 200, 1}, {40, 5, 1500}, {3, 300, 2051}, {2, 3, 0}}) {
    check<bfloat16>(size);
    check<float16>(size);
  }
}

TEST_CASE("matmul: of bfloat16 a step takes two elements, the second one first") {
  // In float 1 + 2^-24 is 1, and 2^-24 + 2^-24 + 1 is more.
  const bfloat16 one(1.0F), tiny(0x1p-24F), zero(0.0F);
  cpu device;
  const auto sum = [&](const std::vector<bfloat16>& terms) {
    const std::vector<bfloat16> ones(terms.size(), one);
    float found = 0;
    matmul(device.compute(), ops::matrix<float>(&found, 1, 1), ops::matrix<const bfloat16>(terms.data(), 1, terms.size()),
           ops::matrix<const bfloat16>(ones.data(), 1, ones.size()), ops::transpose::second);
    return found;
  };
  CHECK(sum({tiny, zero, one, tiny}) == 1.0F + 0x1p-23F); // tiny, then tiny, then one
  CHECK(sum({tiny, zero, tiny, one}) == 1.0F);            // tiny, then one, then tiny
  CHECK(sum({tiny, one, tiny}) == 1.0F);                  // one, then tiny, then the last, which has no second
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
