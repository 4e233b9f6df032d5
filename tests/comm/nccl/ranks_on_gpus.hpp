// SPDX-License-Identifier: MIT
// Ranks that are threads, each with a GPU of the fake runtime, joined by the fake NCCL.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/nccl/nccl.cuh>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/ops/transfer/cuda.cuh>

#include "../../cuda/fake/fake.hpp"
#include "../../cuda/fake/nccl.hpp"

namespace testing {

// Returns when the queue's work is done; gives up after a while.
inline void finish(cairn::cuda::queue& queue) {
  cairn::detail::wait_on_host(queue, queue.record(), std::chrono::seconds(60), [] {});
}
// The same for what waits for other ranks.
inline void finish(cairn::cuda::queue& queue, cairn::nccl::rank& rank) {
  cairn::detail::wait_on_host(queue, queue.record(), std::chrono::seconds(60), [&] { rank.check(); });
}

// Values in the memory of a GPU.
template <class T>
class gpu_values {
public:
  gpu_values(cairn::cuda::queue& queue, std::vector<T> values)
      : host_(std::move(values)), there_(queue.ordinal(), host_.size() * sizeof(T), queue.stream()) {
    if (!host_.empty()) upload(queue, host_.size(), span().data(), static_cast<const T*>(host_.data()));
  }
  std::span<T> span() const { return {reinterpret_cast<T*>(there_.data()), host_.size()}; }
  // Waits for what the queue holds, and for the ranks that it waits for.
  const std::vector<T>& read(cairn::cuda::queue& queue, cairn::nccl::rank& rank) {
    if (!host_.empty()) download(queue, host_.size(), host_.data(), static_cast<const T*>(span().data()));
    finish(queue, rank);
    return host_;
  }

private:
  std::vector<T> host_;
  cairn::cuda::memory there_;
};

// Numbers of very different sizes: another order of summation gives other bits.
template <class T>
std::vector<T> numbers_of(int rank, std::size_t count) {
  const auto seed = static_cast<std::uint64_t>(rank);
  std::vector<T> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = (cairn::ops::random_uniform<T>({seed, 0, 0}, i) - T(0.5)) *
                 (cairn::ops::random_bits({seed, 1, 0}, i) % 2 == 0 ? T(1e4) / 3 : T(1) / 3);
  return numbers;
}
template <class T>
std::vector<T> sum_in_order(int ranks, std::size_t count) {
  std::vector<T> sum = numbers_of<T>(0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<T> more = numbers_of<T>(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  }
  return sum;
}

// A machine with this many GPUs; everything of an earlier test is forgotten.
inline void begin(int gpus, std::uint64_t seed = 1) {
  fake::reset(seed);
  fake::reset_nccl(seed);
  fake::gpus(gpus);
}
// Calls body(rank, queue) for each rank, with a queue of its GPU. On a busy machine ranks notice their own deadline at different
// times, so that of the host's communicator is longer.
template <class Body>
void with_ranks(int ranks, const cairn::nccl::options& how, const Body& body) {
  const auto of_host = std::min<std::chrono::milliseconds>(3 * how.deadline, std::chrono::hours(1));
  cairn::threads(ranks, {.deadline = of_host}).run([&](cairn::threads::rank& host) {
    cairn::nccl::rank rank(host, how);
    cairn::cuda::queue queue(rank.ordinal(), false);
    body(rank, queue);
  });
}

// The text of the error of type Kind that the function throws; empty if it throws none.
template <class Kind = cairn::error, class F>
std::string thrown_by(const F& f) {
  try {
    f();
  } catch (const Kind& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace testing
