// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <type_traits>

#include <cairn/comm/loopback.hpp>
#include <cairn/comm/through_host.hpp>

namespace cairn::detail {

// The ranks of a trainer: its communicator, in a form that accepts the queues of its device. If the communicator cannot read the
// device's memory, its calls go through the host. A trainer whose model is not ddp is the only rank of its own job.
template <class Communicator, class Device, bool Distributed>
class trained_ranks {
public:
  using comm_type = typename communicator_on<Communicator, Device>::type;
  static constexpr bool through = !std::is_same_v<comm_type, Communicator>;

  // `calls` is the largest number of calls in flight at once, `bytes` the largest number of bytes in one.
  trained_ranks([[maybe_unused]] Device& device, Communicator* comm, [[maybe_unused]] std::size_t calls,
                [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::chrono::milliseconds deadline)
      : comm_(comm), through_([&] {
          if constexpr (through) return comm_type(device, *comm, calls, bytes, deadline);
          else return nothing{};
        }()) {}

  static std::size_t count_of(const Communicator* comm) { return comm == nullptr ? 1 : static_cast<std::size_t>(comm->size()); }
  std::size_t count() const { return count_of(comm_); }
  // Those on this machine, and the bytes that they share.
  std::size_t here() const { return comm_ == nullptr ? 1 : ranks_here(*comm_); }
  std::size_t shared_bytes() const { return comm_ == nullptr ? 0 : detail::shared_bytes(*comm_); }
  // The bytes of the host's memory that calls go through on each of `ranks` ranks.
  static constexpr std::size_t staging_bytes(std::size_t calls, std::size_t bytes, std::size_t ranks) {
    if constexpr (through) return comm_type::staging_bytes(calls, bytes, ranks);
    else return 0;
  }

  comm_type& comm() {
    if constexpr (through) return through_;
    else if constexpr (Distributed) return *comm_;
    else return alone_;
  }

private:
  struct nothing {};

  Communicator* comm_;
  [[no_unique_address]] std::conditional_t<Distributed, nothing, loopback::rank> alone_{};
  std::conditional_t<through, comm_type, nothing> through_;
};

} // namespace cairn::detail
