// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/matmul/reference.hpp>

#include "../../cuda/agree.hpp"

namespace ops_cuda_products_tests {

using namespace cairn;
using testing::normal;

namespace {

// The extents of (m, n) = (m, k) x (k, n) in any form. Rows of the operands have `gap` elements between them.
struct shape_of_product {
  std::size_t m, n, k, gap;
};
struct operands_of {
  std::size_t rows_a, columns_a, rows_b, columns_b;
  operands_of(ops::transpose form, const shape_of_product& s)
      : rows_a(form == ops::transpose::first ? s.k : s.m), columns_a(form == ops::transpose::first ? s.m : s.k),
        rows_b(form == ops::transpose::second ? s.n : s.k), columns_b(form == ops::transpose::second ? s.k : s.n) {}
};
constexpr std::array forms{ops::transpose::none, ops::transpose::first, ops::transpose::second};
// The parts of the epilogue, as bits: bias, ReLU, addend, mask, row sums, an addend with another stride than c, and one that is c.
enum { with_bias = 1, with_relu = 2, with_addend = 4, with_mask = 8, with_sums = 16, addend_apart = 32, onto_addend = 64 };

// Computes c and the row sums of one product.
template <class Queue, class T>
void multiply(Queue& q, const testing::given<T>& g, ops::transpose form, const shape_of_product& s, int parts) {
  const operands_of of(form, s);
  const std::size_t stride = s.n + s.gap;
  ops::epilogue<T> then;
  if (parts & with_bias) then.bias = g.in[2];
  if (parts & with_relu) then.then = ops::activation::relu;
  if (parts & with_addend)
    then.addend = {parts & onto_addend ? g.out[0] : g.in[3], s.m, s.n, parts & addend_apart ? s.n : stride};
  if (parts & with_mask) then.mask = {g.in[4], s.m, s.n, s.n};
  if (parts & with_sums) then.row_sums = g.out[1];
  matmul(q, ops::matrix(g.out[0], s.m, s.n, stride), ops::matrix(g.in[0], of.rows_a, of.columns_a, of.columns_a + s.gap),
         ops::matrix(g.in[1], of.rows_b, of.columns_b, of.columns_b + s.gap), form, then);
}
testing::operands numbers(ops::transpose form, const shape_of_product& s) {
  const operands_of of(form, s);
  const std::size_t size = s.m * (s.n + s.gap);
  return {.in = {normal(of.rows_a * (of.columns_a + s.gap), 1), normal(of.rows_b * (of.columns_b + s.gap), 2), normal(s.n, 3),
                 normal(size, 4), normal(s.m * s.n, 5)},
          .out = {normal(size, 6), normal(s.m, 7)}};
}
// Rows or arrays that are not aligned may get another algorithm, and so other bits.
double worst(ops::transpose form, const shape_of_product& s, int parts) {
  return testing::over("matmul", numbers(form, s), [&](auto& q, const auto& g) { multiply(q, g, form, s, parts); }, false);
}
double worst_apart(ops::transpose form, const shape_of_product& s, int parts) {
  return testing::apart<float>(numbers(form, s), [&](auto& q, const auto& g) { multiply(q, g, form, s, parts); }, 1);
}

// Carries out a product_call as its comment defines it, on column-major matrices.
template <class T>
constexpr void interpret(const detail::product_call<T>& call) {
  for (std::size_t column = 0; column < call.n; ++column) {
    T sums = 0;
    for (std::size_t row = 0; row < call.m; ++row) {
      T sum = 0;
      for (std::size_t i = 0; i < call.k; ++i)
        sum += call.a[call.transposes_a ? row * call.lda + i : i * call.lda + row] *
               call.b[call.transposes_b ? i * call.ldb + column : column * call.ldb + i];
      if (call.addend != nullptr) sum += call.addend[column * call.ldd + row];
      if (call.bias != nullptr) sum += call.bias[row];
      call.d[column * call.ldd + row] = call.relu && sum < 0 ? T{0} : sum;
    }
    for (std::size_t i = 0; i < call.k; ++i) sums += call.b[call.transposes_b ? i * call.ldb + column : column * call.ldb + i];
    if (call.sums != nullptr) call.sums[column] = sums;
  }
}

// What is left of an epilogue, for one element, by the host.
double finished_on_host(const ops::epilogue<double>& then, std::size_t row, std::size_t column, double value) {
  if (then.bias != nullptr) value += then.bias[column];
  value = detail::activated(then.then, value);
  if (then.addend.data != nullptr) value += then.addend(row, column);
  return then.mask.data != nullptr && then.mask(row, column) <= 0 ? 0 : value;
}

} // namespace

TEST_CASE("column_major: the call is a constant, and its meaning is that of the product") {
  constexpr auto sum_of_second = [] { // (2, 3) = (2, 2) x (3, 2)^T, + bias, ReLU
    const std::array<double, 4> a{1, 2, 3, -4};
    const std::array<double, 6> b{1, 0, 0, 1, 1, 1};
    const std::array<double, 3> bias{10, 20, -2};
    std::array<double, 6> c{};
    ops::epilogue<double> then{.bias = bias.data(), .then = ops::activation::relu};
    auto call = detail::column_major(ops::matrix(c.data(), 2, 3), ops::matrix(a.data(), 2, 2), ops::matrix(b.data(), 3, 2),
                                     ops::transpose::second);
    detail::take_epilogue(call, ops::transpose::second, then, true);
    interpret(call);
    return c;
  }();
  static_assert(sum_of_second == std::array<double, 6>{11, 22, 1, 13, 16, 0});

  for (const ops::transpose form : forms)
    for (const shape_of_product s : {shape_of_product{3, 5, 4, 0}, shape_of_product{4, 2, 7, 3}})
      for (const bool fuses : {false, true})
        for (int parts = 0; parts < 64; ++parts) {
          testing::operands all = numbers(form, s), expected = all;
          testing::given<double> g, e;
          for (auto& x : all.in) g.in.push_back(x.data()), e.in.push_back(x.data());
          for (auto& x : all.out) g.out.push_back(x.data());
          for (auto& x : expected.out) e.out.push_back(x.data());
          const operands_of of(form, s);
          const std::size_t stride = s.n + s.gap;
          const auto made_of = [&](const auto& to) {
            ops::epilogue<double> then;
            if (parts & with_bias) then.bias = g.in[2];
            if (parts & with_relu) then.then = ops::activation::relu;
            if (parts & with_addend) then.addend = {g.in[3], s.m, s.n, parts & addend_apart ? s.n : stride};
            if (parts & with_mask) then.mask = {g.in[4], s.m, s.n, s.n};
            if (parts & with_sums) then.row_sums = to.out[1];
            return then;
          };
          const ops::matrix a(g.in[0], of.rows_a, of.columns_a, of.columns_a + s.gap),
              b(g.in[1], of.rows_b, of.columns_b, of.columns_b + s.gap);
          detail::matmul_reference(ops::matrix(e.out[0], s.m, s.n, stride), a, b, form, made_of(e));
          ops::epilogue<double> rest = made_of(g);
          const ops::matrix c(g.out[0], s.m, s.n, stride);
          auto call = detail::column_major(c, a, b, form);
          detail::take_epilogue(call, form, rest, fuses);
          interpret(call);
          for (std::size_t i = 0; i < s.m; ++i)
            for (std::size_t j = 0; j < s.n; ++j) c(i, j) = finished_on_host(rest, i, j, c(i, j));
          if (rest.row_sums != nullptr) expected.out[1] = all.out[1]; // a kernel makes them
          const bool same =
              testing::distance(all.out[0], expected.out[0]) < 1e-12 && testing::distance(all.out[1], expected.out[1]) < 1e-12;
          CHECK_MESSAGE(same, "form ", static_cast<int>(form), ", m ", s.m, ", fuses ", fuses, ", parts ", parts);
        }
}

TEST_CASE("cuda: products of every form, with everything that is done with the result, agree with the cpu's") {
  for (const ops::transpose form : forms)
    for (const int parts :
         {0, with_bias | with_relu, with_bias | with_mask, int{with_addend}, with_addend | with_mask | with_sums, int{with_sums},
          with_addend | addend_apart, with_bias | with_addend, with_bias | with_addend | addend_apart, with_addend | onto_addend,
          with_addend | with_sums | onto_addend, with_bias | with_addend | with_mask | onto_addend, 31}) {
      CAPTURE(static_cast<int>(form));
      CAPTURE(parts);
      CHECK(worst(form, {33, 20, 65, 0}, parts) <= 1);
      CHECK(worst_apart(form, {5, 7, 3, 2}, parts) < 2e-6); // neither rows nor arrays are aligned
      CHECK(worst(form, {9, 6, 17, 1}, parts) <= 1);
      CHECK(worst(form, {4, 3, 0, 0}, parts) <= 1); // no terms to add
    }
  CHECK(worst(ops::transpose::none, {3, 2, 300, 0}, with_sums) <= 1); // a block of threads sums each row
  CHECK(worst(ops::transpose::none, {0, 3, 2, 0}, 0) == 0);
  CHECK_THROWS_WITH_AS(worst(ops::transpose::second, {4, 4, 4, 0}, with_relu | with_addend | onto_addend),
                       doctest::Contains("an addend that is the result itself"), error);
  CHECK_THROWS_WITH_AS(matmul(testing::gpu().compute(), ops::matrix<float>(nullptr, 2, 3),
                              ops::matrix<const float>(nullptr, 2, 4), ops::matrix<const float>(nullptr, 5, 3),
                              ops::transpose::none),
                       doctest::Contains("the extents do not fit"), error);
}

TEST_CASE(
    "cuda: a product has the same bits whatever is done with it, but for a bias or row sums, which a layer has or has not") {
  // The second product has so few elements that a GPU splits the sum over k.
  for (const shape_of_product& s : {shape_of_product{33, 20, 65, 0}, shape_of_product{12, 8, 4100, 0}})
    for (const ops::transpose form : forms) {
      const auto product_of = [&](int parts) {
        testing::given<float> g;
        std::vector<testing::on_gpu<float>> in, out;
        for (const auto& x : numbers(form, s).in) g.in.push_back(in.emplace_back(testing::converted<float>(x), 0).data());
        for (const auto& x : numbers(form, s).out) g.out.push_back(out.emplace_back(testing::converted<float>(x), 0).data());
        multiply(testing::gpu().compute(), g, form, s, parts);
        return out[0].back();
      };
      const auto plain = product_of(0), relu = product_of(with_relu), masked = product_of(with_mask),
                 added = product_of(with_addend);
      const auto biased = product_of(with_bias), biased_relu = product_of(with_bias | with_relu),
                 biased_mask = product_of(with_bias | with_mask);
      const auto sums = product_of(with_sums), sums_of_added = product_of(with_addend | with_sums);
      const auto of_float = [](const std::vector<double>& x) { return testing::converted<float>(x); };
      const auto addend = of_float(normal(plain.size(), 4)), mask = of_float(normal(plain.size(), 5));
      bool right = true;
      for (std::size_t i = 0; i < plain.size(); ++i)
        right = right && relu[i] == (plain[i] < 0 ? 0 : plain[i]) && masked[i] == (mask[i] <= 0 ? 0 : plain[i]) &&
                added[i] == plain[i] + addend[i] && biased_relu[i] == (biased[i] < 0 ? 0 : biased[i]) &&
                biased_mask[i] == (mask[i] <= 0 ? 0 : biased[i]) && sums_of_added[i] == sums[i] + addend[i];
      CHECK_MESSAGE(right, "form ", static_cast<int>(form), ", k ", s.k);
    }
}

TEST_CASE("cuda: a product counts all of k, and what is not a number stays so") {
  cuda::queue& queue = testing::gpu().compute();
  for (const std::size_t k : {1U, 7U, 129U, 1000U, 4099U, 20001U})
    for (const ops::transpose form : forms)
      for (const std::size_t m : {4U, 40U}) {
        const operands_of of(form, {m, 12, k, 0});
        const testing::on_gpu<float> a(std::vector<float>(m * k, 1), 0), b(std::vector<float>(12 * k, 1), 0),
            c(std::vector<float>(m * 12), 0), sums(std::vector<float>(m), 0);
        matmul(queue, ops::matrix(c.data(), m, 12), ops::matrix<const float>(a.data(), of.rows_a, of.columns_a),
               ops::matrix<const float>(b.data(), of.rows_b, of.columns_b), form, {.row_sums = sums.data()});
        CHECK(c.back() == std::vector<float>(m * 12, static_cast<float>(k)));
        CHECK(sums.back() == std::vector<float>(m, static_cast<float>(k)));
      }
  const testing::on_gpu<float> one({NAN, 1}, 0), bias({0, 0}, 0), x({1, -1}, 0), y({0, 0, 0, 0}, 0);
  matmul(queue, ops::matrix(y.data(), 2, 2), ops::matrix<const float>(x.data(), 2, 1), ops::matrix<const float>(one.data(), 2, 1),
         ops::transpose::second, {.bias = bias.data(), .then = ops::activation::relu}); // (NAN, 1) and (NAN, -1)
  const auto rectified = y.back();
  CHECK((std::isnan(rectified[0]) && rectified[1] == 1 && std::isnan(rectified[2]) && rectified[3] == 0));
}

TEST_CASE("cuda: an addend and a bias need not be aligned as the rest is") {
  for (const std::size_t skipped : {1U, 4U}) { // aligned to 4 and to 16 bytes
    const testing::on_gpu<float> a(std::vector<float>(64, 1), 0), b(std::vector<float>(64, 2), 0), c(std::vector<float>(64), 0),
        less(std::vector<float>(64, 3), skipped);
    for (const ops::epilogue<float>& then :
         {ops::epilogue<float>{.addend = {less.data(), 8, 8}}, ops::epilogue<float>{.bias = less.data()}}) {
      matmul(testing::gpu().compute(), ops::matrix(c.data(), 8, 8), ops::matrix<const float>(a.data(), 8, 8),
             ops::matrix<const float>(b.data(), 8, 8), ops::transpose::second, then);
      CHECK(c.back() == std::vector<float>(64, 19));
    }
  }
}

} // namespace ops_cuda_products_tests
