// SPDX-License-Identifier: MIT
// Ops on elements of 16 bits agree with the cpu's on the same elements, and round to the same bits where the arithmetic is exact.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/ops.hpp>
#include <cairn/train/losses/mse_loss.hpp>

#include "../../cuda/sixteen_bits.hpp"

namespace ops_cuda_sixteen_bits_tests {

using namespace cairn;
using testing::last_place, testing::normal, testing::rounded;

static_assert(ops::ops_for<cuda::queue, bfloat16> && ops::ops_for<cuda::queue, float16>);

namespace {

template <class T>
std::vector<std::uint16_t> bits_of(const std::vector<T>& x) {
  std::vector<std::uint16_t> out;
  for (const T& e : x) out.push_back(e.bits);
  return out;
}
// The largest distance, relative to the larger of 1 and the number.
template <class X, class Y>
double distance(const std::vector<X>& x, const std::vector<Y>& y) {
  double worst = x.size() == y.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    worst = std::max(worst, std::abs(a - b) / std::max(1.0, std::abs(b)));
  }
  return worst;
}
// Numbers at and beside every place where the rounding of a float to 16 bits changes, and NaN and infinity.
std::vector<float> numbers_to_round() {
  std::vector<float> all;
  for (std::uint32_t high = 0; high < 0x10000; high += 1)
    for (const std::uint32_t low : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU, 0xFFFU, 0x1000U, 0x1001U, 0x2FFFU, 0x3000U}) {
      const std::uint32_t bits = high << 16 | low;
      float x = 0;
      std::memcpy(&x, &bits, sizeof x);
      all.push_back(x);
    }
  return all;
}

} // namespace

TEST_CASE_TEMPLATE("cuda, 16 bits: conversions have the cpu's bits", T, bfloat16, float16) {
  const std::vector<float> all = numbers_to_round();
  std::vector<T> expected;
  for (const float x : all) expected.push_back(T(x));
  const testing::on_gpu<float> from(all, 0);
  const testing::on_gpu<T> to(std::vector<T>(all.size()), 0);
  convert(testing::gpu().compute(), all.size(), to.data(), static_cast<const float*>(from.data()));
  CHECK(bits_of(to.back()) == bits_of(expected));

  std::vector<T> every;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) every.push_back(T::from_bits(static_cast<std::uint16_t>(bits)));
  for (const std::size_t skipped : {0U, 1U, 3U}) { // not aligned, and not a multiple of eight
    const std::vector<T> some(every.begin() + static_cast<std::ptrdiff_t>(skipped), every.end());
    const testing::on_gpu<T> narrow(some, skipped);
    const testing::on_gpu<float> wide(std::vector<float>(some.size()), skipped);
    convert(testing::gpu().compute(), some.size(), wide.data(), static_cast<const T*>(narrow.data()));
    const std::vector<float> back = wide.back();
    bool same = true;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto x = static_cast<float>(some[i]);
      same = same && std::memcmp(&back[i], &x, sizeof x) == 0;
    }
    CHECK(same);
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: functions of elements are computed in float and rounded once", T, bfloat16, float16) {
  for (const std::size_t count : {1U, 8U, 13U, 4099U})
    for (const std::size_t skipped : {0U, 1U}) {
      const std::vector<T> a = rounded<T>(normal(count, 1)), b = rounded<T>(normal(count, 2));
      const testing::on_gpu<T> in_a(a, skipped), in_b(b, skipped), out(std::vector<T>(count), skipped);
      const T *const x = in_a.data(), *const y = in_b.data();
      auto& q = testing::gpu().compute();
      std::vector<T> sums, relus;
      for (std::size_t i = 0; i < count; ++i) {
        const auto p = static_cast<float>(a[i]);
        sums.push_back(T(p + static_cast<float>(b[i])));
        relus.push_back(T(p > 0 ? p : 0.0F));
      }
      add(q, count, out.data(), x, y);
      CHECK(bits_of(out.back()) == bits_of(sums));
      elementwise(q, count, detail::relu_value{}, out.data(), x);
      CHECK(distance(out.back(), relus) == 0);
      const auto made_by = [&](const auto& f) {
        std::vector<T> found;
        for (std::size_t i = 0; i < count; ++i) found.push_back(T(f(static_cast<float>(a[i]), static_cast<float>(b[i]))));
        return found;
      };
      elementwise(q, count, detail::relu_slope{}, out.data(), x, y);
      CHECK(distance(out.back(), made_by(detail::relu_slope{})) == 0);
      elementwise(q, count, detail::gelu_slope{}, out.data(), x, y);
      CHECK(distance(out.back(), made_by(detail::gelu_slope{})) <= last_place<T>);
      elementwise(q, count, detail::gelu_value{}, out.data(), x);
      CHECK(distance(out.back(), made_by([](float value, float) { return detail::gelu_value{}(value); })) <= last_place<T>);
    }
  const std::vector<T> a = rounded<T>(normal(60, 1)), b = rounded<T>(normal(60, 2));
  const testing::on_gpu<T> in_a(a, 0), in_b(b, 0), out(std::vector<T>(60), 0);
  const auto of = [](const auto& m) { return ops::matrix<const T>(m.data(), 5, 11, 12); }; // gaps between the rows
  add_matrix(testing::gpu().compute(), ops::matrix<T>(out.data(), 5, 11, 12), of(in_a), of(in_b));
  const std::vector<T> back = out.back();
  for (std::size_t i = 0; i < 60; ++i)
    CHECK(back[i].bits == (i % 12 == 11 ? T{}.bits : T(static_cast<float>(a[i]) + static_cast<float>(b[i])).bits));
}

TEST_CASE_TEMPLATE("cuda, 16 bits: products, whose weight gradients are floats", T, bfloat16, float16) {
  struct form {
    ops::transpose is;
    std::size_t m, n, k;
  };
  for (const form f :
       {form{ops::transpose::second, 12, 24, 40}, form{ops::transpose::none, 8, 16, 24}, form{ops::transpose::first, 16, 8, 32},
        form{ops::transpose::second, 3, 5, 7}, form{ops::transpose::second, 2, 3, 520}}) {
    const bool first = f.is == ops::transpose::first, second = f.is == ops::transpose::second;
    const std::size_t a_rows = first ? f.k : f.m, a_columns = first ? f.m : f.k;
    const std::size_t b_rows = second ? f.n : f.k, b_columns = second ? f.k : f.n;
    const std::vector<T> a = rounded<T>(normal(f.m * f.k, 1)), b = rounded<T>(normal(f.k * f.n, 2)),
                         bias = rounded<T>(normal(f.n, 3)), addend = rounded<T>(normal(f.m * f.n, 4));
    const auto matrices = [&](const T* x, const T* y) {
      return std::pair{ops::matrix<const T>(x, a_rows, a_columns), ops::matrix<const T>(y, b_rows, b_columns)};
    };
    cpu processor;
    for (const bool relu : {false, true})
      for (const bool adds : {false, true}) {
        std::vector<T> here(f.m * f.n);
        const auto then = [&](const T* with_bias, const T* with_addend) {
          ops::epilogue<T> e{.bias = second ? with_bias : nullptr, .then = relu ? ops::activation::relu : ops::activation::none};
          if (adds) e.addend = ops::matrix<const T>(with_addend, f.m, f.n);
          return e;
        };
        const auto [x, y] = matrices(a.data(), b.data());
        matmul(processor.compute(), ops::matrix<T>(here.data(), f.m, f.n), x, y, f.is, then(bias.data(), addend.data()));
        const testing::on_gpu<T> da(a, 0), db(b, 0), dbias(bias, 0), daddend(addend, 0), there(std::vector<T>(f.m * f.n), 0);
        const auto [gx, gy] = matrices(da.data(), db.data());
        matmul(testing::gpu().compute(), ops::matrix<T>(there.data(), f.m, f.n), gx, gy, f.is,
               then(dbias.data(), daddend.data()));
        CHECK(distance(there.back(), here) <= 2 * last_place<T>);
      }
    // In float, once more with the result added, and the sums of rows.
    std::vector<float> here(f.m * f.n), sums(f.m);
    const testing::on_gpu<T> da(a, 0), db(b, 0);
    const testing::on_gpu<float> there(here, 0), dsums(sums, 0);
    for (const bool adds : {false, true}) {
      const auto [x, y] = matrices(a.data(), b.data());
      const auto [gx, gy] = matrices(da.data(), db.data());
      matmul(processor.compute(), ops::matrix<float>(here.data(), f.m, f.n), x, y, f.is, {.row_sums = sums.data(), .adds = adds});
      matmul(testing::gpu().compute(), ops::matrix<float>(there.data(), f.m, f.n), gx, gy, f.is,
             {.row_sums = dsums.data(), .adds = adds});
      CHECK(distance(there.back(), here) < 1e-5);
      CHECK(distance(dsums.back(), sums) < 1e-5);
    }
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: rows are normalised, and dropped elements are the cpu's", T, bfloat16, float16) {
  cpu processor;
  auto& here = processor.compute();
  auto& there = testing::gpu().compute();
  for (const std::size_t columns : {5U, 16U, 520U}) { // in the last a team has 256 threads
    constexpr std::size_t rows = 4;
    const std::size_t count = rows * columns;
    const std::vector<T> x = rounded<T>(normal(count, 1)), dy = rounded<T>(normal(count, 2)), w = rounded<T>(normal(columns, 3)),
                         b = rounded<T>(normal(columns, 4));
    const testing::on_gpu<T> gx(x, 0), gdy(dy, 0), gw(w, 0), gb(b, 0), gy(std::vector<T>(count), 0),
        gdx(std::vector<T>(count), 0);
    const T *const px = gx.data(), *const pdy = gdy.data(), *const pw = gw.data();
    std::vector<T> y(count), dx(count);
    std::vector<float> kept(2 * rows), dw(columns), db(columns);
    const testing::on_gpu<float> gkept(kept, 0), gdw(dw, 0), gdb(db, 0);
    const auto alike = [&](double of_sums) {
      CHECK(distance(gy.back(), y) <= last_place<T>);
      CHECK(distance(gdx.back(), dx) <= last_place<T>);
      CHECK(distance(gkept.back(), kept) < 1e-4);
      CHECK(distance(gdw.back(), dw) < of_sums);
      CHECK(distance(gdb.back(), db) < of_sums);
    };
    layer_norm_forward(here, rows, columns, 1e-5, y.data(), kept.data(), x.data(), w.data(), b.data());
    layer_norm_forward(there, rows, columns, 1e-5, gy.data(), gkept.data(), px, pw, static_cast<const T*>(gb.data()));
    layer_norm_backward(here, rows, columns, dx.data(), dw.data(), db.data(), dy.data(), x.data(), kept.data(), w.data());
    layer_norm_backward(there, rows, columns, gdx.data(), gdw.data(), gdb.data(), pdy, px,
                        static_cast<const float*>(gkept.data()), pw);
    alike(1e-4);
    rms_norm_forward(here, rows, columns, 1e-5, y.data(), kept.data(), x.data(), w.data());
    rms_norm_forward(there, rows, columns, 1e-5, gy.data(), gkept.data(), px, pw);
    rms_norm_backward(here, rows, columns, dx.data(), dw.data(), dy.data(), x.data(), kept.data(), w.data());
    rms_norm_backward(there, rows, columns, gdx.data(), gdw.data(), pdy, px, static_cast<const float*>(gkept.data()), pw);
    alike(1e-4);
    std::vector<float> mean(columns), deviation(columns);
    for (std::size_t j = 0; j < columns; ++j)
      mean[j] = static_cast<float>(w[j]), deviation[j] = 0.5F + std::abs(static_cast<float>(b[j]));
    const testing::on_gpu<float> gmean(mean, 0), gdeviation(deviation, 0);
    const float *const pmean = gmean.data(), *const pdeviation = gdeviation.data();
    standardize(here, rows, columns, y.data(), x.data(), mean.data(), deviation.data());
    standardize(there, rows, columns, gy.data(), px, pmean, pdeviation);
    standardize_backward(here, rows, columns, dx.data(), dy.data(), deviation.data());
    standardize_backward(there, rows, columns, gdx.data(), pdy, pdeviation);
    CHECK(distance(gy.back(), y) == 0); // a difference and a quotient in float, on both
    CHECK(distance(gdx.back(), dx) == 0);
    softmax_forward(here, rows, columns, y.data(), x.data());
    softmax_forward(there, rows, columns, gy.data(), px);
    CHECK(distance(gy.back(), y) <= last_place<T>);
    const testing::on_gpu<T> same(y, 0);
    softmax_backward(here, rows, columns, dx.data(), dy.data(), y.data());
    softmax_backward(there, rows, columns, gdx.data(), pdy, static_cast<const T*>(same.data()));
    alike(1e-4);
    const types::random_key key{.seed = 3, .step = 1};
    dropout(here, count, y.data(), x.data(), key, ops::dropout_rate::of(0.25));
    dropout(there, count, gy.data(), px, key, ops::dropout_rate::of(0.25));
    CHECK(bits_of(gy.back()) == bits_of(y));
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: words are looked up, and their gradients are floats", T, bfloat16, float16) {
  cpu processor;
  for (const std::size_t width : {5U, 520U}) {
    constexpr std::size_t words = 9, count = 40;
    const std::vector<T> weight = rounded<T>(normal(words * width, 1)), dy = rounded<T>(normal(count * width, 2));
    std::vector<std::int32_t> indices;
    for (std::size_t i = 0; i < count; ++i) indices.push_back(static_cast<std::int32_t>(i * i % 7));
    std::vector<T> y(count * width);
    std::vector<float> dw(words * width);
    const testing::on_gpu<T> gweight(weight, 0), gdy(dy, 0), gy(y, 0);
    const testing::on_gpu<float> gdw(dw, 0);
    const testing::on_gpu<std::int32_t> gi(indices, 0);
    embedding_forward(processor.compute(), count, words, width, y.data(), weight.data(), indices.data());
    embedding_backward(processor.compute(), count, words, width, dw.data(), dy.data(), indices.data());
    auto& there = testing::gpu().compute();
    embedding_forward(there, count, words, width, gy.data(), static_cast<const T*>(gweight.data()),
                      static_cast<const std::int32_t*>(gi.data()));
    embedding_backward(there, count, words, width, gdw.data(), static_cast<const T*>(gdy.data()),
                       static_cast<const std::int32_t*>(gi.data()));
    CHECK(bits_of(gy.back()) == bits_of(y));
    CHECK(distance(gdw.back(), dw) < 1e-5);
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: losses and their gradients", T, bfloat16, float16) {
  constexpr std::size_t rows = 7;
  for (const std::size_t classes : {11U, 520U}) { // the second is work for teams of 256 threads
    const std::size_t count = rows * classes;
    const std::vector<T> logits = rounded<T>(normal(count, 1));
    std::vector<float> targets;
    for (const double t : normal(count, 2)) targets.push_back(static_cast<float>(t));
    const std::vector<std::int32_t> labels{0, 10, 3, 3, 7, 1, 9};
    cpu processor;
    for (const double scale : {1.0, 64.0}) {
      std::vector<T> here(count);
      double loss = 0;
      const testing::on_gpu<T> dx(logits, 0), there(std::vector<T>(count), 0);
      const testing::on_gpu<float> dt(targets, 0);
      const testing::on_gpu<std::int32_t> dl(labels, 0);
      const testing::on_gpu<double> dloss({0}, 0), dscale({scale}, 0);
      mean_of_terms(processor.compute(), &loss, here.data(), count, logits.data(), targets.data(), detail::squared_error{},
                    detail::squared_error_slope{}, &scale);
      mean_of_terms(testing::gpu().compute(), dloss.data(), there.data(), count, static_cast<const T*>(dx.data()),
                    static_cast<const float*>(dt.data()), detail::squared_error{}, detail::squared_error_slope{}, dscale.data());
      CHECK(dloss.back()[0] == doctest::Approx(loss).epsilon(1e-5));
      CHECK(distance(there.back(), here) <= last_place<T>);
      for (const double smoothing : {0.0, 0.1}) {
        const auto options = [smoothing](const double* by) {
          return ops::cross_entropy_options<T>{.label_smoothing = smoothing, .gradient_scale = by};
        };
        softmax_cross_entropy(processor.compute(), &loss, here.data(), ops::matrix<const T>(logits.data(), rows, classes),
                              labels.data(), options(&scale));
        softmax_cross_entropy(testing::gpu().compute(), dloss.data(), there.data(),
                              ops::matrix<const T>(dx.data(), rows, classes), static_cast<const std::int32_t*>(dl.data()),
                              options(dscale.data()));
        CHECK(dloss.back()[0] == doctest::Approx(loss).epsilon(1e-5));
        CHECK(distance(there.back(), here) <= last_place<T>);
      }
    }
  }
}

TEST_CASE_TEMPLATE("cuda, 16 bits: losses with soft targets and with weights", T, bfloat16, float16) {
  for (const std::size_t classes : {5U, 520U}) {
    constexpr std::size_t rows = 3;
    const std::size_t count = rows * classes;
    std::vector<double> targets = normal(count, 3), weights = normal(classes, 4);
    for (double& t : targets) t = std::abs(t) / 3;
    for (double& w : weights) w = std::abs(w) + 0.5;
    const testing::narrow_operands all{.in = {normal(count, 1)},
                                       .out = {normal(count, 5), normal(count, 6)},
                                       .sums = {targets, weights},
                                       .doubles = {{0}, {0}, {64}}};
    CHECK(testing::narrow_apart<T>(all, [&](auto& q, const auto& g) {
            const float *const t = g.sums[0], *const w = g.sums[1];
            const double* const scale = g.doubles[2];
            soft_cross_entropy(q, g.doubles[0], g.out[0], ops::matrix<const T>(g.in[0], rows, classes), t, w, 0.1, scale);
            bce_with_logits(q, g.doubles[1], g.out[1], count, g.in[0], t, w, classes, scale);
          }) <= 1);
  }
}

} // namespace ops_cuda_sixteen_bits_tests
