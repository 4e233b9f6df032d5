// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/copy/cuda.cuh>

#include "../cuda/agree.hpp"

namespace device_cuda_tests {

using namespace cairn;

// With names outside this file, so that nvcc calls their kernels the same each time: tests/checks/emulator_finds.py replaces them.
struct add_index {
  std::uint32_t* to;
  CAIRN_DEVICE void operator()(std::size_t i) const { to[i] += static_cast<std::uint32_t>(i); }
};
struct sum_and_greatest {
  std::size_t count;
  const float* x;
  float *sums, *greatest;
  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    const float* const own = x + row * count;
    const float sum = team.sum(count, [own](std::size_t i) { return own[i]; });
    const float most = team.greatest(count, [own](std::size_t i) { return own[i]; });
    team.each(2, [&](std::size_t i) { (i == 0 ? sums : greatest)[row] = i == 0 ? sum : most; });
  }
};
// Lists, for every row and column, the multiples of row + 2 below `count`.
struct list_multiples {
  std::uint32_t columns, count;
  std::uint32_t* lists; // (rows, columns, count)
  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t row) const {
    const auto is_multiple = [row](std::uint32_t i) { return i % (row + 2) == 0; };
    team.each_together(columns, [&](std::size_t column) {
      std::uint32_t* next = lists + (row * columns + column) * count;
      team.template each_that<4>(count, is_multiple, [&](const auto& found, unsigned n) {
        for (unsigned k = 0; k < 4; ++k)
          if (k < n && column < columns) *next++ = found[k];
      });
    });
  }
};

namespace {

// Adds in the order that the comment of `team` describes.
float sum_of_team(const float* x, std::size_t count, std::size_t threads) {
  std::vector<float> own(threads, 0.0F);
  for (std::size_t i = 0; i < count; ++i) own[i % threads] += x[i];
  float sum = 0;
  for (std::size_t warp = 0; warp < threads; warp += 32) {
    for (std::size_t half = 16; half > 0; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane) own[warp + lane] += own[warp + lane + half];
    sum = warp == 0 ? own[0] : sum + own[warp];
  }
  return sum;
}

} // namespace

TEST_CASE("cuda: a device counts from 0, and another number is refused") {
  CHECK(cuda::count() > 0);
  CHECK(testing::gpu().ordinal() == 0);
  CHECK_THROWS_WITH_AS(cuda({.ordinal = cuda::count()}), doctest::Contains("cuda: expected an ordinal of 0 to "), input_error);
  CHECK_THROWS_AS(cuda({.ordinal = -1}), input_error);
}

TEST_CASE("cuda: memory is zero at first, moves, and may be of no bytes") {
  cuda& gpu = testing::gpu();
  cuda::memory block = gpu.allocate(1000);
  CHECK(block.size() == 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(block.data()) % 256 == 0);
  std::vector<std::byte> back(1000, std::byte{1});
  download(gpu.compute(), 1000, back.data(), static_cast<const std::byte*>(block.data()));
  gpu.compute().finish();
  CHECK(back == std::vector<std::byte>(1000));
  const std::byte* const at = block.data();
  cuda::memory other = std::move(block);
  CHECK((other.data() == at && block.data() == nullptr));
  CHECK(gpu.allocate(0).data() == nullptr);
  const cuda::host_memory pinned = gpu.staging(100);
  CHECK((pinned.size() == 100 && pinned.data()[99] == std::byte{0}));
}

TEST_CASE("cuda: one queue waits for another, and the host asks") {
  cuda& gpu = testing::gpu();
  CHECK(gpu.compute().reached(cuda::event{}));
  gpu.compute().wait(cuda::event{});
  const testing::on_gpu<float> there(std::vector<float>(5000, 1.0F), 0);
  const cuda::host_memory from = gpu.staging(5000 * sizeof(float)), to = gpu.staging(5000 * sizeof(float));
  auto* const numbers = reinterpret_cast<float*>(from.data());
  for (std::size_t i = 0; i < 5000; ++i) numbers[i] = static_cast<float>(i);
  cuda::event last;
  for (int round = 0; round < 100; ++round) { // more than the places in the ring
    upload(gpu.transfers(), 5000, there.data(), static_cast<const float*>(numbers));
    gpu.compute().wait(gpu.transfers().record());
    download(gpu.compute(), 5000, reinterpret_cast<float*>(to.data()), static_cast<const float*>(there.data()));
    last = gpu.compute().record();
    gpu.transfers().wait(last);
  }
  while (!gpu.compute().reached(last)) {
  }
  CHECK(cudaPeekAtLastError() == cudaSuccess); // polling leaves no error for users' kernel launches to find
  CHECK(reinterpret_cast<const float*>(to.data())[4999] == 4999);
}

TEST_CASE("cuda: kernels reach every index once, and teams add in an order that is known") {
  cuda::queue& queue = testing::gpu().compute();
  const testing::on_gpu<std::uint32_t> counted(std::vector<std::uint32_t>(70001, 5), 0);
  detail::launch_each(queue, "add_index", 70001, add_index{counted.data()});
  detail::launch_each(queue, "add_index", 0, add_index{nullptr});
  const auto back = counted.back();
  bool right = true;
  for (std::size_t i = 0; i < back.size(); ++i) right = right && back[i] == i + 5;
  CHECK(right);

  for (const std::size_t count : {1U, 31U, 256U, 257U, 5000U}) {
    const auto x = testing::converted<float>(testing::normal(3 * count, 1));
    const testing::on_gpu<float> there(x, 0), sums(std::vector<float>(3), 0), greatest(std::vector<float>(3), 0);
    detail::launch_teams_for(count, queue, "sums", 3, sum_and_greatest{count, there.data(), sums.data(), greatest.data()});
    for (std::size_t row = 0; row < 3; ++row) {
      const float* const own = x.data() + row * count;
      CHECK(sums.back()[row] == sum_of_team(own, count, count <= 256 ? 32 : 256));
      CHECK(greatest.back()[row] == *std::max_element(own, own + count));
    }
  }
}

TEST_CASE("cuda: all threads of a team find the same, in order, whether they have something to do with it or not") {
  constexpr std::uint32_t rows = 5, columns = 300; // neither is a multiple of 32; 4 teams of 32 are a block
  for (const std::uint32_t count : {0U, 1U, 32U, 77U})
    for (const std::size_t length : {32U, 512U}) {
      const testing::on_gpu<std::uint32_t> lists(std::vector<std::uint32_t>(rows * columns * count, 7), 0);
      detail::launch_teams_for(length, testing::gpu().compute(), "lists", rows, list_multiples{columns, count, lists.data()});
      const auto back = lists.back();
      bool right = true;
      for (std::size_t i = 0; i < back.size(); ++i) {
        const std::size_t own = i % count, divisor = i / count / columns + 2, listed = (count + divisor - 1) / divisor;
        right = right && back[i] == (own < listed ? own * divisor : 7);
      }
      CHECK(right);
    }
}

TEST_CASE("cuda: a division that is a multiplication is a division") {
  for (std::size_t k = 0; k < 300; ++k) {
    const std::size_t word = ops::random_bits({.seed = 3}, k) % (std::size_t{1} << 31);
    for (const std::size_t by : {k + 1, word + 1, (std::size_t{1} << 31) - 1 - k, (std::size_t{1} << 32) + k}) {
      const detail::divisor d(by);
      for (const std::size_t n : {std::size_t{0}, by - 1, by, by + 1, word, (std::size_t{1} << 31) - 1, std::size_t{1} << 31,
                                  word << 20, 7 * by - 1, 7 * by}) {
        const std::size_t quotient = d.of(n);
        CHECK((quotient == n / by && d.rest(n, quotient) == n % by));
      }
    }
  }
}

TEST_CASE("cuda: every error of the runtime and of cuBLASLt becomes one of Cairn's, with the op, the code and what to do") {
  detail::check_cuda(cudaSuccess, "an op");
  detail::check_cublas(CUBLAS_STATUS_SUCCESS, "an op");
  for (int code = 1; code < 1000; ++code) {
    CHECK_THROWS_WITH_AS(
        detail::check_cuda(static_cast<cudaError_t>(code), "an op"),
        doctest::Contains(("cuda, an op: expected it to succeed, found error " + std::to_string(code) + ", ").c_str()), error);
    CHECK_THROWS_WITH_AS(detail::check_cublas(static_cast<cublasStatus_t>(code), "an op"), doctest::Contains("cuda, an op: "),
                         error);
  }
  CHECK_THROWS_WITH_AS(detail::check_cuda(cudaErrorMemoryAllocation, "allocate"),
                       doctest::Contains("a checkpoint<> that stores less"), error);
}

TEST_CASE("cuda: the queue of copies computes nothing that needs room, and says so") {
  const testing::on_gpu<float> x({1}, 0);
  CHECK_THROWS_WITH_AS(testing::gpu().transfers().partial("squared_norm"),
                       doctest::Contains("expected the queue compute(), found transfers() or downloads(), which copy only"),
                       error);
  CHECK_THROWS_WITH_AS(testing::gpu().compute().kept("batch_norm_backward", std::size_t{1} << 40),
                       doctest::Contains("cut the layer into several"), error);
  const int argument = 0;
  CHECK_THROWS_WITH_AS(testing::gpu().compute().start("an op", nullptr, std::size_t{1} << 40, 32, &argument),
                       doctest::Contains("1 to 2147483647 blocks"), error);
}

} // namespace device_cuda_tests
