// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>

namespace cairn::detail {

// Where a walk along a short chain stands: see short_search.hpp. Bit i of a set is for what stage i makes, value i + 1
// or its tape.
struct search_state {
  std::uint32_t values = 0;
  std::uint32_t tapes = 0;
  std::uint32_t unread = 0; // of the values: made in place beside a tape, and not read yet
  std::uint32_t left = 0;   // backwards of the stages below are to come; stages + 1: the turn too

  static constexpr std::size_t most_stages = 8; // so many bits has each set in the key

  constexpr std::uint32_t key() const { return values | tapes << 8U | unread << 16U | left << 24U; }
  static constexpr search_state of(std::uint32_t key) {
    return {key & 255U, key >> 8U & 255U, key >> 16U & 255U, key >> 24U};
  }
};

// The cheapest way to a state that is known so far.
struct search_node {
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  static constexpr std::uint8_t stays = 255; // no move: something is dropped, or it is the turn

  std::uint32_t key = 0;
  std::uint32_t from = none; // the state before
  std::uint64_t cost = 0;
  std::size_t held = 0;     // bytes, in this state
  std::size_t most = 0;     // ... that lived at once on the way here
  std::uint32_t place = 0;  // in the queue
  std::uint8_t did = stays; // the step to here: twice the position, and 1 if backward
};

// The states that a search knows, each found by its key, and a queue of those that it has not looked at: a heap with the
// cheapest on top. Each state knows its place in the heap, so that it rises when a cheaper way to it is found, and is in
// it once. With a Capacity of at_run_time there is always room.
template <std::size_t Capacity>
class search_states {
public:
  constexpr search_states() { make_room(Capacity == at_run_time ? 64 : Capacity); }
  // The same with another capacity.
  template <std::size_t Other>
  constexpr explicit search_states(const search_states<Other>& other) {
    make_room(Capacity == at_run_time ? other.room_ : Capacity);
    copy(other);
  }

  constexpr std::size_t size() const { return count_; }
  constexpr std::size_t waiting() const { return waiting_; }
  constexpr const search_node& operator[](std::uint32_t at) const { return nodes_.data()[at]; }

  // The state of this key, or none.
  constexpr std::uint32_t find(std::uint32_t key) const { return index_.data()[slot_of(key)] - 1; }

  // A state that is not known yet, into the queue. False if there is no room.
  constexpr bool add(const search_node& node) {
    if (count_ == room_) {
      if constexpr (Capacity == at_run_time) grow();
      else return false;
    }
    const auto at = static_cast<std::uint32_t>(count_++);
    index_.data()[slot_of(node.key)] = at + 1;
    nodes_.data()[at] = node;
    rise(at, waiting_++);
    return true;
  }
  // A cheaper way to a state that waits.
  constexpr void improve(std::uint32_t at, const search_node& node) {
    const std::uint32_t place = nodes_.data()[at].place;
    nodes_.data()[at] = node;
    rise(at, place);
  }
  // Takes the cheapest state out of the queue, or puts one back.
  constexpr std::uint32_t take() {
    std::uint32_t* const queue = queue_.data();
    const search_node* const nodes = nodes_.data();
    const std::uint32_t top = queue[0];
    const std::uint32_t at = queue[--waiting_];
    const std::uint64_t cost = nodes[at].cost;
    std::size_t place = 0;
    for (std::size_t child = 1; child < waiting_; child = 2 * place + 1) {
      if (child + 1 < waiting_ && nodes[queue[child + 1]].cost < nodes[queue[child]].cost) ++child;
      if (nodes[queue[child]].cost >= cost) break;
      put(queue[child], place);
      place = child;
    }
    put(at, place);
    return top;
  }
  constexpr void put_back(std::uint32_t at) { rise(at, waiting_++); }

private:
  template <std::size_t Other>
  friend class search_states;

  // Where a key stands in the index, or would stand.
  constexpr std::size_t slot_of(std::uint32_t key) const {
    const std::uint32_t* const index = index_.data();
    const search_node* const nodes = nodes_.data();
    std::size_t slot =
        (key * 2654435769U >> 7U) & (slots_ - 1); // the golden ratio: keys that differ little lie apart
    while (index[slot] != 0 && nodes[index[slot] - 1].key != key) slot = (slot + 1) & (slots_ - 1);
    return slot;
  }

  constexpr void put(std::uint32_t at, std::size_t place) {
    queue_.data()[place] = at;
    nodes_.data()[at].place = static_cast<std::uint32_t>(place);
  }
  constexpr void rise(std::uint32_t at, std::size_t place) {
    const std::uint32_t* const queue = queue_.data();
    const std::uint64_t cost = nodes_.data()[at].cost;
    for (; place > 0; place = (place - 1) / 2) {
      const std::uint32_t above = queue[(place - 1) / 2];
      if (nodes_.data()[above].cost <= cost) break;
      put(above, place);
    }
    put(at, place);
  }

  constexpr void make_room(std::size_t room) {
    room_ = room;
    slots_ = 2;
    while (slots_ < 2 * room) slots_ *= 2;
    nodes_.make_room(room);
    index_.make_room(slots_);
    queue_.make_room(room);
  }
  template <std::size_t Other>
  constexpr void copy(const search_states<Other>& other) {
    count_ = other.count_;
    waiting_ = other.waiting_;
    for (std::size_t k = 0; k < waiting_; ++k) queue_.data()[k] = other.queue_.data()[k];
    for (std::size_t k = 0; k < count_; ++k) {
      nodes_.data()[k] = other.nodes_.data()[k];
      index_.data()[slot_of(nodes_.data()[k].key)] = static_cast<std::uint32_t>(k + 1);
    }
  }
  constexpr void grow() {
    const search_states old = *this;
    make_room(2 * room_);
    copy(old);
  }

  std::size_t count_ = 0;
  std::size_t waiting_ = 0;
  std::size_t room_ = 0;
  std::size_t slots_ = 0; // of the index: a power of two, at least twice the room
  plain_array<search_node, Capacity> nodes_{};
  plain_array<std::uint32_t, Capacity == at_run_time ? at_run_time : 4 * Capacity> index_{}; // plus one; 0: nobody
  plain_array<std::uint32_t, Capacity> queue_{};
};

} // namespace cairn::detail
