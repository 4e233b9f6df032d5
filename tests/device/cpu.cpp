// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/device/cpu.hpp>

#include "../data/allocations.hpp" // refuses what a sanitizer would end the program at

namespace cpu_tests {

using namespace cairn;

namespace {

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % detail::alignment == 0; }

} // namespace

TEST_CASE("cpu: memory is aligned, zero, and moves") {
  cpu device;
  for (const std::size_t bytes : {1U, 63U, 64U, 1000U, 100000U}) {
    cpu::memory block = device.allocate(bytes);
    REQUIRE(block.size() == bytes);
    CHECK(aligned(block.data()));
    CHECK(std::all_of(block.data(), block.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    block.data()[0] = std::byte{7};
    std::byte* const place = block.data();
    cpu::memory other = std::move(block);
    CHECK(other.data() == place);
    CHECK(other.size() == bytes);
    cpu::memory third = device.allocate(8);
    third = std::move(other);
    CHECK(third.data() == place);
    CHECK(third.data()[0] == std::byte{7});
  }
  CHECK(device.allocate(0).size() == 0);
}

TEST_CASE("cpu: parallel_for does each part once, with a scratch of its own for each thread at work") {
  for (const std::size_t threads : {1U, 2U, 3U}) {
    cpu device({.threads = threads});
    auto& queue = device.compute();
    CHECK(queue.threads() == threads);
    std::vector<std::atomic<int>> done(40);
    std::atomic<bool> shared{false};
    std::atomic<bool> wrong{false};
    queue.parallel_for(done.size(), [&](std::size_t part, std::span<std::byte> scratch) {
      if (scratch.size() != cpu::queue::scratch_bytes || !aligned(scratch.data())) wrong = true;
      const auto mark = static_cast<std::byte>(part);
      constexpr std::size_t stride = 61; // a byte of each cache line will do
      for (std::size_t i = 0; i < scratch.size(); i += stride) scratch[i] = mark;
      for (std::size_t i = 0; i < scratch.size(); i += stride)
        if (scratch[i] != mark) shared = true;
      ++done[part];
    });
    for (const auto& count : done) CHECK(count == 1);
    CHECK_FALSE(shared);
    CHECK_FALSE(wrong);
    queue.parallel_for(0, [&](std::size_t, std::span<std::byte>) { wrong = true; });
    CHECK_FALSE(wrong);
  }
}

TEST_CASE("cpu: an exception of a part reaches the caller") {
  for (const std::size_t threads : {1U, 3U}) {
    cpu device({.threads = threads});
    const auto fails = [&] {
      device.compute().parallel_for(9, [](std::size_t part, std::span<std::byte>) {
        if (part == 4) throw error("part 4");
      });
    };
    CHECK_THROWS_WITH_AS(fails(), "part 4", error);
  }
}

TEST_CASE("cpu: a queue stays where it is when its device moves") {
  cpu device({.threads = 2});
  cpu::queue* const queue = &device.compute();
  cpu other = std::move(device);
  CHECK(&other.compute() == queue);
  int parts = 0;
  other.compute().parallel_for(1, [&](std::size_t, std::span<std::byte>) { ++parts; });
  CHECK(parts == 1);
}

TEST_CASE("cpu: no threads asked for is one thread") { CHECK(cpu({.threads = 0}).compute().threads() == 1); }

TEST_CASE("cpu: memory that is not to be had is an error that says how much was wanted") {
  cpu device;
  CHECK_THROWS_WITH_AS(static_cast<void>(device.allocate(std::size_t{1} << 55)),
                       doctest::Contains("cpu: expected memory for 36028797018963968 bytes (34359738368 MiB), found less"),
                       error);
}

} // namespace cpu_tests
