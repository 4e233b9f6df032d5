// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/ops/normalized_product/normalized_product.hpp>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/normalized_product/cpu.hpp>
#include <cairn/ops/normalized_product/reference.hpp>
#include <doctest/doctest.h>

#include "../made_up.hpp"
#include "../narrow.hpp"

namespace normalized_product_normalized_product_tests {

using namespace cairn;

namespace {

template <class T>
struct results {
  std::vector<T> h, dx;
  std::vector<accumulated<T>> statistics, by_statistics, norm_weight, norm_bias, weight;
  bool operator==(const results&) const = default;
};

// Runs on the first columns of a wider map, and adds to those of a wider gradient. All elements have values of type As.
template <class T, class As = T>
results<T> run(std::size_t rows, std::size_t in, std::size_t out, std::size_t threads, bool plain) {
  using A = accumulated<T>;
  cpu::queue queue(threads);
  const std::size_t stride = in + 7;
  const auto x = made_up_as<T, As>(rows * stride, 0.7, 0.5), dh = made_up_as<T, As>(rows * out, 0.3),
             w = made_up_as<T, As>(in * out, 0.9), gamma = made_up_as<T, As>(in, 1.3), beta = made_up_as<T, As>(in, 0.4);
  const auto by_h = made_up<A>(2 * out, 1.1);
  std::vector<A> of_x(2 * in), of_h(2 * out), partial(2 * out * detail::norm_tiles(rows));
  const ops::matrix<const T> map{x.data(), rows, in, stride};
  detail::channel_statistics_reference(map, of_x.data());
  const auto norm = ops::channel_norm<T>::of_batch(of_x.data(), 1e-5, gamma.data(), beta.data());
  results<T> r{std::vector<T>(rows * out), made_up_as<T, As>(rows * stride, 0.2),
               std::vector<A>(2 * out),    std::vector<A>(2 * in),
               std::vector<A>(in),         std::vector<A>(in),
               std::vector<A>(in * out)};
  std::vector<A> turned(in * out), scales(3 * (in + out));
  const ops::matrix<T> h{r.h.data(), rows, out};
  const ops::matrix<const T> h_gradient{dh.data(), rows, out};
  const ops::normalized_product_gradients<T> to{{r.dx.data(), rows, in, stride},
                                                {r.dx.data(), rows, in, stride},
                                                r.by_statistics.data(),
                                                r.norm_weight.data(),
                                                r.norm_bias.data(),
                                                r.weight.data()};
  if (plain) detail::normalized_product_forward_reference<T>(h, r.statistics.data(), map, norm, w.data());
  else
    normalized_product_forward(queue, h, r.statistics.data(), map, norm, w.data(),
                               {turned.data(), scales.data(), partial.data()});
  take_values<As>(r.h);
  detail::channel_statistics_reference<T>(h, of_h.data());
  if (plain) detail::normalized_product_backward_reference<T>(to, h_gradient, h, of_h.data(), by_h.data(), map, norm, w.data());
  else normalized_product_backward(queue, to, h_gradient, h, of_h.data(), by_h.data(), map, norm, w.data(), scales.data());
  return r;
}

} // namespace

TEST_CASE_TEMPLATE("normalized_product: the formulas, for any size, and any number of threads", T, float, double) {
  const double close = sizeof(T) == 4 ? 2e-5 : 1e-12;
  struct extents {
    std::size_t rows, in, out;
  };
  for (const extents& e : {extents{2, 1, 1}, {70, 24, 48}, {300, 61, 12}, {150, 530, 20}, {257, 100, 130}}) {
    CAPTURE(e.rows);
    CAPTURE(e.in);
    const auto quick = run<T>(e.rows, e.in, e.out, 1, false), plain = run<T>(e.rows, e.in, e.out, 1, true);
    CHECK(relative_difference(quick.h, plain.h) < close);
    CHECK(relative_difference(quick.statistics, plain.statistics) < close);
    CHECK(relative_difference(quick.dx, plain.dx) < close);
    CHECK(relative_difference(quick.by_statistics, plain.by_statistics) < close);
    CHECK(relative_difference(quick.norm_weight, plain.norm_weight) < close);
    CHECK(relative_difference(quick.norm_bias, plain.norm_bias) < close);
    CHECK(relative_difference(quick.weight, plain.weight) < close);
    CHECK(run<T>(e.rows, e.in, e.out, 3, false) == quick);
  }
}

TEST_CASE_TEMPLATE("normalized_product: of 16-bit elements it is that of float, rounded once", T, bfloat16, float16) {
  struct extents {
    std::size_t rows, in, out;
  };
  // Of the last two, a part has fewer columns than the sums that lie on the stack, and fewer rows than a tile.
  for (const extents& e : {extents{2, 1, 1}, {70, 24, 48}, {300, 61, 12}, {257, 100, 130}, {130, 600, 900}, {130, 50, 3000}}) {
    CAPTURE(e.in);
    CAPTURE(e.out);
    const auto narrow = run<T>(e.rows, e.in, e.out, 1, false);
    const auto wide = run<float, T>(e.rows, e.in, e.out, 1, false);
    CHECK(narrow::wrong(narrow.h, wide.h) == 0);
    CHECK(narrow::wrong(narrow.dx, wide.dx) == 0);
    CHECK(relative_difference(narrow.statistics, wide.statistics) < 0.02);
    CHECK(run<T>(e.rows, e.in, e.out, 3, false) == narrow);
    if (e.out == 3000) continue; // there tiles of float have more rows, and other sums
    CHECK(narrow.by_statistics == wide.by_statistics);
    CHECK(narrow.norm_weight == wide.norm_weight);
    CHECK(narrow.norm_bias == wide.norm_bias);
    CHECK(narrow.weight == wide.weight);
  }
}

TEST_CASE("normalized_product: 16-bit elements of more columns than fit take the formulas") {
  const auto quick = run<bfloat16>(2, 3, 20000, 1, false), plain = run<bfloat16>(2, 3, 20000, 1, true);
  CHECK(relative_difference(quick.dx, plain.dx) < 0.01); // a part of it comes from h, which is rounded
  CHECK(relative_difference(quick.weight, plain.weight) < 0.01);
}

} // namespace normalized_product_normalized_product_tests
