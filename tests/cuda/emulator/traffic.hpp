// SPDX-License-Identifier: MIT
// What a kernel costs a GPU, by counting: instructions, and the pieces of memory that the accesses of a warp take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx.hpp"

namespace emulator {

struct accesses {             // of warps to global memory
  std::uint64_t requests = 0; // instructions of a warp
  std::uint64_t bytes = 0;    // that threads ask for
  std::uint64_t sectors = 0;  // of 32 bytes, that a request takes
  std::uint64_t lines = 0;    // of 128 bytes
};
struct cost {
  std::uint64_t launches = 0, threads = 0, instructions = 0;
  std::uint64_t multiply_adds = 0; // of a product by cuBLASLt, whose instructions are not known
  accesses loads, stores;
  std::uint64_t shared_requests = 0;
  std::uint64_t shared_rounds = 0; // that these take; more than the fewest possible where lanes meet in a bank
  std::uint64_t fewest_rounds = 0;
};

class traffic {
public:
  void begin(const kernel* code, std::uint32_t threads);
  void count() { ++of_kernel_->instructions; }
  // A thread executes an access to global or shared memory.
  void note(std::uint32_t thread, std::size_t line, std::uint64_t address) { threads_[thread].push_back({line, address}); }
  void end_block();
  void add_product(std::uint64_t multiply_adds, std::uint64_t read, std::uint64_t written);

  // The costs of each kernel, and of the products of each size, since the last call.
  std::map<std::string, cost> take();

private:
  struct access {
    std::size_t line;
    std::uint64_t address;
  };
  void request(const instruction& i, const std::vector<std::uint64_t>& addresses);

  const kernel* code_ = nullptr;
  cost* of_kernel_ = nullptr;
  std::vector<std::vector<access>> threads_; // of the current block
  std::vector<std::size_t> times_;           // that a thread has executed each line
  std::vector<std::uint64_t> pieces_;
  std::map<std::string, cost> costs_;
};

} // namespace emulator
