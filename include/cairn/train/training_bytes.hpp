// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// What the memory of a trainer depends on besides its type.
struct ranks_and_states {
  static constexpr std::size_t by_default = ~std::size_t{0};

  std::size_t ranks = 1;              // on one machine
  std::size_t all_ranks = by_default; // of the job, on all its machines [those of one]
  std::size_t states = by_default;    // of the optimizer [those of a default one: SGD without momentum has none]
  std::size_t threads = 1;            // of a rank's device
};

// All memory that training takes on a machine: the bytes that each rank allocates, and what the ranks share. Each number is one
// of bytes. All of it is allocated before the first step.
struct training_memory {
  // Of one rank, on its device:
  std::size_t weights = 0;     // parameters and buffers; with a 16-bit T also the copy that layers read
  std::size_t gradients = 0;   // all of them, which buckets are spans of; of one stage of a micro-batch, of inputs if asked for
  std::size_t states = 0;      // of the optimizer
  std::size_t activations = 0; // the arena: peak_activation_bytes, and with a fused_update the gradients
  std::size_t batches = 0;     // slots that batches go through, if the host cannot write there; 16-bit inputs and their outputs
  std::size_t results = 0;     // losses and norms, numbers of the loss, statistics of all ranks
  std::size_t scratch = 0;     // of the device, for single ops; a system may give a cpu only the pages that ops touch
  // Of one rank, in the host's memory besides:
  std::size_t staging = 0; // the other end of copies to and from the device
  // Of the machine:
  std::size_t shared = 0; // the communicator's calls, once for all ranks
  std::size_t ranks = 1;  // that each have all of the above but what is shared
  bool on_host = true;    // whether the device's memory is the host's

  constexpr std::size_t device() const { return weights + gradients + states + activations + batches + results + scratch; }
  constexpr std::size_t rank() const { return device() + staging; }
  // The bytes of all ranks together, on their devices and in the host's memory; and those of them in the host's.
  constexpr std::size_t machine() const { return ranks * rank() + shared; }
  constexpr std::size_t host() const { return machine() - (on_host ? 0 : ranks * device()); }

  constexpr bool operator==(const training_memory&) const = default;
};

} // namespace cairn::types

namespace cairn {

// The memory that training takes on a machine, a constant like peak_activation_bytes<...>, which is one part of it, whether the
// trainer's device is a cpu or has memory of its own, and for one rank or several:
//
//   using Train = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, AdamW, batch<64>>;
//   static_assert(training_bytes<Train>({.ranks = 4}).machine() < 2_GiB);
//
// trainer::memory() is the same of a trainer that exists, with its ranks, states and threads. The ranks of `threads` share no
// part of a trainer, as each has a replica of its own: they share the calls of their communicator, whose most are 4096 here.
//
// Not counted: what MPI or NCCL allocate, a cpu's oneDNN, programs and data sets, and the memory for the gradients of a
// step_by() or a larger arena of a schedule that was solved at run time, which only trainer::memory() knows, and the arena with
// whole outputs that the first evaluation by a trainer of a head_in_strips allocates.
template <class Trainer>
constexpr types::training_memory training_bytes(const types::ranks_and_states& of = {}) {
  return Trainer::training_type::types::memory(of);
}

} // namespace cairn
