// SPDX-License-Identifier: MIT
// A file of its own, as MPI's header is slow to read and may be missing.
#include "bench.hpp"

#if CAIRN_WITH_MPI
#include <cairn/comm/mpi/mpi.hpp>

#include "ranks.hpp"

bool bench_ddp_mpi(const request& asked) { return step_on_ranks(asked, cairn::mpi{}); }
bool bench_ping_mpi(const request& asked) { return ping_on_ranks(asked, cairn::mpi{}); }
#else
bool bench_ddp_mpi(const request&) { return false; }
bool bench_ping_mpi(const request&) { return false; }
#endif
