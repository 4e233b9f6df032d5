// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <cuda_runtime_api.h>

#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/matmul/cuda.cuh>

#include "parts.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

struct adds_one {
  float* at;
  CAIRN_HOST_DEVICE void operator()(std::size_t i) const { at[i] += 1; }
};

// Microseconds that one call keeps the host: many calls, without a wait among them.
template <class Call>
double of_host(cuda::queue& queue, const Call& call) {
  constexpr int calls = 200; // fewer than a queue of a GPU takes before it makes the host wait
  using clock = std::chrono::steady_clock;
  std::vector<double> found;
  for (int round = 0; round < 11; ++round) {
    const auto start = clock::now();
    for (int i = 0; i < calls; ++i) call();
    found.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count() / calls);
    queue.finish();
  }
  return median(found);
}

// Microseconds from one wait to the next, of a kernel among many.
template <class Call>
double of_gpu(cuda::queue& queue, const Call& call) {
  return 1000 * milliseconds(call, [&] { queue.finish(); });
}

#if !CAIRN_KERNELS_ON_HOST
// Microseconds of a kernel in a graph of many.
template <class Call>
double in_graph(cuda::queue& queue, const Call& call) {
  constexpr int kernels = 500;
  constexpr const char* op = "graph";
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  detail::check_cuda(cudaStreamBeginCapture(queue.stream(), cudaStreamCaptureModeThreadLocal), op);
  for (int i = 0; i < kernels; ++i) call();
  detail::check_cuda(cudaStreamEndCapture(queue.stream(), &graph), op);
  detail::check_cuda(cudaGraphInstantiate(&made, graph, 0), op);
  const double us =
      1000 * milliseconds([&] { detail::check_cuda(cudaGraphLaunch(made, queue.stream()), op); }, [&] { queue.finish(); }) /
      kernels;
  detail::check_cuda(cudaGraphExecDestroy(made), op);
  detail::check_cuda(cudaGraphDestroy(graph), op);
  return us;
}
#endif

} // namespace

void measure_constants(cairn::cuda& device, const request&) {
  cuda::queue& queue = device.compute();
  const cuda::memory memory = device.allocate(3 * 256 * 256 * sizeof(float));
  const auto at = [&](std::size_t i) { return reinterpret_cast<float*>(memory.data()) + i * 256 * 256; };
  const auto launch = [&] { detail::launch_each(queue, "adds_one", 32, adds_one{at(0)}); };
  const auto product = [&] {
    matmul(queue, ops::matrix<float>(at(0), 128, 128), ops::matrix<const float>(at(1), 128, 128),
           ops::matrix<const float>(at(2), 128, 128), ops::transpose::second);
  };
  launch(), product();
  queue.finish();
  table rows({"constant", "microseconds"}, 1);
  rows.row({"launch of a kernel, on the host", number(of_host(queue, launch))});
  rows.row({"a small kernel among many", number(of_gpu(queue, launch))});
#if CAIRN_KERNELS_ON_HOST
  rows.row({"a small kernel in a graph of 500", "-"});
#else
  rows.row({"a small kernel in a graph of 500", number(in_graph(queue, launch))});
#endif
  cudaEvent_t event = nullptr;
  detail::check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
  detail::check_cuda(cudaEventRecord(event, queue.stream()), "event");
  queue.finish();
  rows.row({"query of an event that has come", number(of_host(queue, [&] { (void)cudaEventQuery(event); }))});
  detail::check_cuda(cudaEventDestroy(event), "event");
  rows.row({"set the current device", number(of_host(queue, [] { (void)cudaSetDevice(0); }))});
  rows.row({"product of 128 x 128 x 128, on the host", number(of_host(queue, product))});
}

} // namespace gpu_bench
