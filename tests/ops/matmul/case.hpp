// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/reference.hpp>

// Products of random operands with gaps between the rows, and with every epilogue.
namespace matmul_case {

using namespace cairn;
using namespace cairn::detail;

template <class T>
struct grid {
  std::vector<T> numbers;
  std::size_t rows, columns, stride;

  grid(std::size_t r, std::size_t c, std::size_t gap, std::uint32_t which)
      : numbers(r * (c + gap)), rows(r), columns(c), stride(c + gap) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = 2 * random_uniform<T>({.seed = 11, .step = 0, .position = which}, i) - 1;
  }
  ops::matrix<T> view() { return {numbers.data(), rows, columns, stride}; }
  ops::matrix<T> rows_of(std::size_t begin, std::size_t end) {
    return {numbers.data() + begin * stride, end - begin, columns, stride};
  }
  ops::matrix<T> columns_of(std::size_t begin, std::size_t end) { return {numbers.data() + begin, rows, end - begin, stride}; }
};

// The parts of the epilogue, as bits.
enum parts : unsigned { with_bias = 1, with_relu = 2, with_addend = 4, addend_is_c = 8, with_mask = 16, with_sums = 32 };
inline constexpr unsigned all_epilogues = 64;

template <class T>
struct one_product {
  std::size_t m, n, k;
  ops::transpose form;
  grid<T> a, b, c, addend, mask, bias;
  std::vector<T> sums;

  one_product(std::size_t m_, std::size_t n_, std::size_t k_, ops::transpose form_, std::size_t gap = 3)
      : m(m_), n(n_), k(k_), form(form_), a(form == ops::transpose::first ? k : m, form == ops::transpose::first ? m : k, gap, 1),
        b(form == ops::transpose::second ? n : k, form == ops::transpose::second ? k : n, gap, 2), c(m, n, gap, 3),
        addend(m, n, gap, 4), mask(m, n, gap, 5), bias(1, n, 0, 6), sums(m, T{-5}) {}

  ops::epilogue<T> then(unsigned which) {
    ops::epilogue<T> e;
    if (which & with_bias) e.bias = bias.numbers.data();
    if (which & with_relu) e.then = ops::activation::relu;
    if (which & with_addend) e.addend = addend.view();
    if (which & addend_is_c) e.addend = c.view();
    if (which & with_mask) e.mask = mask.view();
    if (which & with_sums) e.row_sums = sums.data();
    return e;
  }

  void multiply(cpu::queue& queue, instruction_set isa, unsigned which) {
    detail::multiply_on(queue, isa, detail::product<T>(c.view(), a.view(), b.view(), form, then(which)));
  }
  void multiply_plainly(unsigned which) { detail::matmul_reference(c.view(), a.view(), b.view(), form, then(which)); }
};

// Compares bit for bit, including NaN and the gaps between rows.
template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

// Compares up to the largest difference of two orders of rounding, for operands in [-1, 1].
template <class T>
bool nearly(const std::vector<T>& x, const std::vector<T>& y, std::size_t k) {
  const T bound = std::numeric_limits<T>::epsilon() * static_cast<T>(k + 4) * static_cast<T>(k + 4);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= bound)) return false;
  return x.size() == y.size();
}

// The instruction sets that this machine can run.
inline std::vector<instruction_set> sets() {
  std::vector<instruction_set> all{instruction_set::plain};
  if (widest_instruction_set() >= instruction_set::avx2) all.push_back(instruction_set::avx2);
  if (widest_instruction_set() >= instruction_set::avx512) all.push_back(instruction_set::avx512);
  return all;
}

// Whether an instruction set rounds as the reference does, with fused multiplications and additions.
inline bool fuses(instruction_set isa) { return isa != instruction_set::plain; }

template <class T>
std::string name(const one_product<T>& o, instruction_set isa, unsigned which) {
  return "instruction set " + std::to_string(static_cast<int>(isa)) + ", form " + std::to_string(static_cast<int>(o.form)) +
         ", m " + std::to_string(o.m) + ", n " + std::to_string(o.n) + ", k " + std::to_string(o.k) + ", epilogue " +
         std::to_string(which);
}

inline constexpr ops::transpose forms[] = {ops::transpose::none, ops::transpose::first, ops::transpose::second};

// Runs a product and the reference. Returns whether they agree as they should.
template <class T>
bool agrees(one_product<T> o, cpu::queue& queue, instruction_set isa, unsigned which) {
  one_product<T> expected = o;
  o.multiply(queue, isa, which);
  expected.multiply_plainly(which);
  if (fuses(isa)) return same_bits(o.c.numbers, expected.c.numbers) && same_bits(o.sums, expected.sums);
  return nearly(o.c.numbers, expected.c.numbers, o.k) && same_bits(o.sums, expected.sums); // row sums have no products
}

} // namespace matmul_case
