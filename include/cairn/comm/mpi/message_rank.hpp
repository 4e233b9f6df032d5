// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/lent_memory.hpp>
#include <cairn/comm/mpi/memory_of_ranks.hpp>
#include <cairn/comm/mpi/message_group.hpp>
#include <cairn/comm/numbered_call.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// A rank whose calls are messages: a communicator. It belongs to the thread that called run(), or to one that it is handed to:
// one thread at a time uses it and its tickets. Sums are taken in the order of the ranks, ((rank 0 + rank 1) + rank 2) + …: their
// bits depend neither on timing nor on how a span was cut into calls.
template <class Transport>
class message_rank {
public:
  static constexpr std::string_view name = Transport::name;

  // A ticket that an exception destroys before wait waits until no other rank needs its span, at most until the deadline.
  using ticket = numbered_call<progress_engine>;

  explicit message_rank(progress_engine& engine) : engine_(engine) {}
  message_rank(const message_rank&) = delete;
  message_rank& operator=(const message_rank&) = delete;

  int rank() const { return engine_.here().rank; }
  int size() const { return engine_.here().size; }
  int local_rank() const { return engine_.here().local_rank; }
  // The number of ranks, this one included, that share its cores.
  int local_size() const { return engine_.here().local_size; }

  // The host shares the queue's memory: work put into a cpu's queue is already done. Throws rank_lost when a rank has failed,
  // deadline_error when one is late, and input_error when options::max_in_flight calls of this rank are not over.
  template <queue_shares_memory Queue>
  ticket all_reduce(Queue&, std::span<float> span) {
    return start_sum(rank_call::kind::sum_float, span);
  }
  template <queue_shares_memory Queue>
  ticket all_reduce(Queue&, std::span<double> span) {
    return start_sum(rank_call::kind::sum_double, span);
  }
  template <queue_shares_memory Queue>
  ticket broadcast(Queue&, std::span<std::byte> bytes, int root) {
    if (root < 0 || root >= size())
      throw input_error(std::string(name) + ": broadcast from rank " + std::to_string(root) + ", but the ranks are 0 to " +
                        std::to_string(size() - 1));
    return start({rank_call::kind::broadcast, root, bytes.data(), bytes.size()});
  }

  // For queues of every device: the bytes are in the host's memory.
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
    check_exchange(name, own.size(), all.size(), size());
    engine_.wait(engine_.start({rank_call::kind::exchange, 0, all.data(), own.size(), own.data(), nullptr, purpose_}));
  }

  // Throws rank_lost when a rank has failed, deadline_error when a call of this rank is open for longer than the deadline.
  void check() { engine_.check(); }

  // Sets the purpose of the calls from here on, which errors name; returns the previous one.
  call_purpose purpose(const call_purpose& next) { return std::exchange(purpose_, next); }

  // Allocates the memory for what other ranks add to this rank's part of the largest call: about twice the bytes if the call is
  // large, and at most about 512 KiB for each other rank.
  void reserve(std::size_t bytes) { engine_.reserve(bytes); }

  // Returns memory that every rank can access, if all ranks share a machine; else none. Spans in it are summed without being
  // copied from one rank to another. All ranks call it, with equally many bytes; it exchanges a few between them.
  lent_memory allocate(std::size_t bytes) {
    if (size() == 1 || engine_.options().in_any_order) return {};
    std::erase_if(lent_, [](const auto& one) { return one.expired(); });
    auto made = memory_of_ranks::join(static_cast<std::size_t>(rank()), static_cast<std::size_t>(size()), bytes, lent_blocks_++,
                                      [this](std::span<const std::byte> own, std::span<std::byte> all) { exchange(own, all); });
    if (made == nullptr) return {};
    lent_.push_back(made);
    std::byte* const data = made->own().data();
    return {std::move(made), data, bytes};
  }

private:
  ticket start(rank_call asked) {
    asked.purpose = purpose_;
    return {engine_, engine_.start(asked)};
  }
  template <class T>
  ticket start_sum(rank_call::kind what, std::span<T> span) {
    rank_call asked{what, 0, span.data(), span.size()};
    for (const auto& one : lent_)
      if (const auto all = one.lock(); all != nullptr && all->has(reinterpret_cast<std::byte*>(span.data()), span.size_bytes()))
        asked.reached = all.get();
    return start(asked);
  }

  progress_engine& engine_;
  call_purpose purpose_{};
  std::vector<std::weak_ptr<memory_of_ranks>> lent_;
  std::uint64_t lent_blocks_ = 0;
};

} // namespace cairn::detail
