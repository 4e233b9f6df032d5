// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/ops/normalized_product/normalized_product.hpp>

#include <cairn/core/bfloat16.hpp>
#include <cairn/ops/normalized_product/cpu.hpp>
#include <cairn/ops/normalized_product/narrow.hpp>
#include <cairn/ops/normalized_product/reference.hpp>
#include <doctest/doctest.h>

#include "../made_up.hpp"

namespace normalized_product_normalized_product_tests {

using namespace cairn;

namespace {

template <class T>
struct results {
  std::vector<T> h, dx;
  std::vector<accumulated<T>> statistics, by_statistics, norm_weight, norm_bias, weight;
  bool operator==(const results&) const = default;
};

// Runs on the first columns of a wider map, and adds to those of a wider gradient.
template <class T>
results<T> run(std::size_t rows, std::size_t in, std::size_t out, std::size_t threads, bool plain) {
  using A = accumulated<T>;
  cpu::queue queue(threads);
  const std::size_t stride = in + 7;
  const auto x = made_up<T>(rows * stride, 0.7, 0.5), dh = made_up<T>(rows * out, 0.3), w = made_up<T>(in * out, 0.9),
             gamma = made_up<T>(in, 1.3), beta = made_up<T>(in, 0.4);
  const auto by_h = made_up<A>(2 * out, 1.1);
  std::vector<A> of_x(2 * in), partial(2 * out * detail::norm_tiles(rows));
  const ops::matrix<const T> map{x.data(), rows, in, stride};
  detail::channel_statistics_reference(map, of_x.data());
  const auto norm = ops::channel_norm<T>::of_batch(of_x.data(), 1e-5, gamma.data(), beta.data());
  results<T> r{std::vector<T>(rows * out), made_up<T>(rows * stride, 0.2),
               std::vector<A>(2 * out),    std::vector<A>(2 * in),
               std::vector<A>(in),         std::vector<A>(in),
               std::vector<A>(in * out)};
  std::vector<T> turned(in * out), scales(3 * (in + out));
  const ops::matrix<T> h{r.h.data(), rows, out};
  const ops::matrix<const T> h_gradient{dh.data(), rows, out};
  const ops::normalized_product_gradients<T> to{{r.dx.data(), rows, in, stride},
                                                {r.dx.data(), rows, in, stride},
                                                r.by_statistics.data(),
                                                r.norm_weight.data(),
                                                r.norm_bias.data(),
                                                r.weight.data()};
  if (plain) {
    detail::normalized_product_forward_reference<T>(h, r.statistics.data(), map, norm, w.data());
    detail::normalized_product_backward_reference<T>(to, h_gradient, h, r.statistics.data(), by_h.data(), map, norm, w.data());
  } else {
    normalized_product_forward(queue, h, r.statistics.data(), map, norm, w.data(),
                               {turned.data(), scales.data(), partial.data()});
    normalized_product_backward(queue, to, h_gradient, h, r.statistics.data(), by_h.data(), map, norm, w.data(), scales.data());
  }
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

TEST_CASE("normalized_product: elements whose sums are kept in another type are rounded once") {
  const auto narrow = run<bfloat16>(20, 5, 3, 1, false);
  const auto wide = run<float>(20, 5, 3, 1, false);
  for (std::size_t i = 0; i < wide.h.size(); ++i)
    CHECK(static_cast<float>(narrow.h[i]) == doctest::Approx(wide.h[i]).epsilon(0.05));
}

} // namespace normalized_product_normalized_product_tests
