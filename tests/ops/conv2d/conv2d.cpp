// SPDX-License-Identifier: MIT
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/conv2d/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <cairn/ops/matmul/multiply_by_packed.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <doctest/doctest.h>

#include "../matmul/case.hpp"
#include "formulas.hpp"

namespace conv2d_conv2d_tests {

using namespace cairn;
using namespace conv2d_case;

TEST_CASE_TEMPLATE("conv2d: the formulas, whatever the options", T, float, double) {
  for (const ops::convolution& how : several) {
    CAPTURE(how.over.y.stride);
    CAPTURE(how.in_channels);
    for (const std::size_t samples : {1U, 3U}) run<T>(how, samples, 1);
  }
}

TEST_CASE("conv2d: an activation, an addend, a mask and rows apart change nothing else") {
  for (const ops::convolution& how : several) {
    run<float>(how, 2, 1, 3, true);
    const auto plain = run<double>(how, 2, 1), apart = run<double>(how, 2, 1, 5);
    const std::size_t stride = how.out_channels + 5;
    for (std::size_t i = 0; i < plain.y.size(); ++i)
      CHECK(plain.y[i] == apart.y[i / how.out_channels * stride + i % how.out_channels]);
  }
}

TEST_CASE("conv2d: the addend may be the result") {
  for (const ops::convolution& how : several) check_in_place<float>(how);
}

TEST_CASE_TEMPLATE("conv2d: the same bits on any number of threads, and of an image whatever others there are", T, float,
                   double) {
  const ops::convolution large[] = {made(17, 19, 20, 33, 1, axis(3, 1, 1), axis(3, 1, 1)),
                                    made(18, 15, 24, 36, 2, axis(3, 2, 1), axis(5, 1, 2)),
                                    made(17, 15, 130, 130, 130, axis(3, 1, 1), axis(5, 2, 2))};
  for (const ops::convolution& how : large) {
    const auto one = run<T>(how, 4, 1);
    CHECK((run<T>(how, 4, 2) == one));
    CHECK((run<T>(how, 4, 3) == one));
    const auto first = run<T>(how, 1, 1); // the same elements in the first image
    CHECK(std::equal(first.y.begin(), first.y.end(), one.y.begin()));
    CHECK(std::equal(first.dx.begin(), first.dx.end(), one.dx.begin()));
  }
}

TEST_CASE("conv2d: images and weights that do not fit into the scratch at once") {
  run<float>(made(3, 2, 1500, 7, 1, axis(3, 1, 1), axis(2, 1, 1)), 1, 1);   // several blocks of channels
  run<double>(made(2, 2, 600, 130, 1, axis(2, 1, 1), axis(2, 1, 0)), 1, 1); // weights packed term by term
  run<float>(made(3, 3, 512, 5, 1, axis(3, 1, 1), axis(3, 1, 1)), 9, 2);    // some images at a time, and some weights at a time
  run<float>(made(2, 9000, 13, 2, 1, axis(2, 1, 0), axis(3, 2, 1)), 1, 1);  // a row in several tiles
  run<double>(made(1, 1, 100000, 2, 1, axis(1, 2), axis(1, 1)), 2, 1);      // not even one pixel of the input,
  run<double>(made(1, 1, 2, 50000, 1, axis(1, 2), axis(1, 1)), 2, 1);       // or of the output
}

TEST_CASE("conv2d: of no samples the gradients of the parameters are zero") {
  cpu device;
  const ops::convolution how = several[0];
  std::vector<float> dw(4 * how.depth(), 5.0F), db(4, 5.0F);
  const float nothing = 0;
  conv2d_weight_gradient(device.compute(), how, 0, dw.data(), db.data(), ops::matrix<const float>{&nothing, 0, 4}, &nothing);
  CHECK(std::count(dw.begin(), dw.end(), 0.0F) == std::ptrdiff_t(dw.size()));
  CHECK(std::count(db.begin(), db.end(), 0.0F) == 4);
}

TEST_CASE_TEMPLATE("conv2d: the kernels of every instruction set make the same, but for how they round", T, float, double) {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  for (const ops::convolution& how : several) {
    const auto expected = run<T>(how, 2, 1);
    const std::size_t outputs = 2 * how.over.outputs(), inputs = 2 * how.over.inputs();
    const auto x = noise<T>(inputs * how.in_channels, 1), w = noise<T>(how.out_channels * how.depth(), 2);
    const auto dy = noise<T>(outputs * how.out_channels, 3), b = noise<T>(how.out_channels, 4);
    const ops::matrix<const T> gradient{dy.data(), outputs, how.out_channels};
    ops::epilogue<T> then{};
    then.bias = b.data();
    for (const detail::instruction_set isa : matmul_case::sets()) {
      passes<T> found{std::vector<T>(expected.y.size(), T{-7}), std::vector<T>(expected.dx.size(), T{-7}),
                      std::vector<T>(w.size(), T{-7}), expected.db};
      CHECK(detail::gather_outputs(queue, isa, how, 2, ops::matrix<T>{found.y.data(), outputs, how.out_channels}, x.data(),
                                   w.data(), then));
      CHECK(detail::gather_input_gradient(queue, isa, how, 2, ops::matrix<T>{found.dx.data(), inputs, how.in_channels}, gradient,
                                          w.data(), {}));
      CHECK(detail::sum_weights_on(queue, isa, how, 2, found.dw.data(), gradient, x.data()));
      double worst = 0;
      const auto compare = [&worst](const std::vector<T>& a, const std::vector<T>& e) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double apart = std::fabs(static_cast<double>(a[i]) - static_cast<double>(e[i]));
          worst = apart <= worst ? worst : apart; // NaN is the worst
        }
      };
      compare(found.y, expected.y);
      compare(found.dx, expected.dx);
      compare(found.dw, expected.dw);
      CHECK(worst < 200 * static_cast<double>(std::numeric_limits<T>::epsilon()));
    }
  }
}

namespace {

// Calls the kernels of one instruction set.
struct by_instruction_set {
  detail::instruction_set isa;
  template <class T>
  void forward(cpu::queue& queue, const ops::convolution& how, std::size_t samples, ops::matrix<T> y, const T* x, const T* w,
               const ops::epilogue<T>& then) const {
    CHECK(detail::gather_outputs(queue, isa, how, samples, y, x, w, then));
  }
  template <class T>
  void input_gradient(cpu::queue& queue, const ops::convolution& how, std::size_t samples, T* dx, ops::matrix<const T> dy,
                      const T* w, const ops::epilogue<T>& then) const {
    const ops::matrix<T> result{dx, samples * how.over.inputs(), how.in_channels};
    CHECK(detail::gather_input_gradient(queue, isa, how, samples, result, dy, w, then));
  }
  template <class T>
  void weight_gradient(cpu::queue& queue, const ops::convolution& how, std::size_t samples, T* dw, T*, ops::matrix<const T> dy,
                       const T* x) const {
    CHECK(detail::sum_weights_on(queue, isa, how, samples, dw, dy, x));
  }
};

} // namespace

namespace {

// The weight of a convolution, and the same as the kernels of an instruction set read it.
template <class T>
struct weight_twice {
  std::vector<T> own, packed;
  weight_twice(const ops::convolution& how, detail::instruction_set isa)
      : own(noise<T>(how.out_channels * how.depth(), 2)), packed(own.size()) {
    detail::pack_weight(isa, ops::weight_format::own, packed.data(),
                        ops::matrix<const T>{own.data(), how.out_channels, how.depth()});
  }
};
const ops::convolution by_packed[] = {
    made(4, 4, 48, 48, 1, axis(3, 1, 1), axis(3, 1, 1)),     // whole slivers
    made(6, 5, 20, 103, 1, axis(1), axis(1)),                // a product
    made(6, 5, 20, 103, 1, axis(1, 2), axis(1, 2)),          // no product, for its stride
    made(9, 50, 20, 33, 1, axis(3, 2, 1), axis(5, 2, 4, 2)), // taps apart: one term per tap
    made(3, 2, 1500, 7, 1, axis(3, 1, 1), axis(2, 1, 1)),    // several blocks of channels
    made(2, 2, 600, 130, 1, axis(2, 1, 1), axis(2, 1, 0)),   // unpacked, its weights do not fit into the scratch
    made(3, 3, 512, 50, 1, axis(3, 1, 1), axis(3, 1, 1)),    // nor these, sliver by sliver
    made(2, 9000, 13, 2, 1, axis(2, 1, 0), axis(3, 2, 1)),   // a row in several tiles
};

} // namespace

TEST_CASE_TEMPLATE("conv2d: by a packed weight, the same bits for any images, threads and options", T, float, double) {
  const auto check = [](const ops::convolution& how, std::size_t samples, std::size_t threads) {
    cpu device({.threads = threads});
    const std::size_t outputs = samples * how.over.outputs(), stride = how.out_channels + threads;
    const auto x = noise<T>(samples * how.over.inputs() * how.in_channels, 1), b = noise<T>(how.out_channels, 4);
    const auto addend = noise<T>(outputs * how.out_channels, 5);
    ops::epilogue<T> then{};
    then.bias = b.data();
    if (samples == 2) then.then = ops::activation::relu, then.addend = {addend.data(), outputs, how.out_channels};
    for (const detail::instruction_set isa : matmul_case::sets()) {
      if (!detail::reads_packed_weights(isa)) continue;
      const weight_twice<T> w(how, isa);
      std::vector<T> expected(outputs * stride, T{-7}), found = expected;
      const auto into = [&](std::vector<T>& y, const void* packed) {
        CHECK(detail::gather_outputs(device.compute(), isa, how, samples,
                                     ops::matrix<T>{y.data(), outputs, how.out_channels, stride}, x.data(), w.own.data(), then,
                                     packed));
      };
      into(expected, nullptr);
      into(found, w.packed.data());
      CHECK(matmul_case::same_bits(found, expected));
    }
  };
  for (const std::size_t samples : {1U, 2U, 8U})
    for (const std::size_t threads : {1U, 3U}) {
      for (const ops::convolution& how : by_packed)
        if (samples < 8 || how.over.inputs() * how.in_channels < 5000) check(how, samples, threads);
      for (const ops::convolution& how : several)
        if (how.groups == 1) check(how, samples, threads);
    }
}

TEST_CASE("conv2d: a packed form is read where it is one of this weight, of one group, in its own numbers") {
  cpu device;
  const detail::instruction_set isa = detail::widest_instruction_set();
  if (!detail::reads_packed_weights(isa)) return;
  const auto check = [&](const ops::convolution& how, bool reads) {
    const std::size_t outputs = how.over.outputs();
    const auto x = noise<float>(how.over.inputs() * how.in_channels, 1);
    const weight_twice<float> w(how, isa);
    const std::vector<float> zeros(w.own.size(), 0.0F);
    std::vector<float> expected(outputs * how.out_channels), found(expected.size());
    conv2d_forward(device.compute(), how, 1, ops::matrix<float>{expected.data(), outputs, how.out_channels}, x.data(),
                   w.own.data(), {});
    const auto is_same = [&](const ops::packed_weight<float>& packed) {
      found.assign(found.size(), -7.0F);
      conv2d_forward(device.compute(), how, 1, ops::matrix<float>{found.data(), outputs, how.out_channels}, x.data(),
                     w.own.data(), packed, {});
      return matmul_case::same_bits(found, expected);
    };
    CHECK(is_same({}));
    CHECK(is_same({w.own.data() + 1, zeros.data()})); // of another weight
    CHECK(is_same({w.own.data(), zeros.data(), ops::weight_format::bfloat16}));
    CHECK(is_same({w.own.data(), zeros.data(), ops::weight_format::int8}));
    CHECK(is_same({w.own.data(), w.packed.data()}));
    CHECK(is_same({w.own.data(), zeros.data()}) == !reads); // a wrong packed form shows that it is read
  };
  check(made(4, 4, 6, 20, 1, axis(3, 1, 1), axis(3, 1, 1)), true); // not one that oneDNN computes
  check(made(4, 4, 6, 20, 1, axis(1), axis(1)), true);
  check(made(4, 4, 6, 20, 2, axis(3, 1, 1), axis(3, 1, 1)), false);
  check(made(4, 4, 20, 20, 20, axis(3, 1, 1), axis(3, 1, 1)), false);
  check(made(4, 4, 1, 1, 1, axis(3, 1, 1), axis(3, 1, 1)), false); // a group of one channel
  check(made(1, 1, 100'000, 2, 1, axis(2, 1, 1), axis(1)), false); // no tiles
}

TEST_CASE_TEMPLATE("conv2d: a number that is not finite reaches what is made of it, and no more", T, float, double) {
  const ops::convolution more[] = {
      made(7, 9, 4, 6, 2, axis(3, 1, 2, 2), axis(3, 1, 1)),    // a narrow image: the rows of a tile are one product
      made(5, 40, 3, 5, 1, axis(3, 1, 1), axis(3, 1, 1)),      // one product per row
      made(9, 50, 20, 33, 1, axis(3, 2, 1), axis(5, 2, 4, 2)), // taps apart: one product per tap
  };
  const auto check = [](const ops::convolution& how) {
    check_spread<T>(how);
    for (const detail::instruction_set isa : matmul_case::sets()) check_spread<T>(how, by_instruction_set{isa});
  };
  for (const ops::convolution& how : several) check(how);
  for (const ops::convolution& how : more) check(how);
}

TEST_CASE("conv2d: sums that become too large stay what they are, where every number is finite") {
  cpu device;
  const ops::convolution how = made(5, 7, 3, 4, 1, axis(3, 1, 1), axis(3, 1, 1));
  const std::vector<float> x(how.over.inputs() * 3, 1e30F), dy(how.over.outputs() * 4, 1e30F);
  std::vector<float> dw(4 * how.depth());
  conv2d_weight_gradient(device.compute(), how, 1, dw.data(), nullptr, ops::matrix<const float>{dy.data(), how.over.outputs(), 4},
                         x.data());
  CHECK(std::count(dw.begin(), dw.end(), std::numeric_limits<float>::infinity()) == std::ptrdiff_t(dw.size()));
}

TEST_CASE("conv2d: a channel of its own is summed as closely by a wide kernel as by a narrow one, and over long rows") {
  cpu device;
  constexpr std::size_t side = 255, channels = 33;
  const ops::convolution wide{{ops::fitted({side, 0, side, 1}), ops::fitted({side, 0, side, 1})}, channels, channels, channels};
  const std::vector<float> x(side * side * channels, 0.1F), one(side * side * channels, 1.0F);
  std::vector<float> y(channels);
  conv2d_forward(device.compute(), wide, 1, ops::matrix<float>{y.data(), 1, channels}, x.data(), one.data(), {});
  const double exact = static_cast<double>(x[0]) * side * side;
  for (const float sum : y) CHECK(static_cast<double>(sum) == doctest::Approx(exact).epsilon(4e-6));

  constexpr std::size_t length = 100'000;
  const ops::convolution row{{ops::fitted({1, 0, 1, 1}), ops::fitted({length, 0, 1, 1})}, 4, 4, 4};
  const std::vector<float> pixels(4 * length, 0.1F), gradient(4 * length, 1.0F);
  std::vector<float> weight(4);
  conv2d_weight_gradient(device.compute(), row, 1, weight.data(), nullptr, ops::matrix<const float>{gradient.data(), length, 4},
                         pixels.data());
  for (const float sum : weight)
    CHECK(static_cast<double>(sum) == doctest::Approx(static_cast<double>(x[0]) * length).epsilon(4e-6));
}

} // namespace conv2d_conv2d_tests
