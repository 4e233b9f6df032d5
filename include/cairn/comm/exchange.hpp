// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cairn/comm/checked_communicator.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>

namespace cairn::detail {

// Calls of a communicator's optional members, with a fallback if it lacks them. A job of one rank exchanges and broadcasts
// nothing. Bytes are in the host's memory; the queue is that of the device on which the job computes.

inline void check_exchange(std::string_view name, std::size_t own, std::size_t all, int ranks) {
  if (const std::size_t expected = own * static_cast<std::size_t>(ranks); all != expected)
    throw input_error(std::string(name) + ": exchange: expected room for the " + std::to_string(own) + " bytes of each of " +
                      std::to_string(ranks) + " ranks, " + std::to_string(expected) + " bytes, found " + std::to_string(all));
}

// Gives every rank the bytes of every rank: those of rank r are written to `all` from index r * own.size() on. Without exchange()
// each rank broadcasts its own, one after another: as many calls as there are ranks.
template <class C, class Queue>
void exchange(C& comm, [[maybe_unused]] Queue& queue, std::span<const std::byte> own, std::span<std::byte> all) {
  if (comm.size() == 1) {
    std::copy(own.begin(), own.end(), all.begin());
  } else if constexpr (exchanges_bytes<C>) {
    comm.exchange(own, all);
  } else if constexpr (queue_shares_memory<Queue>) {
    for (int rank = 0; rank < comm.size(); ++rank) {
      const std::span<std::byte> part = all.subspan(static_cast<std::size_t>(rank) * own.size(), own.size());
      if (rank == comm.rank()) std::copy(own.begin(), own.end(), part.begin());
      auto sent = comm.broadcast(queue, part, rank);
      sent.wait(queue);
    }
  } else {
    refuse<checked_communicator<C, Queue>>();
  }
}

// Every rank's value, in the order of the ranks.
template <class C, class Queue, class T>
std::vector<T> of_all_ranks(C& comm, Queue& queue, const T& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  exchange(comm, queue, std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{all}));
  return all;
}

// Replaces these bytes of the host's memory by those of rank `root`. If the device does not share that memory, they are exchanged
// in pieces: every rank receives size() times as many bytes as it needs, and allocates size() pieces. It is for texts and numbers
// between steps. Rejected: a member that broadcasts on the host, which is one more to write, and no step needs it.
template <class C, class Queue>
void broadcast_on_host(C& comm, Queue& queue, std::span<std::byte> bytes, int root = 0) {
  if (comm.size() == 1 || bytes.empty()) return;
  if constexpr (queue_shares_memory<Queue>) {
    auto sent = comm.broadcast(queue, bytes, root);
    sent.wait(queue);
  } else {
    constexpr std::size_t piece = 4096;
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::byte> all(ranks * std::min(piece, bytes.size()));
    while (!bytes.empty()) {
      const std::size_t count = std::min(piece, bytes.size());
      exchange(comm, queue, bytes.first(count), std::span(all).first(ranks * count));
      std::copy_n(all.data() + static_cast<std::size_t>(root) * count, count, bytes.data());
      bytes = bytes.subspan(count);
    }
  }
}

// Throws if a call of a communicator that has check() has failed or is late.
template <class C>
void tell_check([[maybe_unused]] C& comm) {
  if constexpr (checks_calls<C>) comm.check();
}

// Passes the bytes of the largest all_reduce of a step to a communicator that has reserve().
template <class C>
void tell_reserve([[maybe_unused]] C& comm, [[maybe_unused]] std::size_t bytes) {
  if constexpr (reserves_bytes<C>) comm.reserve(bytes);
}

} // namespace cairn::detail
