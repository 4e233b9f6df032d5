// SPDX-License-Identifier: MIT
// Executes the blocks of a launch, one after another, in a random order. The threads of a block run one after another too, in a
// random order, each up to the next barrier, shuffle or vote: what depends on their order shows itself, and every access is
// checked for races besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "memory.hpp"
#include "thread.hpp"
#include "traffic.hpp"

namespace emulator {

struct grid {
  const kernel* code = nullptr;
  const std::byte* parameters = nullptr;
  std::uint32_t blocks = 0, threads = 0; // threads of a block
  int gpu = 0;
};

class block {
public:
  explicit block(std::uint64_t seed) : random_(seed) {}

  // Executes a launch, which is the latest op of all streams. Throws `fault` where a GPU would end the kernel.
  void run(const grid& g, traffic* counted);
  std::uint64_t instructions() const { return instructions_; }

  // For threads: the place of an access, after all its checks, and special registers.
  std::byte* reach(thread& x, const instruction& i, std::uint64_t address, std::size_t bytes, bool writes);
  const grid& of() const { return grid_; }
  std::uint32_t number() const { return number_; }

private:
  void run_block();
  void run_apart();
  void run_together();
  void begin(thread& x, std::uint32_t id);
  void run(thread& x);
  bool pass_barrier();
  bool pass_warp(std::uint32_t first);
  void multiply_in_warp(std::uint32_t first, std::uint32_t end, const instruction& i);
  void exchange_in_warp(std::uint32_t first, std::uint32_t end, std::uint32_t mask, std::size_t at);
  bool is_over() const;
  [[noreturn]] void end_kernel(const std::string& place, const std::string& what, int code) const;

  touch now(const thread& x, std::uint32_t op, std::uint8_t bytes) const;
  bool is_ordered(const touch& t, const thread& x) const;
  void check(word& w, std::uint32_t op, std::uint8_t bytes, bool writes, bool is_shared, const thread& x, const instruction& i);

  std::mt19937_64 random_;
  std::uint64_t instructions_ = 0;
  grid grid_;
  traffic* counted_ = nullptr;
  std::uint32_t number_ = 0;   // of the block in the grid
  std::uint32_t turn_ = 0;     // of all blocks that ever ran
  std::uint32_t barriers_ = 0; // that the block has passed
  std::vector<thread> threads_;
  std::vector<std::uint32_t> order_;
  std::vector<std::byte> shared_;
  std::vector<word> of_shared_;
};

} // namespace emulator
