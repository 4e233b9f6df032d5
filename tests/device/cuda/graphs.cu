// SPDX-License-Identifier: MIT
// Graphs of a queue's ops. On the emulator a branch that is not ordered as its operands ask is a finding.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/graphs.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/noted_run.cuh>
#include <cairn/ops/copy/cuda.cuh>
#include <cairn/ops/matmul/cuda.cuh>

#include "../../cuda/agree.hpp"

namespace device_cuda_graphs_tests {

using namespace cairn;

struct scaled_sum {
  float by;
  const float *x, *y;
  float* to;
  CAIRN_DEVICE void operator()(std::size_t i) const { to[i] = by * (x[i] + y[i]); }
};

namespace {

constexpr std::size_t rows = 6, in = 20, out = 12;

// The parts of a backward pass: the gradients of a weight and of an input, which are independent, and what reads both.
struct backward_pass {
  testing::on_gpu<float> x{numbers(rows * in, 1), 0}, weight{numbers(out * in, 2), 0}, dy{numbers(rows * out, 3), 0};
  testing::on_gpu<float> dw{std::vector<float>(out * in), 0}, dx{std::vector<float>(rows * in), 0}, y{dy.back(), 0},
      ends{std::vector<float>(rows * in), 0};

  static std::vector<float> numbers(std::size_t count, std::uint32_t which) {
    return testing::converted<float>(testing::normal(count, which));
  }
  static ops::matrix<const float> read(const testing::on_gpu<float>& a, std::size_t height, std::size_t width) {
    return {a.data(), height, width};
  }
  // Six ops, of which the forward pass and the weight's gradient are neighbours that must not change places.
  void put(cuda::queue& queue, float by) const {
    detail::launch_each(queue, "scaled_sum", rows * out, scaled_sum{by, dy.data(), dy.data(), y.data()});
    matmul(queue, ops::matrix<float>(ends.data(), rows, out), read(x, rows, in), read(weight, out, in), ops::transpose::second);
    matmul(queue, ops::matrix<float>(dw.data(), out, in), read(ends, rows, out), read(x, rows, in), ops::transpose::first);
    matmul(queue, ops::matrix<float>(dx.data(), rows, in), read(y, rows, out), read(weight, out, in), ops::transpose::none);
    detail::launch_each(queue, "scaled_sum", rows * in, scaled_sum{-by, dw.data(), dx.data(), ends.data()});
    copy(queue, rows * in, x.data(), static_cast<const float*>(ends.data()));
  }
  std::vector<float> result() const {
    std::vector<float> all = x.back();
    const std::vector<float> gradient = dw.back();
    all.insert(all.end(), gradient.begin(), gradient.end());
    return all;
  }
};

} // namespace

TEST_CASE("cuda, graphs: a run that comes again is one launch, with the arguments that it has then, and has the same bits") {
  cuda by_graphs, one_by_one({.graphs = false});
  const backward_pass a, b;
  for (int round = 0; round < 5; ++round) {
    const float by = round < 4 ? 0.5F + static_cast<float>(round) : 3.5F;
    for (auto [gpu, pass] : {std::pair{&by_graphs, &a}, std::pair{&one_by_one, &b}}) {
      pass->put(gpu->compute(), by);
      gpu->compute().finish();
    }
    CHECK(a.result() == b.result());
  }
  const detail::cuda_statistics graphs = by_graphs.statistics(), others = one_by_one.statistics();
  CHECK(graphs.ops == 6);
  CHECK(graphs.captures == 1);
  CHECK(graphs.refused == 0);
  CHECK(graphs.plays == 4);
  CHECK(graphs.patches >= 4); // the first round is the graph's own; the last one changes nothing
#if __has_builtin(__builtin_clear_padding)
  CHECK(graphs.patches == 4); // though scaled_sum has bytes between its members: see clear_padding()
#endif
  CHECK(others.ops == 30);
  CHECK(others.captures + others.plays + others.patches == 0);
}

TEST_CASE("cuda, graphs: one op or two, and kernels of a program's own, are put as they are") {
  cuda gpu;
  const backward_pass a;
  const auto sum = [&](float by) {
    detail::launch_each(gpu.compute(), "scaled_sum", rows * out, scaled_sum{by, a.dy.data(), a.dy.data(), a.y.data()});
  };
  for (int round = 0; round < 4; ++round) {
    sum(1), sum(2);
    gpu.compute().finish();
  }
  CHECK((gpu.statistics().ops == 8 && gpu.statistics().plays == 0));
  for (int round = 0; round < 4; ++round) {
    sum(1), sum(2);
    {
      const auto now = gpu.compute().use("own"); // a kernel<<<..., gpu.compute().stream()>>> would stand here
    }
    sum(3), sum(4);
    gpu.compute().finish();
  }
  CHECK((gpu.statistics().ops == 24 && gpu.statistics().plays == 0));
  const auto scaled = a.y.back(), y = a.dy.back();
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(scaled[i] == 4 * (y[i] + y[i]));
}

TEST_CASE("cuda, graphs: products are independent if neither writes what the other touches") {
  std::vector<float> all(100);
  const auto touching = [&](std::size_t read, std::size_t written) {
    detail::touched_memory m;
    m.add(all.data() + read, 10 * sizeof(float), false);
    m.add(nullptr, 10, true); // nothing
    m.add(all.data() + written, 10 * sizeof(float), true);
    return m;
  };
  CHECK(touching(0, 10).is_independent_of(touching(0, 20)));
  CHECK_FALSE(touching(0, 10).is_independent_of(touching(0, 19)));  // both write
  CHECK_FALSE(touching(0, 10).is_independent_of(touching(19, 30))); // reads the first one's last result
  CHECK(touching(0, 10).is_independent_of(touching(20, 30)));
  CHECK_FALSE(touching(9, 50).is_independent_of(touching(20, 0))); // writes what the first one reads
}

} // namespace device_cuda_graphs_tests
