// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cairn/comm/mpi/memory_of_ranks.hpp>
#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/comm/mpi/owned_parts.hpp>
#include <cairn/comm/rank_call.hpp>
#include <cairn/comm/sum_of_ranks.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>

namespace cairn::detail {

// A call, or a stretch of a long one: elements should stay in a core's cache between their arrival and their sum.
struct call_stretch {
  std::uint64_t call = 0; // its number
  std::uint64_t turn = 0; // the number of stretches of all calls that came before
  std::size_t first = 0;  // of the call's elements
  std::size_t count = 0;
  bool is_last = true; // of its call

  static constexpr std::size_t part_bytes = 256_KiB;  // of one rank
  static constexpr std::size_t reached_bytes = 1_MiB; // the same where spans are summed in place, and nothing arrives

  // The next stretch of a call, from element `first` on.
  static call_stretch next_of(const rank_call& asked, std::size_t ranks, std::size_t first) {
    call_stretch next;
    const bool can_be_cut = asked.what != rank_call::kind::exchange;
    next.first = first;
    next.count = asked.count - first;
    const std::size_t part = asked.reached == nullptr ? part_bytes : reached_bytes;
    if (can_be_cut) next.count = std::min(next.count, ranks * part / asked.element_bytes());
    next.is_last = first + next.count == asked.count;
    return next;
  }
};

// One call of one rank, or a stretch of it, as messages: every owner first collects the shares of its part, then sends the part
// to all.
//
//   all_reduce   part p of every rank goes to rank p, which sums; the sum goes to all. If every rank can access the spans of
//                all, a note replaces the part, rank p sums in place, and a note says that the sum is there
//   broadcast    the root sends part p to rank p, which sends it to all but the root
//   exchange     a part is the bytes that one rank gives; it goes to all
//
// Between two ranks there are at most four streams at a time. A stream is one message after another, each of at most the
// transport's most_bytes. The tag of a message depends on the call, its kind, its half, and whether the message is the last, so
// that ranks which make different calls cannot mix them up. Received sizes and notes are compared with the expected ones.
template <message_transport Transport>
class message_call {
public:
  // Tags below this are not used for calls.
  static constexpr int first_tag = 16;

  explicit message_call(Transport& transport)
      : transport_(transport), size_(static_cast<std::size_t>(transport.size())), me_(static_cast<std::size_t>(transport.rank())),
        streams_(4 * size_), requests_(4 * size_), over_(4 * size_), notes_(2 * size_) {}

  // Allocates the memory for calls of at most this many bytes, so that they allocate none later.
  void reserve(std::size_t bytes) {
    const std::size_t at_once = std::min(bytes, size_ * call_stretch::part_bytes);
    const std::size_t needed = (size_ - 1) * owned_parts::most_bytes(at_once, size_);
    if (needed <= room_) return;
    collected_ = std::make_unique_for_overwrite<std::byte[]>(needed + alignment);
    room_ = needed;
  }

  std::size_t reserved() const { return room_; }

  bool is_open() const { return open_; }
  std::uint64_t number() const { return now_.call; }

  // Begins a call or a stretch of it. The job has more than one rank.
  void begin(const rank_call& asked, const call_stretch& stretch, bool in_any_order) {
    asked_ = asked;
    now_ = stretch;
    open_ = true;
    streams_left_ = 0;
    parts_missing_ = 0;
    const std::size_t element = asked.element_bytes();
    parts_ = owned_parts(stretch.count, element, size_, stretch.turn);
    memory_ = static_cast<std::byte*>(asked.data) + stretch.first * element;
    if (in_any_order && is_sum()) return begin_sum_of_transport();
    if (asked.what == rank_call::kind::exchange) {
      if (asked.count > 0) std::memcpy(part_of(me_), asked.own, asked.count);
      send_own_part();
      for_others([&](std::size_t rank) { open(part_in, rank); });
      return;
    }
    const bool is_root = asked.what == rank_call::kind::broadcast && static_cast<std::size_t>(asked.root) == me_;
    if (are_reached()) own_note_ = {asked.reached->number(), static_cast<std::uint64_t>(memory_ - asked.reached->own().data())};
    else if (is_sum()) reserve(stretch.count * element);
    for_others([&](std::size_t rank) {
      if (parts_.owns(rank) && (is_sum() || is_root)) open(share_out, rank);
      if (parts_.owns(rank) && asked.what == rank_call::kind::broadcast && !is_root) open(part_in, rank);
      if (!parts_.owns(me_)) return;
      if (is_sum() || (!is_root && rank == static_cast<std::size_t>(asked.root))) open(share_in, rank), ++parts_missing_;
    });
    if (parts_.owns(me_) && parts_missing_ == 0) own_part_is_ready();
    close_if_done();
  }

  // Advances messages; returns whether any was over. Throws input_error if another rank makes another call.
  bool progress() {
    const std::size_t count = transport_.finished(std::span(requests_), std::span(over_));
    for (std::size_t i = 0; i < count; ++i) one_is_over(over_[i]);
    close_if_done();
    return count > 0;
  }

  // Whether this rank's own part lacks the share of that rank. If no share is missing and the call is still open, another owner
  // may know which rank is late.
  bool lacks_share_of(std::size_t rank) const { return open_ && !sums_elsewhere_ && streams_[at(share_in, rank)].is_open; }
  bool lacks_shares() const { return parts_missing_ > 0; }
  // Whether this rank waits for that one.
  bool waits_for(std::size_t rank) const {
    if (sums_elsewhere_) return true;
    return open_ && (streams_[at(share_in, rank)].is_open || streams_[at(part_in, rank)].is_open ||
                     streams_[at(share_out, rank)].is_open || streams_[at(part_out, rank)].is_open);
  }
  // A rank that this one waits for and that sends another call with this number, or size_ if there is none.
  std::size_t one_that_differs() {
    for (std::size_t rank = 0; rank < size_; ++rank) {
      if (rank == me_ || !open_ || sums_elsewhere_) continue;
      if (!streams_[at(share_in, rank)].is_open && !streams_[at(part_in, rank)].is_open) continue;
      for (int low = 0; low < 16; ++low)
        if (!is_expected(low, rank) && transport_.probe(static_cast<int>(rank), tag_of_call() + low)) return rank;
    }
    return size_;
  }

  // Abandons the call; its memory is the caller's again. Messages on their way to a rank that may never take them are not waited
  // for: that rank learns that this call was abandoned before it could use them.
  void give_up() {
    if (!open_) return;
    if (sums_elsewhere_)
      transport_.abort("call " + std::to_string(now_.call + 1) + ", " + asked_.text() +
                       ": a sum in any order cannot be given up, so the job ends");
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (!streams_[i].is_open) continue;
      if (i / size_ == share_in || i / size_ == part_in) transport_.cancel(requests_[i]);
      else transport_.forget(requests_[i]);
      streams_[i].is_open = false;
    }
    open_ = false;
  }

  const rank_call& asked() const { return asked_; }
  // Whether the next call may begin. If the transport sums, it must have been given all of this sum first, as all ranks give it
  // their sums in one order.
  bool may_be_followed() const { return !sums_elsewhere_ || streams_[0].left == 0; }

private:
  using request = typename Transport::request;

  // A share is one rank's contribution to a part.
  enum stream_kind : std::size_t { share_out, share_in, part_out, part_in };

  struct stream {
    std::byte* next = nullptr;
    std::size_t left = 0; // bytes, including the current message
    std::size_t now = 0;  // bytes of the current message
    bool is_open = false;
  };

  // The place of a rank's span in the memory that all ranks can access.
  struct note {
    std::uint64_t block = 0, offset = 0;
  };

  // Whether every rank can access the spans of all.
  bool are_reached() const { return asked_.reached != nullptr; }
  bool is_sum() const { return asked_.what == rank_call::kind::sum_float || asked_.what == rank_call::kind::sum_double; }
  std::size_t at(stream_kind kind, std::size_t rank) const { return kind * size_ + rank; }
  std::byte* part_of(std::size_t rank) const {
    if (asked_.what == rank_call::kind::exchange) return memory_ + rank * asked_.count;
    return memory_ + parts_.begin(rank) * asked_.element_bytes();
  }
  std::size_t part_bytes(std::size_t rank) const {
    if (asked_.what == rank_call::kind::exchange) return asked_.count;
    return (parts_.end(rank) - parts_.begin(rank)) * asked_.element_bytes();
  }
  // The buffer for the share that another rank adds to this one's part.
  std::byte* collected(std::size_t rank) const {
    void* start = collected_.get();
    std::size_t space = room_ + alignment;
    return static_cast<std::byte*>(std::align(alignment, 1, start, space)) + (rank < me_ ? rank : rank - 1) * part_bytes(me_);
  }
  template <class F>
  void for_others(const F& f) {
    for (std::size_t step = 1; step < size_; ++step) f((me_ + step) % size_); // not all to rank 0 first
  }

  // The tag for `turn`. Its lowest four bits are free for low_bits(): the kind, the half, and whether the message is the last one
  // of a stream and of its call.
  int tag_of_call() const {
    const auto numbers = static_cast<std::uint64_t>(transport_.most_tag() - first_tag) / 16;
    return first_tag + static_cast<int>(now_.turn % numbers) * 16;
  }
  int low_bits(stream_kind kind, bool is_last) const {
    return static_cast<int>(asked_.what) * 4 + (kind == part_out || kind == part_in ? 2 : 0) + (is_last ? 1 : 0);
  }
  bool is_expected(int low, std::size_t rank) const {
    if (low / 4 != static_cast<int>(asked_.what)) return false;
    const stream& s = streams_[at((low & 2) != 0 ? part_in : share_in, rank)];
    // A message of a stream that has not begun is not wrong yet, and the last message may wait for the one before it.
    return !s.is_open || (low & 1) == 1 || !is_last_message(s);
  }

  bool is_last_message(const stream& s) const { return s.left == s.now && now_.is_last; }

  // The bytes that go to that rank, or come from it. If every rank can access the spans of all, they are a note. The transport
  // orders memory between the sending and the arrival of a message, so that what was written before it is seen after it.
  std::span<std::byte> bytes_of(stream_kind kind, std::size_t rank) {
    if (are_reached()) {
      note& one = kind == share_in ? notes_[rank] : kind == part_in ? notes_[size_ + rank] : own_note_;
      return std::as_writable_bytes(std::span(&one, 1));
    }
    if (kind == share_in && is_sum()) return {collected(rank), part_bytes(me_)};
    const std::size_t owner = kind == share_out || kind == part_in ? rank : me_;
    return {part_of(owner), part_bytes(owner)};
  }
  void open(stream_kind kind, std::size_t rank) {
    const std::span<std::byte> bytes = bytes_of(kind, rank);
    streams_[at(kind, rank)] = {bytes.data(), bytes.size(), 0, true};
    ++streams_left_;
    next_message(kind, rank);
  }
  void next_message(stream_kind kind, std::size_t rank) {
    stream& s = streams_[at(kind, rank)];
    s.now = std::min(s.left, transport_.most_bytes());
    const int tag = tag_of_call() + low_bits(kind, is_last_message(s));
    request& r = requests_[at(kind, rank)];
    if (kind == share_out || kind == part_out) transport_.send(r, static_cast<int>(rank), tag, s.next, s.now);
    else transport_.receive(r, static_cast<int>(rank), tag, s.next, s.now);
  }

  void one_is_over(const finished_request& done) {
    if (sums_elsewhere_) {
      if (streams_[0].left > 0) return next_sum();
      sums_elsewhere_ = false;
      --streams_left_;
      return;
    }
    const auto kind = static_cast<stream_kind>(done.index / size_);
    const std::size_t rank = done.index % size_;
    stream& s = streams_[done.index];
    if ((kind == share_in || kind == part_in) && done.bytes != s.now)
      throw input_error("rank " + std::to_string(rank) + " sent " +
                        (done.bytes == finished_request::too_many ? "more" : std::to_string(done.bytes) + " bytes") + " where " +
                        std::to_string(s.now) + " bytes of this call were expected");
    s.next += s.now;
    s.left -= s.now;
    if (s.left > 0) return next_message(kind, rank);
    s.is_open = false;
    --streams_left_;
    if (are_reached() && (kind == share_in || kind == part_in)) check_note(rank, notes_[(kind == part_in ? size_ : 0) + rank]);
    // The memory of a part that was sent is free for its sum.
    if (kind == share_out && is_sum()) open(part_in, rank);
    if (kind == share_in && --parts_missing_ == 0) own_part_is_ready();
  }

  void own_part_is_ready() {
    if (asked_.what == rank_call::kind::sum_float) sum_own_part<float>();
    if (asked_.what == rank_call::kind::sum_double) sum_own_part<double>();
    send_own_part();
  }
  void send_own_part() {
    for_others([&](std::size_t rank) {
      if (asked_.what == rank_call::kind::broadcast && rank == static_cast<std::size_t>(asked_.root)) return;
      open(part_out, rank);
    });
  }

  // Sums the shares into this rank's own, as ((rank 0 + rank 1) + rank 2) + …, in blocks that stay in the first-level cache.
  template <class T>
  void sum_parts() {
    constexpr std::size_t block = 4096 / sizeof(T);
    const std::size_t count = part_bytes(me_) / sizeof(T);
    auto* const own = reinterpret_cast<T*>(part_of(me_));
    const auto of = [&](std::size_t rank) { return reinterpret_cast<T*>(collected(rank)); };
    for (std::size_t first = 0; first < count; first += block) {
      const std::size_t some = std::min(block, count - first);
      for (std::size_t rank = 1; rank < me_; ++rank) add_span<false>(of(0) + first, of(rank) + first, some);
      if (me_ > 0) add_span<false>(own + first, of(0) + first, some); // a + b has the bits of b + a
      for (std::size_t rank = me_ + 1; rank < size_; ++rank) add_span<false>(own + first, of(rank) + first, some);
    }
  }

  void check_note(std::size_t rank, const note& told) const {
    if (told.block == own_note_.block && told.offset == own_note_.offset) return;
    throw input_error("rank " + std::to_string(rank) + " sums what lies at byte " + std::to_string(told.offset) + " of block " +
                      std::to_string(told.block) + ", this rank what lies at byte " + std::to_string(own_note_.offset) +
                      " of block " + std::to_string(own_note_.block));
  }
  template <class T>
  void sum_own_part() {
    if (are_reached()) sum_in_place<T>();
    else sum_parts<T>();
  }
  // Sums this rank's part in the memory that all ranks can access.
  template <class T>
  void sum_in_place() {
    const std::size_t offset = own_note_.offset + parts_.begin(me_) * sizeof(T);
    const std::span<std::byte* const> starts = asked_.reached->starts();
    const auto span_of = [&](int rank) { return reinterpret_cast<T*>(starts[static_cast<std::size_t>(rank)] + offset); };
    sum_of_ranks<T>(static_cast<int>(size_), span_of, 0, parts_.end(me_) - parts_.begin(me_));
  }

  void begin_sum_of_transport() {
    sums_elsewhere_ = true;
    streams_left_ = 1;
    streams_[0] = {memory_, now_.count * asked_.element_bytes(), 0, false};
    next_sum();
  }
  void next_sum() {
    if constexpr (sums_itself<Transport>) {
      stream& s = streams_[0];
      s.now = std::min(s.left, transport_.most_bytes() / sizeof(double) * sizeof(double));
      if (asked_.what == rank_call::kind::sum_float)
        transport_.sum(requests_[0], std::span(reinterpret_cast<float*>(s.next), s.now / sizeof(float)));
      else transport_.sum(requests_[0], std::span(reinterpret_cast<double*>(s.next), s.now / sizeof(double)));
      s.next += s.now;
      s.left -= s.now;
    }
  }
  void close_if_done() { open_ = open_ && streams_left_ > 0; }

  Transport& transport_;
  std::size_t size_;
  std::size_t me_;
  std::vector<stream> streams_;
  std::vector<request> requests_; // each at the index of its stream
  std::vector<finished_request> over_;
  std::unique_ptr<std::byte[]> collected_; // the other ranks' shares of this rank's part
  std::size_t room_ = 0;
  std::vector<note> notes_; // received from the others: with their shares, then with their parts
  note own_note_{};

  rank_call asked_{};
  call_stretch now_{};
  owned_parts parts_{0, 1, 1, 0};
  std::byte* memory_ = nullptr;
  std::size_t streams_left_ = 0;
  std::size_t parts_missing_ = 0;
  bool open_ = false;
  bool sums_elsewhere_ = false;
};

} // namespace cairn::detail
