// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <cairn/comm/rank_call.hpp>
#include <cairn/comm/sum_of_ranks.hpp>
#include <cairn/core/memory.hpp>

namespace cairn::detail {

// The calls of all ranks, as a lock-free queue of pieces of work that any thread may take.
//
// Calls number k of all ranks belong together. They are ready when the last rank to post its own has published them. From then on
// they are cut into pieces of `piece_bytes`, which are taken in order: by call, then by place in the span. A call is over when
// its last piece is finished.
//
// Everything lies in rings of fixed size. Slot k % capacity is free for call k when call k - capacity is over. Two calls may be
// worked on at once, the end of one and the beginning of the next; no call has to wait for the end of another.
class call_ring {
public:
  // Large enough that the cost of taking a piece is negligible, small enough that a piece takes about 10 microseconds.
  static constexpr std::size_t piece_bytes = 64_KiB;

  struct piece {
    std::uint64_t call = 0;
    std::size_t first = 0; // elements first … last - 1
    std::size_t last = 0;
  };

  call_ring(int size, std::size_t capacity)
      : size_(size), capacity_(capacity), lanes_(std::make_unique<lane[]>(static_cast<std::size_t>(size))),
        slots_(std::make_unique<slot[]>(capacity)) {
    for (int rank = 0; rank < size_; ++rank) lane_of(rank).posted = std::make_unique<rank_call[]>(capacity_);
  }

  // The bytes of the arrays that it allocates.
  static constexpr std::size_t bytes(std::size_t ranks, std::size_t capacity) {
    return ranks * (sizeof(lane) + capacity * sizeof(rank_call)) + capacity * sizeof(slot);
  }

  int size() const { return size_; }
  std::size_t capacity() const { return capacity_; }

  // The number of calls that the rank has posted, which is the number of its next call.
  std::uint64_t started(int rank) const { return lane_of(rank).started.load(); }
  // Whether the call is over. It stays true when the slot serves a later call.
  bool over(std::uint64_t call) const { return slot_of(call).over.load() > call; }
  bool has_room(std::uint64_t call) const { return call < capacity_ || over(call - capacity_); }

  // The arguments of the rank's call. Read them only between its post() and the end of the call.
  const rank_call& asked(int rank, std::uint64_t call) const { return lane_of(rank).posted[call % capacity_]; }

  // Called by the rank itself, if there is room. Returns true for the last rank to post this call: that rank has to publish it,
  // and sees all that the others wrote before their post().
  bool post(int rank, const rank_call& asked) {
    lane& mine = lane_of(rank);
    const std::uint64_t call = mine.started.load();
    mine.posted[call % capacity_] = asked;
    mine.started.store(call + 1);
    return slot_of(call).arrived.fetch_add(1) == size_ - 1;
  }

  // Returns the number of pieces. Calls are published in order: the rank that posts call k last publishes it before it posts call
  // k + 1, so that no rank can be the last to post call k + 1 earlier.
  std::uint64_t publish(std::uint64_t call) {
    slot& s = slot_of(call);
    const rank_call& any = asked(0, call);
    const std::size_t bytes = any.count * any.element_bytes();
    const std::uint64_t pieces = std::max<std::uint64_t>(1, (bytes + piece_bytes - 1) / piece_bytes);
    s.arrived.store(0);
    s.pieces.store(pieces);
    s.unfinished.store(pieces);
    ready_.store(call + 1);
    return pieces;
  }

  // Whether a piece of a call before `end` can be taken.
  bool has_piece(std::uint64_t end = ~std::uint64_t{0}) const {
    return next_.load() >> piece_bits < std::min(end, ready_.load());
  }

  // Takes the next piece; the same thread then carries it out and finishes it. Until it has, the call is not over, so nothing
  // that the call needs can change.
  bool take(std::uint64_t end, piece& taken) {
    std::uint64_t next = next_.load();
    for (;;) {
      const std::uint64_t call = next >> piece_bits;
      if (call >= std::min(end, ready_.load())) return false;
      const std::uint64_t index = next & ((std::uint64_t{1} << piece_bits) - 1);
      const bool is_last = index + 1 >= slot_of(call).pieces.load();
      // next_ only grows, so if the slot serves a later call by now, the exchange fails.
      if (!next_.compare_exchange_weak(next, is_last ? (call + 1) << piece_bits : next + 1)) continue;
      const rank_call& any = asked(0, call);
      const std::size_t step = piece_bytes / any.element_bytes();
      taken = {call, std::min(any.count, index * step), std::min(any.count, (index + 1) * step)};
      return true;
    }
  }

  void carry_out(const piece& taken) const {
    const auto what = asked(0, taken.call).what;
    if (taken.first == taken.last) return; // an empty span may have no address
    if (what == rank_call::kind::sum_float) sum_of_ranks<float>(size_, spans<float>{*this, taken.call}, taken.first, taken.last);
    else if (what == rank_call::kind::sum_double)
      sum_of_ranks<double>(size_, spans<double>{*this, taken.call}, taken.first, taken.last);
    else if (what == rank_call::kind::exchange) exchange(spans<std::byte>{*this, taken.call}, taken);
    else broadcast(spans<std::byte>{*this, taken.call}, asked(0, taken.call).root, taken);
  }

  // Returns true for the last piece of a call: the call is over.
  bool finish(const piece& done) {
    slot& s = slot_of(done.call);
    if (s.unfinished.fetch_sub(1) != 1) return false;
    s.over.store(done.call + 1);
    return true;
  }

  // Forgets every call that has been posted; returns the number of every rank's next call. Only while no thread posts or takes
  // anything.
  std::uint64_t give_up() {
    std::uint64_t next = 0;
    for (int rank = 0; rank < size_; ++rank) next = std::max(next, started(rank));
    for (int rank = 0; rank < size_; ++rank) lane_of(rank).started.store(next);
    for (std::uint64_t call = next - std::min<std::uint64_t>(next, capacity_); call < next; ++call) {
      slot_of(call).arrived.store(0);
      slot_of(call).over.store(call + 1);
    }
    next_.store(next << piece_bits);
    ready_.store(next);
    return next;
  }

private:
  static constexpr int piece_bits = 24; // of next_, for the piece; the number of the call has the other 40

  struct alignas(alignment) lane { // written by one rank, read by all
    std::atomic<std::uint64_t> started{0};
    std::unique_ptr<rank_call[]> posted;
  };
  struct slot { // shared by the calls of one number
    std::atomic<int> arrived{0};
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> unfinished{0};
    std::atomic<std::uint64_t> over{0}; // 1 + the number of the last call in this slot that is over
  };

  template <class T>
  struct spans {
    const call_ring& ring;
    std::uint64_t call;
    T* operator()(int rank) const { return static_cast<T*>(ring.asked(rank, call).data); }
  };

  void broadcast(const spans<std::byte>& bytes, int root, const piece& taken) const {
    for (int rank = 0; rank < size_; ++rank)
      if (rank != root) std::memcpy(bytes(rank) + taken.first, bytes(root) + taken.first, taken.last - taken.first);
  }

  // Copies the taken range of every rank's bytes to all ranks.
  void exchange(const spans<std::byte>& all, const piece& taken) const {
    for (int from = 0; from < size_; ++from) {
      const rank_call& given = asked(from, taken.call);
      const auto* const own = static_cast<const std::byte*>(given.own) + taken.first;
      const std::size_t at = static_cast<std::size_t>(from) * given.count + taken.first;
      for (int to = 0; to < size_; ++to) std::memcpy(all(to) + at, own, taken.last - taken.first);
    }
  }

  lane& lane_of(int rank) const { return lanes_[static_cast<std::size_t>(rank)]; }
  slot& slot_of(std::uint64_t call) const { return slots_[call % capacity_]; }

  int size_;
  std::size_t capacity_;
  std::unique_ptr<lane[]> lanes_;
  std::unique_ptr<slot[]> slots_;
  alignas(alignment) std::atomic<std::uint64_t> ready_{0}; // calls before this one are published
  alignas(alignment) std::atomic<std::uint64_t> next_{0};  // the next piece to take: call, index
};

} // namespace cairn::detail
