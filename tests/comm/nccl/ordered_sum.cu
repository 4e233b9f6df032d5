// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/comm/nccl/ordered_sum.cuh>
#include <cairn/comm/sum_of_ranks.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/transfer/cuda.cuh>
#include <doctest/doctest.h>

namespace nccl_ordered_sum_tests {

using namespace cairn;
using detail::equal_parts;

namespace {

// Numbers of very different sizes: another order of summation gives other bits.
template <class T>
std::vector<T> numbers_of(std::size_t rank, std::size_t count) {
  std::vector<T> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] =
        (ops::random_uniform<T>({rank, 0, 0}, i) - T(0.5)) * (ops::random_bits({rank, 1, 0}, i) % 2 == 0 ? T(1e4) / 3 : T(1) / 3);
  return numbers;
}

// Checks that a rank's kernel has the bits of the sum on a cpu, where it has to write, and has written nowhere else.
template <class T>
void check(cuda& gpu, std::size_t count, std::size_t ranks, std::size_t own) {
  CAPTURE(count);
  CAPTURE(ranks);
  CAPTURE(own);
  const equal_parts parts(count, sizeof(T), ranks);
  std::vector<std::vector<T>> spans;
  for (std::size_t rank = 0; rank < ranks; ++rank) spans.push_back(numbers_of<T>(rank, count));
  std::vector<T> received((ranks - 1) * parts.stride, T(-1));
  for (std::size_t rank = 0, slot = 0; rank < ranks; ++rank) {
    if (rank == own) continue;
    T* const to = received.data() + slot++ * parts.stride;
    std::copy_n(spans[rank].data() + own * parts.each, parts.each, to);
    std::copy_n(spans[rank].data() + ranks * parts.each, parts.rest, to + parts.each);
  }
  std::vector<T> expected = spans[own];
  detail::sum_of_ranks<T>(
      static_cast<int>(ranks), [&](int rank) { return spans[static_cast<std::size_t>(rank)].data(); }, 0, count);
  std::copy_n(spans[0].data() + own * parts.each, parts.each, expected.data() + own * parts.each);
  std::copy_n(spans[0].data() + ranks * parts.each, parts.rest, expected.data() + ranks * parts.each);

  const std::vector<T> before = numbers_of<T>(own, count);
  const auto on_gpu = gpu.allocate(count * sizeof(T)), scratch = gpu.allocate(received.size() * sizeof(T));
  T* const span = reinterpret_cast<T*>(on_gpu.data());
  T* const there = reinterpret_cast<T*>(scratch.data());
  auto& queue = gpu.compute();
  if (count > 0) upload(queue, count, span, before.data());
  if (!received.empty()) upload(queue, received.size(), there, static_cast<const T*>(received.data()));
  launch_each(queue, "ordered_sum", parts.each + parts.rest,
              detail::ordered_sum<T>{span + own * parts.each, span + ranks * parts.each, there, parts.each, parts.stride,
                                     static_cast<int>(own), static_cast<int>(ranks)});
  std::vector<T> after(count);
  if (count > 0) download(queue, count, after.data(), static_cast<const T*>(span));
  queue.finish();
  CHECK(after == expected);
}

} // namespace

TEST_CASE("nccl: parts are equal, begin at cache lines, and leave little that no rank owns") {
  for (const std::size_t bytes : {sizeof(float), sizeof(double)})
    for (std::size_t ranks = 2; ranks <= 9; ++ranks)
      for (const std::size_t count : {0U, 1U, 15U, 16U, 127U, 128U, 1000U, 4096U, 100'003U}) {
        const equal_parts parts(count, bytes, ranks);
        CHECK(parts.each * ranks + parts.rest == count);
        CHECK(parts.each * bytes % 64 == 0);
        CHECK(parts.rest * bytes < ranks * (64 + bytes));
        CHECK(parts.stride >= parts.each + parts.rest);
        CHECK(parts.stride * bytes % 64 == 0);
        CHECK((ranks - 1) * parts.stride * bytes <= equal_parts::scratch_bytes(count * bytes, ranks));
      }
  CHECK(equal_parts::scratch_bytes(8'000'000, 8) < 8'000'000); // a bucket's
}

TEST_CASE_TEMPLATE("nccl: the kernel of the ordered sum has the bits of the sum on a cpu", T, float, double) {
  cuda gpu;
  for (std::size_t ranks = 2; ranks <= 8; ++ranks)
    for (const std::size_t count : {0U, 1U, 17U, 500U})
      for (std::size_t own = 0; own < ranks; ++own) check<T>(gpu, count, ranks, own);
  check<T>(gpu, 5003, 3, 1);
}

} // namespace nccl_ordered_sum_tests
