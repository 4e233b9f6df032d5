// SPDX-License-Identifier: MIT
#include <cairn/comm/threads/threads.hpp>

#include "ranks.hpp"

namespace {

cairn::threads ranks_of(const request& asked) { return cairn::threads(static_cast<int>(asked.world)); }

} // namespace

// Ranks are threads of this process, or processes that mpirun started.
bool bench_ddp(const request& asked) {
  if (asked.communicator == "mpi") return bench_ddp_mpi(asked);
  return asked.communicator == "threads" && step_on_ranks(asked, ranks_of(asked));
}
bool bench_ping(const request& asked) {
  if (asked.communicator == "mpi") return bench_ping_mpi(asked);
  return asked.communicator == "threads" && ping_on_ranks(asked, ranks_of(asked));
}
