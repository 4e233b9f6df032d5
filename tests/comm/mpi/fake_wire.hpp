// SPDX-License-Identifier: MIT
// A transport for tests: messages between ranks that are threads of one process, or that one thread plays in turn. Messages of
// more than a few bytes are read from the sender's memory when the receiver takes them, as in a fast network. Messages arrive
// late, in an order that depends on a seed; those with the same sender and tag keep their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>

namespace testing {

struct wire {
  struct message {
    int from, to, tag;
    const std::byte* where;
    std::size_t bytes;
    std::vector<std::byte> copy; // for a small message
    std::shared_ptr<bool> taken;
    unsigned late; // number of times that the receiver looks before it sees the message
  };
  struct awaited {
    int from, to, tag;
    std::byte* where;
    std::size_t room;
    std::shared_ptr<std::optional<std::size_t>> came;
  };

  explicit wire(int ranks, std::uint64_t seed = 0, std::size_t most_bytes = 1 << 20)
      : size(ranks), most(most_bytes), state(seed * 2 + 1) {}

  unsigned delay() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>(state >> 60) % 4;
  }

  int size;
  std::size_t most;
  std::uint64_t state;
  std::mutex mutex;
  std::deque<message> on_the_way;
  std::deque<awaited> wanted;
  bool loses_all = false; // from now on, no message that is sent arrives
};

class wire_transport {
public:
  static constexpr std::string_view name = "wire";
  struct request {
    std::shared_ptr<bool> taken;                          // of a send
    std::shared_ptr<std::optional<std::size_t>> received; // of a receive
  };

  wire_transport(wire& all, int rank) : all_(&all), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const { return all_->size; }
  int local_rank() const { return rank_; }
  int local_size() const { return all_->size; }
  int most_tag() const { return 32767; }
  std::size_t most_bytes() const { return all_->most; }

  void send(request& r, int to, int tag, const std::byte* from, std::size_t bytes) {
    const std::lock_guard lock(all_->mutex);
    r.taken = std::make_shared<bool>(all_->loses_all);
    if (all_->loses_all) return;
    wire::message m{rank_, to, tag, from, bytes, {}, r.taken, all_->delay()};
    if (bytes <= 64 || tag == 0) {
      m.copy.assign(from, from + bytes);
      *r.taken = true;
    }
    all_->on_the_way.push_back(std::move(m));
  }
  void receive(request& r, int from, int tag, std::byte* to, std::size_t room) {
    const std::lock_guard lock(all_->mutex);
    r.received = std::make_shared<std::optional<std::size_t>>();
    all_->wanted.push_back({from, rank_, tag, to, room, r.received});
  }

  std::size_t finished(std::span<request> requests, std::span<cairn::detail::finished_request> over) {
    const std::lock_guard lock(all_->mutex);
    move_on();
    std::size_t count = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      request& r = requests[i];
      if (r.taken && *r.taken) over[count++] = {i, 0};
      else if (r.received && r.received->has_value()) over[count++] = {i, **r.received};
      else continue;
      r = {};
    }
    return count;
  }
  bool is_open(const request& r) const { return r.taken != nullptr || r.received != nullptr; }

  std::optional<cairn::detail::incoming_message> probe(int from, int tag) {
    const std::lock_guard lock(all_->mutex);
    move_on();
    for (const wire::message& m : all_->on_the_way)
      if (m.to == rank_ && m.tag == tag && (from == cairn::detail::any_rank_sends || from == m.from) && m.late == 0)
        return cairn::detail::incoming_message{m.from, m.bytes};
    return {};
  }

  void cancel(request& r) {
    const std::lock_guard lock(all_->mutex);
    std::erase_if(all_->wanted, [&](const wire::awaited& w) { return w.came == r.received; });
    r = {};
  }
  // Gives up a send: a message that is not taken yet carries garbage from now on.
  void forget(request& r) {
    const std::lock_guard lock(all_->mutex);
    for (wire::message& m : all_->on_the_way)
      if (m.taken == r.taken && m.copy.empty()) m.copy.assign(m.bytes, std::byte{0x7F});
    r = {};
  }
  [[noreturn]] void abort(const std::string& text) { throw cairn::error("aborted: " + text); }

private:
  // Hands messages to the waiting receives of this rank.
  void move_on() {
    for (wire::message& m : all_->on_the_way)
      if (m.to == rank_ && m.late > 0) --m.late;
    for (bool any = true; any;) {
      any = false;
      for (auto w = all_->wanted.begin(); w != all_->wanted.end() && !any; ++w) {
        if (w->to != rank_) continue;
        const auto m = std::ranges::find_if(all_->on_the_way, [&](const wire::message& one) {
          return one.to == rank_ && one.from == w->from && one.tag == w->tag;
        });
        if (m == all_->on_the_way.end() || m->late > 0) continue;
        const std::size_t bytes = std::min(m->bytes, w->room);
        if (bytes > 0) std::memcpy(w->where, m->copy.empty() ? m->where : m->copy.data(), bytes);
        *w->came = m->bytes > w->room ? cairn::detail::finished_request::too_many : m->bytes;
        *m->taken = true;
        all_->on_the_way.erase(m);
        all_->wanted.erase(w);
        any = true;
      }
    }
  }

  wire* all_;
  int rank_;
};

static_assert(cairn::detail::message_transport<wire_transport>);

} // namespace testing
