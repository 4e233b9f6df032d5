// SPDX-License-Identifier: MIT
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/conv2d/onednn.hpp>
#include <cairn/ops/conv2d/passes_by_onednn.hpp>
#include <cairn/ops/conv2d/quicker_by_onednn.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../data/allocations.hpp"
#include "formulas.hpp"

namespace conv2d_onednn_tests {

using namespace cairn;
using namespace conv2d_case;
using detail::conv2d_pass;
using detail::quicker_by_onednn;

namespace {

constexpr ops::convolution square(std::size_t extent, std::size_t in, std::size_t out, std::size_t kernel = 3,
                                  std::size_t stride = 1, std::size_t groups = 1) {
  return made(extent, extent, in, out, groups, axis(kernel, stride, kernel / 2), axis(kernel, stride, kernel / 2));
}

// Whether oneDNN is chosen for exactly these passes. The layers below were measured.
constexpr bool chosen(const ops::convolution& how, bool forward, bool input_gradient, bool weight_gradient) {
  return quicker_by_onednn(how, conv2d_pass::forward) == forward &&
         quicker_by_onednn(how, conv2d_pass::input_gradient) == input_gradient &&
         quicker_by_onednn(how, conv2d_pass::weight_gradient) == weight_gradient;
}
static_assert(chosen(square(32, 3, 16), true, true, true));
static_assert(chosen(square(32, 16, 16), true, true, false));
static_assert(chosen(square(8, 64, 64), true, false, true));
static_assert(chosen(square(32, 48, 12), true, false, false));
static_assert(chosen(square(56, 64, 64), true, false, false));
static_assert(chosen(square(7, 512, 512), true, true, true));
static_assert(chosen(square(4, 512, 512), false, false, true));
static_assert(chosen(square(28, 128, 256, 3, 2), true, true, true));
static_assert(chosen(square(27, 64, 192, 5), true, true, true));
static_assert(chosen(square(14, 1024, 256, 1), false, false, false)); // a product
static_assert(chosen(square(56, 128, 128, 3, 1, 128), true, true, true));
static_assert(chosen(square(28, 40, 40, 5, 1, 40), true, true, false));
static_assert(chosen(square(28, 48, 48, 3, 1, 4), false, false, true));

// Calls oneDNN wherever it has a kernel, whether it is faster or not, and Cairn's own kernels elsewhere. Counts the former.
struct by_onednn {
  std::size_t* made;
  static double error(double terms) { return 1 + std::sqrt(terms) + terms / 8; } // it adds one term after another

  void forward(cpu::queue& queue, const ops::convolution& how, std::size_t samples, ops::matrix<float> y, const float* x,
               const float* w, const ops::epilogue<float>& then) const {
    const ops::matrix<const float> input{x, samples * how.over.inputs(), how.in_channels};
    if (detail::onednn_images(queue, how, conv2d_pass::forward, samples, y, input, w, then)) ++*made;
    else conv2d_forward(queue, how, samples, y, x, w, then);
  }
  void input_gradient(cpu::queue& queue, const ops::convolution& how, std::size_t samples, float* dx, ops::matrix<const float> dy,
                      const float* w, const ops::epilogue<float>& then) const {
    const ops::matrix<float> result{dx, samples * how.over.inputs(), how.in_channels};
    if (detail::onednn_images(queue, how, conv2d_pass::input_gradient, samples, result, dy, w, then)) ++*made;
    else conv2d_input_gradient(queue, how, samples, dx, dy, w, then);
  }
  void weight_gradient(cpu::queue& queue, const ops::convolution& how, std::size_t samples, float* dw, float* db,
                       ops::matrix<const float> dy, const float* x) const {
    detail::sum_pixels(queue, db, dy);
    if (detail::onednn_weight_gradient(queue, how, samples, dw, dy, x)) ++*made;
    else conv2d_weight_gradient(queue, how, samples, dw, nullptr, dy, x);
  }
};

// Small images of every kind of convolution for which oneDNN is chosen.
constexpr ops::convolution quick_ones[] = {
    square(9, 3, 16),           // few input channels
    square(8, 16, 32, 3, 2),    // a stride
    square(7, 20, 16),          // channels that do not fill a register
    square(7, 12, 8, 5),        // a large window
    square(5, 16, 48),          // a small image
    square(6, 16, 32, 1, 2),    // a stride without a window
    square(7, 32, 32, 3, 1, 4), // groups
    square(7, 20, 20, 3, 2, 20) // depthwise
};

void check_all(const ops::convolution& how, std::size_t samples, std::size_t least) {
  CAPTURE(how.over.y.in);
  CAPTURE(how.in_channels);
  CAPTURE(how.groups);
  std::size_t plain = 0, fused = 0;
  run<float>(how, samples, 1, 0, false, by_onednn{&plain});
  run<float>(how, samples, 2, 3, true, by_onednn{&fused}); // rows with gaps, an activation, addends and a mask
  if (detail::widest_instruction_set() != detail::instruction_set::plain) CHECK(plain >= least);
  CHECK(fused == plain);
}

} // namespace

TEST_CASE("onednn: the formulas, whatever the options") {
  for (const ops::convolution& how : several) check_all(how, 3, 0);
  for (const ops::convolution& how : quick_ones) check_all(how, 3, 3); // each pass has a kernel
  check_all(square(4, 128, 256), 9, 3);                                // a gradient in two pieces, from 8 images and one
}

TEST_CASE("onednn: a number that is not finite reaches what is made of it, and no more") {
  std::size_t made = 0;
  for (const ops::convolution& how : several) check_spread<float>(how, by_onednn{&made});
  for (const ops::convolution& how : quick_ones) check_spread<float>(how, by_onednn{&made});
}

TEST_CASE("onednn: the same bits on any number of threads, and of an image whatever others there are") {
  for (const ops::convolution& how : {square(11, 12, 32), square(16, 16, 32, 3, 2), square(9, 48, 48, 3, 1, 3),
                                      square(14, 130, 130, 3, 1, 130), square(2, 128, 256)}) {
    CAPTURE(how.in_channels);
    std::size_t made = 0;
    const by_onednn by{&made};
    const auto one = run<float>(how, 11, 1, 0, false, by);
    CHECK((run<float>(how, 11, 2, 0, false, by) == one));
    CHECK((run<float>(how, 11, 3, 0, false, by) == one));
    const auto first = run<float>(how, 1, 1, 0, false, by); // the same elements in the first image
    CHECK(std::equal(first.y.begin(), first.y.end(), one.y.begin()));
    CHECK(std::equal(first.dx.begin(), first.dx.end(), one.dx.begin()));
  }
}

TEST_CASE("onednn: a program gets it where it is quicker, and Cairn's own kernels elsewhere") {
  if (detail::widest_instruction_set() == detail::instruction_set::plain) return; // oneDNN is never chosen
  for (const ops::convolution& how : {square(9, 3, 16), square(9, 32, 20), square(4, 32, 32)}) {
    CAPTURE(how.in_channels);
    cpu device;
    auto& queue = device.compute();
    const std::size_t rows = 2 * how.over.outputs(), inputs = 2 * how.over.inputs();
    const auto x = noise<float>(inputs * how.in_channels, 1), w = noise<float>(how.out_channels * how.depth(), 2);
    const auto dy = noise<float>(rows * how.out_channels, 3);
    const ops::matrix<const float> gradient{dy.data(), rows, how.out_channels}, input{x.data(), inputs, how.in_channels};
    std::vector<float> y(dy.size()), y_expected(y), dx(x.size()), dx_expected(x.size()), dw(w.size()), dw_expected(w.size());
    const ops::matrix<float> result{y_expected.data(), rows, how.out_channels};
    const ops::matrix<float> input_gradient{dx_expected.data(), inputs, how.in_channels};
    const auto set = detail::widest_instruction_set();

    conv2d_forward(queue, how, 2, ops::matrix<float>{y.data(), rows, how.out_channels}, x.data(), w.data(), {});
    CHECK((quicker_by_onednn(how, conv2d_pass::forward)
               ? detail::onednn_images(queue, how, conv2d_pass::forward, 2, result, input, w.data(), {})
               : detail::gather_outputs(queue, set, how, 2, result, x.data(), w.data(), {})));
    CHECK(y == y_expected);
    conv2d_input_gradient(queue, how, 2, dx.data(), gradient, w.data(), {});
    CHECK((quicker_by_onednn(how, conv2d_pass::input_gradient)
               ? detail::onednn_images(queue, how, conv2d_pass::input_gradient, 2, input_gradient, gradient, w.data(), {})
               : detail::gather_input_gradient(queue, set, how, 2, input_gradient, gradient, w.data(), {})));
    CHECK(dx == dx_expected);
    conv2d_weight_gradient<float>(queue, how, 2, dw.data(), nullptr, gradient, x.data());
    CHECK((quicker_by_onednn(how, conv2d_pass::weight_gradient)
               ? detail::onednn_weight_gradient(queue, how, 2, dw_expected.data(), gradient, x.data())
               : detail::sum_weights_on(queue, set, how, 2, dw_expected.data(), gradient, x.data())));
    CHECK(dw == dw_expected);
  }
}

TEST_CASE("onednn: the addend may be the result") {
  std::size_t made = 0;
  for (const ops::convolution& how : {square(8, 8, 16, 3, 2), square(6, 20, 20, 3, 1, 20)})
    check_in_place<float>(how, by_onednn{&made});
  CHECK((made == 8 || detail::widest_instruction_set() == detail::instruction_set::plain));
}

// oneDNN makes a small map at each call. Reordered weights, sums and primitives are kept from the first pass on.
TEST_CASE("onednn: after the first time a pass allocates a few KiB, whatever its size") {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  for (const ops::convolution& how : {square(8, 128, 256), square(32, 16, 32, 3, 2)}) {
    CAPTURE(how.in_channels);
    const std::size_t samples = 16, rows = samples * how.over.outputs(), inputs = samples * how.over.inputs();
    const auto w = noise<float>(how.out_channels * how.depth(), 2);
    std::vector<float> x(inputs * how.in_channels, 1.0F), y(rows * how.out_channels, 1.0F), dw(w);
    const ops::matrix<float> image{x.data(), inputs, how.in_channels}, result{y.data(), rows, how.out_channels};
    std::size_t bytes = 0;
    for (int turn = 0; turn < 2; ++turn) {
      const std::size_t before = testing::allocated_bytes;
      CHECK(detail::onednn_images(queue, how, conv2d_pass::forward, samples, result, image, w.data(), {}));
      CHECK(detail::onednn_images(queue, how, conv2d_pass::input_gradient, samples, image, result, w.data(), {}));
      CHECK(detail::onednn_weight_gradient(queue, how, samples, dw.data(), result, x.data()));
      bytes = testing::allocated_bytes - before;
    }
    CHECK(bytes < 3 * 65536); // a copy of the first weight would be 1.2 MB, of the second image 1 MB
  }
}

TEST_CASE("onednn: what does not fit into the scratch, and no images, are left to Cairn's own kernels") {
  cpu device;
  auto& queue = device.compute();
  const ops::convolution large = square(300, 1, 16);
  const auto w = noise<float>(16 * large.depth(), 2), x = noise<float>(large.over.inputs(), 1);
  std::vector<float> y(large.over.outputs() * 18, -7.0F);
  const ops::matrix<float> apart{y.data(), large.over.outputs(), 16, 18};
  const ops::matrix<const float> input{x.data(), large.over.inputs(), 1};
  CHECK_FALSE(detail::onednn_images(queue, large, conv2d_pass::forward, 1, apart, input, w.data(), {}));
  CHECK_FALSE(detail::onednn_weight_gradient(queue, large, 1, y.data(), apart, x.data()));
  CHECK_FALSE(detail::onednn_images(queue, large, conv2d_pass::forward, 0, apart, input, w.data(), {}));
  CHECK_FALSE(detail::onednn_weight_gradient(queue, large, 0, y.data(), apart, x.data()));
  CHECK(std::count(y.begin(), y.end(), -7.0F) == std::ptrdiff_t(y.size()));
}

TEST_CASE("onednn: several threads that train at once get the same bits") {
  const ops::convolution how = square(14, 16, 32, 3, 2);
  std::size_t made = 0;
  const auto expected = run<float>(how, 4, 1, 0, false, by_onednn{&made});
  std::vector<passes<float>> found(3);
  {
    std::vector<std::jthread> ranks;
    for (auto& mine : found)
      ranks.emplace_back([&mine, &how] {
        std::size_t count = 0;
        for (int i = 0; i < 3; ++i) mine = run<float>(how, 4, 2, 0, false, by_onednn{&count});
      });
  }
  for (const auto& mine : found) CHECK((mine == expected));
}

TEST_CASE("onednn: oneDNN starts no threads of its own") {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  // A thread that has never called OpenMP would get a team at its first call.
  std::jthread([&threads] {
    std::size_t made = 0;
    const auto before = threads();
    for (const ops::convolution& how : {square(30, 16, 32, 3, 2), square(14, 32, 48)})
      run<float>(how, 2, 1, 0, false, by_onednn{&made});
    CHECK(threads() <= before);
  }).join();
}

} // namespace conv2d_onednn_tests
