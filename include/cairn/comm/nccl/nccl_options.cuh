// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <cairn/core/config.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/cuda.cuh>

namespace cairn::detail {

// The order in which the ranks' elements are added.
enum class nccl_order : unsigned char {
  // ((rank 0 + rank 1) + rank 2) + …, as with threads: N ranks have the bits of N micro-batches. Each part of a span goes to the
  // rank that owns it, which adds the parts and sends the sum to all: the bytes of a ring, in twice as many passes over memory.
  fixed,
  // As ncclAllReduce adds them. All ranks get the same bits, but not those of another number of ranks or of another machine, and
  // with NVLS (NVLink SHARP, on NVSwitch) not those of another run; NCCL_NVLS_ENABLE=0 in the environment switches that off.
  nccl,
};

struct nccl_options {
  // How long a wait for other ranks lasts at most, and a call of a step. Time in which this process is stopped does not count.
  std::chrono::milliseconds deadline{30'000};
  // The deadline where one rank rightly works alone while others wait for it, and for the beginning of the job.
  std::chrono::milliseconds long_deadline{600'000};
  // fixed, if there are at most 8 ranks and they all run on one machine; else nccl: between machines the fixed order sends up to
  // as many times the bytes as a machine has ranks.
  std::optional<nccl_order> sums{};
  // Which GPU of the machine; the rank's number among those of its machine, or 0 where a launcher shows each process one GPU.
  std::optional<int> ordinal{};
  // The number of threads that nccl{}.run(body) starts without a launcher [one for each GPU].
  std::optional<int> ranks{};
  // The most calls in flight; each has an event of the GPU.
  std::size_t max_in_flight = 1024;
};

// The communicator's name in lines for people, with what its sums promise.
constexpr std::string_view name_of_sums(nccl_order sums) {
  return sums == nccl_order::fixed ? "nccl, which adds in the order of the ranks" : "nccl, which adds in an order of its own";
}

// The same options, with deadlines that no clock overflows.
inline nccl_options checked(nccl_options given) {
  for (std::chrono::milliseconds* const one : {&given.deadline, &given.long_deadline}) {
    if (one->count() < 1) throw input_error("nccl: the deadline and the long deadline must be 1 ms or more");
    *one = bounded_wait(*one);
  }
  given.long_deadline = std::max(given.deadline, given.long_deadline);
  if (given.max_in_flight < 1) throw input_error("nccl: max_in_flight is 0, but must be 1 or more");
  return given;
}

// What the ranks of a job must have in common: else they would wait for each other's calls for ever.
struct nccl_kind {
  int sums, version; // that of the library
  bool operator==(const nccl_kind&) const = default;
};
// Throws if one rank's differs from that of rank 0.
inline void check_alike(std::span<const nccl_kind> all) {
  for (std::size_t other = 1; other < all.size(); ++other) {
    if (all[other] == all[0]) continue;
    const auto text = [&](std::size_t r) {
      return "order::" + std::string(all[r].sums == static_cast<int>(nccl_order::fixed) ? "fixed" : "nccl") + " by NCCL " +
             std::to_string(all[r].version) + " on rank " + std::to_string(r);
    };
    throw input_error("nccl: expected the same order of sums and the same NCCL on every rank, found " + text(0) + ", " +
                      text(other) + "; give all ranks the same options::sums, and the same library");
  }
}

// The ordinal of the GPU of a rank that has this number among those of its machine.
inline int gpu_of_rank(int rank, int size, int local_rank, const std::optional<int>& wanted) {
  const int found = cuda::count();
  if (found == 0) static_cast<void>(cuda{}); // throws, and says why there is none
  const int ordinal = wanted.value_or(found == 1 ? 0 : local_rank);
  if (ordinal >= 0 && ordinal < found) return ordinal;
  throw input_error("nccl: rank " + std::to_string(rank) + " of " + std::to_string(size) + ": expected a GPU with the ordinal " +
                    std::to_string(ordinal) + ", found " + std::to_string(found) +
                    " GPUs on its machine; start one rank for each " +
                    "GPU, or train over threads or mpi, whose ranks may share GPUs");
}

} // namespace cairn::detail
