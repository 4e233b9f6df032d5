// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_NCCL
#error "cairn/comm/nccl/nccl.cuh needs NCCL: link the CMake target cairn::nccl, or compile with -DCAIRN_WITH_NCCL=1 -lnccl"
#else

#include <concepts>
#include <cstdlib>
#include <string>
#include <utility>

#include <cairn/comm/launch/launch.hpp>
#include <cairn/comm/nccl/nccl_options.cuh>
#include <cairn/comm/nccl/nccl_rank.cuh>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/cuda.cuh>

namespace cairn {

// One rank for each GPU, whose gradients are summed by NCCL from GPU to GPU; for trainers on cuda:
//
//   nccl{}.run([&](nccl::rank& rank) { trainer<ddp<Model, nccl::rank>, …, cuda> train{rank, …}; … });
//   nccl{}.run(mpi{}, [&](nccl::rank& rank) { … }); // the same over ranks that mpirun or srun has started
//
// The first starts a thread for each GPU of this machine. In a process that a launcher has started with others, it makes one
// rank: the processes find each other at MASTER_ADDR and the port after MASTER_PORT, which torchrun sets, or at NCCL_COMM_ID. The
// second takes ranks of any kind: mpi, threads, chosen_ranks or your own. They carry the id of NCCL and the handshake, and name a
// rank that is late.
//
// Up to 8 ranks of one machine add in the order of the ranks, so that N ranks have the bits of N micro-batches; more ranks, and
// several machines, add as NCCL does, which promises equal bits on all ranks and no more. options::sums chooses. The start line
// of a run prints which it is, by nccl::rank::called().
class nccl {
public:
  using rank = detail::nccl_rank;
  using order = detail::nccl_order;
  using options = detail::nccl_options;

  nccl() = default;
  explicit nccl(options chosen) : options_(std::move(chosen)) {}

  // Throws device_error if this machine has no GPU that the program can use.
  template <std::invocable<rank&> Body>
  void run(Body&& body) const {
    const launch here = launch::from([](const char* variable) -> const char* { return std::getenv(variable); });
    if (here.size > 1) return run_as_process(here, body);
    if (cuda::count() == 0) static_cast<void>(cuda{}); // throws, and says why there is none
    threads::options of_threads;
    of_threads.deadline = options_.deadline;
    of_threads.long_deadline = options_.long_deadline;
    run(threads(options_.ranks.value_or(cuda::count()), of_threads), body);
  }

  // Makes a rank beside each rank of `ranks`. Exceptions are those of ranks.run().
  template <class Ranks, std::invocable<rank&> Body>
  void run(Ranks&& ranks, Body&& body) const {
    ranks.run([&](auto& host) {
      rank self(host, options_);
      body(self);
    });
  }

private:
  template <class Body>
  void run_as_process(const launch& here, Body& body) const {
    const address_of_rank_0 known(here);
    rank self(here, options_);
    body(self);
  }

  // While one lives, NCCL_COMM_ID is set. torchrun's agent may listen at MASTER_PORT itself.
  class address_of_rank_0 {
  public:
    explicit address_of_rank_0(const launch& here) {
      if (std::getenv(variable) != nullptr) return;
      if (here.address.empty() || !here.port)
        throw input_error(
            "nccl: " + here.speaker() + "expected a way in which the processes of " + std::string(launcher_name(here.by)) +
            " find each other, found none; give the communicator that joins " +
            "them, nccl{}.run(mpi{}, body), or set MASTER_ADDR and MASTER_PORT, or NCCL_COMM_ID=host:port, " + "for all of them");
      const bool has_colons = here.address.find(':') != std::string::npos; // an address of IPv6
      const std::string host = has_colons ? "[" + here.address + "]" : here.address;
      ::setenv(variable, (host + ":" + std::to_string(*here.port + 1)).c_str(), 1);
      is_ours_ = true;
    }
    address_of_rank_0(const address_of_rank_0&) = delete;
    address_of_rank_0& operator=(const address_of_rank_0&) = delete;
    ~address_of_rank_0() {
      if (is_ours_) ::unsetenv(variable);
    }

  private:
    static constexpr const char* variable = "NCCL_COMM_ID";
    bool is_ours_ = false;
  };

  options options_{};
};

} // namespace cairn

#endif
