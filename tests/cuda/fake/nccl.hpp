// SPDX-License-Identifier: MIT
// An NCCL for ranks that are threads of one process, each with a GPU of the fake runtime, linked in place of the real one:
//   * A call is done when the streams of all ranks have got there. Calls with different arguments are never done.
//   * A call returns ncclInProgress, and is put on its stream after the communicator's state was asked for a number of times.
//   * The elements of an all-reduce are added in an order that a seeded generator picks, anew for each 256 bytes.
//   * Communicators that have ended, calls while another one is in progress, and streams of other GPUs are refused and counted.
// A test can break a communicator, and make a call fail (fake::fail). The runtime's functions for streams with a priority are
// here too, as nothing else needs them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nccl.h>

namespace fake {

// The number of calls since reset_nccl().
struct counts_of_nccl {
  std::size_t joined = 0, aborted = 0, finalized = 0, destroyed = 0;
  std::size_t reduced = 0, gathered = 0, broadcast = 0, groups = 0;
  std::size_t bytes = 0;   // that ranks sent to other ranks
  std::size_t refused = 0; // misuses
};
const counts_of_nccl& nccl();

// Forgets all communicators. No rank may be alive.
void reset_nccl(std::uint64_t seed = 1);
// How often a state is asked for until a call is on its stream [2]; 0: the call returns ncclSuccess.
void polls_of_nccl(std::size_t polls);
// From now on the communicator of this rank has this state.
void break_nccl(int rank, ncclResult_t code);

} // namespace fake
