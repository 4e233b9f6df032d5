// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/multiply_by_packed.hpp>

#include "case.hpp"

namespace multiply_by_packed_tests {

using namespace cairn;
using namespace matmul_case;

namespace {

std::vector<instruction_set> sets_that_read_packed() {
  std::vector<instruction_set> out;
  for (const instruction_set isa : sets())
    if (reads_packed_weights(isa)) out.push_back(isa);
  return out;
}

// The packed weight of a product, and as many elements after it that nothing may write.
template <class T>
std::vector<T> packed(const one_product<T>& o, instruction_set isa) {
  std::vector<T> to(2 * o.n * o.k, T{-7});
  pack_weight(isa, ops::weight_format::own, to.data(), matrix<const T>{o.b.numbers.data(), o.n, o.k, o.b.stride});
  return to;
}
template <class T>
bool agrees_packed(const one_product<T>& o, cpu::queue& queue, instruction_set isa, unsigned which) {
  one_product<T> expected = o, made = o;
  expected.multiply(queue, isa, which);
  const std::vector<T> weight = packed(o, isa);
  multiply_by_packed(queue, isa, detail::product<T>(made.c.view(), made.a.view(), made.b.view(), made.form, made.then(which)),
                     weight.data(), queue.threads());
  for (std::size_t i = o.n * o.k; i < weight.size(); ++i)
    if (weight[i] != T{-7}) return false;
  return same_bits(made.c.numbers, expected.c.numbers);
}

} // namespace

TEST_CASE_TEMPLATE("matmul: by a packed weight, odd extents and every epilogue, the same bits", T, float, double) {
  cpu device;
  unsigned which = 0;
  for (const instruction_set isa : sets_that_read_packed())
    for (const std::size_t m : {1U, 2U, 3U, 7U, 8U, 13U, 64U})
      for (const std::size_t n : {1U, 4U, 5U, 8U, 9U, 15U, 17U, 24U, 31U, 48U, 49U, 70U, 103U})
        for (const std::size_t k : {0U, 1U, 2U, 17U, 130U}) {
          const one_product<T> o(m, n, k, ops::transpose::second, (m + n + k) % 4);
          const unsigned epilogue = which % with_sums;
          CHECK_MESSAGE(agrees_packed(o, device.compute(), isa, epilogue), name(o, isa, epilogue));
          which += 5;
        }
}

TEST_CASE_TEMPLATE("matmul: by a packed weight, several blocks of the reduction, with one thread and three", T, float, double) {
  for (const std::size_t threads : {1U, 3U}) {
    cpu device({.threads = threads});
    for (const instruction_set isa : sets_that_read_packed())
      for (const std::size_t m : {1U, 9U})
        for (const std::size_t n : {5U, 151U})
          for (const unsigned epilogue : {0U, with_bias | with_relu, with_addend | with_mask, addend_is_c | with_bias}) {
            const one_product<T> o(m, n, 2100, ops::transpose::second);
            CHECK_MESSAGE(agrees_packed(o, device.compute(), isa, epilogue), name(o, isa, epilogue));
          }
  }
}

TEST_CASE("matmul: a packed form is read where it is one of this weight, and the rows are few") {
  cpu device;
  const instruction_set isa = widest_instruction_set();
  for (const std::size_t m : {std::size_t{3}, most_rows_by_packed, most_rows_by_packed + 1}) {
    one_product<float> o(m, 50, 20, ops::transpose::second), expected = o;
    matmul(device.compute(), expected.c.view(), expected.a.view(), expected.b.view(), ops::transpose::second, expected.then(0));
    const std::vector<float> zeros(50 * 20, 0.0F);
    const float* const weight = o.b.numbers.data();
    const auto with = [&](ops::packed_weight<float> packed) {
      std::vector<float> before = o.c.numbers;
      matmul(device.compute(), o.c.view(), o.a.view(), o.b.view(), packed, o.then(0));
      return std::exchange(o.c.numbers, before);
    };
    CHECK(same_bits(with({}), expected.c.numbers));
    CHECK(same_bits(with({weight + 1, zeros.data()}), expected.c.numbers)); // of another weight
    // A wrong packed form shows that it is read.
    const bool is_read = reads_packed_weights(isa) && m <= most_rows_by_packed;
    CHECK(same_bits(with({weight, zeros.data()}), expected.c.numbers) == !is_read);
    if (reads_packed_weights(isa)) CHECK(same_bits(with({weight, packed(o, isa).data()}), expected.c.numbers));
  }
}

TEST_CASE("matmul: by a weight of bfloat16, the bits of the rounded weight, for any number of rows") {
  cpu device;
  unsigned which = 0;
  for (const instruction_set isa : sets_that_read_packed())
    for (const std::size_t m : {1U, 2U, 3U, 7U, 13U, 64U, 65U, 150U})
      for (const std::size_t n : {1U, 4U, 9U, 17U, 31U, 48U, 49U, 97U, 150U})
        for (const std::size_t k : {0U, 1U, 2U, 17U, 131U, 1500U}) {
          if (m * n * k > 3'000'000) continue;
          one_product<float> o(m, n, k, ops::transpose::second, (m + n + k) % 4);
          std::vector<float> words(n * ((k + 1) / 2) + 8, -7.0F);
          pack_weight(isa, ops::weight_format::bfloat16, words.data(),
                      matrix<const float>{o.b.numbers.data(), o.n, o.k, o.b.stride});
          for (float& w : o.b.numbers) w = static_cast<float>(bfloat16(w));
          one_product<float> expected = o, made = o;
          expected.multiply(device.compute(), isa, which % with_sums);
          multiply_by_pairs(
              device.compute(), isa,
              detail::product<float>(made.c.view(), made.a.view(), made.b.view(), made.form, made.then(which % with_sums)),
              words.data(), 2);
          CHECK_MESSAGE(same_bits(made.c.numbers, expected.c.numbers), name(o, isa, which % with_sums));
          CHECK(words.back() == -7.0F);
          which += 5;
        }
}

TEST_CASE("matmul: the plain kernels of weights of bfloat16 are near the sums of the rounded weight") {
  cpu device;
  for (const std::size_t k : {1U, 40U, 131U, 2500U}) {
    one_product<float> o(3, 20, k, ops::transpose::second, 1);
    std::vector<float> words(20 * ((k + 1) / 2));
    pack_weight(instruction_set::plain, ops::weight_format::bfloat16, words.data(),
                matrix<const float>{o.b.numbers.data(), o.n, o.k, o.b.stride});
    for (float& w : o.b.numbers) w = static_cast<float>(bfloat16(w));
    one_product<float> expected = o, made = o;
    expected.multiply(device.compute(), instruction_set::plain, 1);
    multiply_by_pairs(device.compute(), instruction_set::plain,
                      detail::product<float>(made.c.view(), made.a.view(), made.b.view(), made.form, made.then(1)), words.data(),
                      2);
    for (std::size_t i = 0; i < made.c.numbers.size(); ++i)
      CHECK(made.c.numbers[i] == doctest::Approx(expected.c.numbers[i]).epsilon(1e-4));
  }
}

} // namespace multiply_by_packed_tests
