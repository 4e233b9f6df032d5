// SPDX-License-Identifier: MIT
#include <cairn/core/random_normal.hpp>
#include <cairn/ops/conv2d/cpu.hpp>

#include "bench.hpp"

using namespace cairn;

namespace {

struct layer_of_images {
  std::size_t samples, extent, in, out, kernel, stride, groups;
};

// Layers of ResNet-20, DenseNet-BC-100 and VGG, a first layer, one of ResNet-50 with a stride, and depthwise ones.
constexpr layer_of_images layers[] = {
    {64, 32, 3, 16, 3, 1, 1},   {64, 32, 16, 16, 3, 1, 1}, {64, 32, 16, 32, 3, 2, 1},    {64, 16, 32, 32, 3, 1, 1},
    {64, 8, 64, 64, 3, 1, 1},   {64, 32, 48, 12, 3, 1, 1}, {64, 16, 48, 12, 3, 1, 1},    {64, 8, 48, 12, 3, 1, 1},
    {64, 32, 120, 48, 1, 1, 1}, {8, 56, 64, 64, 3, 1, 1},  {8, 28, 128, 128, 3, 1, 1},   {8, 14, 256, 256, 3, 1, 1},
    {8, 7, 512, 512, 3, 1, 1},  {8, 112, 3, 64, 7, 2, 1},  {8, 56, 128, 128, 3, 1, 128}, {8, 28, 256, 256, 3, 1, 32}};

// The parts of a convolution, and the library that computes one of them in this program.
constexpr const char* names[] = {"forward", "input gradient", "weight gradient"};
const char* maker([[maybe_unused]] const ops::convolution& how, [[maybe_unused]] std::size_t part) {
#if CAIRN_WITH_ONEDNN
  if (detail::takes_onednn(how, static_cast<detail::conv2d_pass>(part))) return "onednn";
#endif
  return "cairn";
}

template <class F>
void measure(const request& asked, const layer_of_images& l, const ops::convolution& how, std::size_t part, double mflops,
             const F& call) {
  std::vector<double> milliseconds;
  for (std::size_t i = 0; i < asked.warmup + asked.steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (i >= asked.warmup) milliseconds.push_back(took.count());
  }
  std::printf("{\"peer\": \"cairn\", \"workload\": \"convolutions\", \"part\": \"%s\", \"samples\": %zu, \"extent\": %zu, "
              "\"in\": %zu, \"out\": %zu, \"kernel\": %zu, \"stride\": %zu, \"groups\": %zu, \"threads\": %zu, "
              "\"gflops\": %.1f, \"gflops_best\": %.1f, \"by\": \"%s\"}\n",
              names[part], l.samples, l.extent, l.in, l.out, l.kernel, l.stride, l.groups, asked.threads,
              mflops / median(milliseconds), mflops / *std::min_element(milliseconds.begin(), milliseconds.end()),
              maker(how, part));
  std::fflush(stdout);
}

} // namespace

// Measures each part of each layer in `--steps` turns; prints a line for each. Products with padding count too.
bool bench_convolutions(const request& asked) {
  cpu device({.threads = asked.threads});
  for (const layer_of_images& l : layers) {
    const std::size_t padding = l.kernel / 2, out = (l.extent + 2 * padding - l.kernel) / l.stride + 1;
    const ops::window_axis axis{l.extent, out, l.kernel, l.stride, padding, 1};
    const ops::convolution how{{axis, axis}, l.in, l.out, l.groups};
    const std::size_t pixels = l.samples * out * out;
    std::vector<float> x(l.samples * l.extent * l.extent * l.in), dx(x.size()), y(pixels * l.out), dy(y.size());
    std::vector<float> w(l.out * how.depth()), dw(w.size());
    ops::fill_normal(std::span<float>(x), types::random_key{.seed = 1, .position = 0});
    ops::fill_normal(std::span<float>(dy), types::random_key{.seed = 1, .position = 1});
    ops::fill_normal(std::span<float>(w), types::random_key{.seed = 1, .position = 2});
    const ops::matrix<const float> gradient{dy.data(), pixels, l.out, l.out};
    const double mflops = 2.0 * static_cast<double>(pixels) * static_cast<double>(l.out) * static_cast<double>(how.depth()) / 1e6;
    auto& queue = device.compute();
    measure(asked, l, how, 0, mflops, [&] {
      conv2d_forward(queue, how, l.samples, ops::matrix<float>{y.data(), pixels, l.out, l.out}, x.data(), w.data(), {});
    });
    measure(asked, l, how, 1, mflops, [&] { conv2d_input_gradient(queue, how, l.samples, dx.data(), gradient, w.data(), {}); });
    measure(asked, l, how, 2, mflops,
            [&] { conv2d_weight_gradient<float>(queue, how, l.samples, dw.data(), nullptr, gradient, x.data()); });
  }
  return true;
}
