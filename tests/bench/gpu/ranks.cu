// SPDX-License-Identifier: MIT
// Steps of ranks: as threads whose gradients go through the host, and, where NCCL is there and the machine has several GPUs, from
// GPU to GPU.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <cairn/cairn_cuda.cuh>
#if CAIRN_WITH_NCCL
#include <cairn/comm/nccl/nccl.cuh>
#endif

#include "networks.hpp"
#include "parts.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

// The milliseconds of a step of one rank, medians over some rounds. All ranks start each round together, as a step waits for the
// others' gradients. Each rank has a batch of Batch samples.
template <class Model, std::size_t Batch, class Rank>
double of_rank(Rank& rank, const request& asked, int ordinal) {
  using type = trainer<ddp<Model, Rank>, CrossEntropyLoss, SGD, batch<Batch>, float, cuda>;
  type train{rank, sgd_of_steps, {.ordinal = ordinal}};
  const random_batch data(Batch, type::input_shape.size());
  std::vector<double> found;
  for (int round = 0; round < (asked.smaller > 1 ? 2 : 6); ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i + 1 < asked.steps; ++i) train.step(data.x, data.y);
    const double loss = train.step(data.x, data.y); // reading the loss waits
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (round > 0 && loss == loss) found.push_back(ms / static_cast<double>(asked.steps)); // the first one makes the graphs
  }
  return median(found);
}

template <class Model, std::size_t Batch>
double by_threads(const request& asked, int ranks) {
  const int there = std::max(1, gpus());
  std::vector<double> ms(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    ms[static_cast<std::size_t>(rank.rank())] = of_rank<Model, Batch>(rank, asked, rank.rank() % there);
  });
  return *std::max_element(ms.begin(), ms.end());
}

#if CAIRN_WITH_NCCL
template <class Model, std::size_t Batch>
double by_nccl(const request& asked, int ranks, nccl::order sums) {
  std::vector<double> ms(static_cast<std::size_t>(ranks));
  nccl{nccl::options{.ranks = ranks, .sums = sums}}.run(
      [&](nccl::rank& rank) { ms[static_cast<std::size_t>(rank.rank())] = of_rank<Model, Batch>(rank, asked, rank.ordinal()); });
  return *std::max_element(ms.begin(), ms.end());
}
#endif

template <class Model, std::size_t Batch>
void rows_of(table& rows, const request& asked, const std::string& name) {
  const auto row = [&](const char* communicator, int ranks, int on, double ms) {
    rows.row({name, communicator, std::to_string(ranks), std::to_string(on), std::to_string(Batch), number(ms)});
  };
  const int there = gpus();
  row("threads", 1, 1, by_threads<Model, Batch>(asked, 1));
  row("threads", 2, std::min(2, there), by_threads<Model, Batch>(asked, 2));
#if CAIRN_WITH_NCCL
  for (int ranks = 2; ranks <= std::min(there, 8); ranks *= 2) {
    row("nccl, order::fixed", ranks, ranks, by_nccl<Model, Batch>(asked, ranks, nccl::order::fixed));
    row("nccl, order::nccl", ranks, ranks, by_nccl<Model, Batch>(asked, ranks, nccl::order::nccl));
  }
#endif
}

} // namespace

void measure_ranks(const request& asked) {
  table rows({"network", "communicator", "ranks", "GPUs", "batch of a rank", "ms"});
  rows_of<mlp, 128>(rows, asked, "mlp");
  rows_of<chain<10>, 1024>(rows, asked, "chain 10");
#if !CAIRN_WITH_NCCL
  std::printf("\nLeft out: ranks by NCCL, as this program was built without it.\n");
#else
  if (gpus() < 2) std::printf("\nLeft out: ranks by NCCL, which needs a GPU for each, as there is one GPU.\n");
#endif
}

} // namespace gpu_bench
