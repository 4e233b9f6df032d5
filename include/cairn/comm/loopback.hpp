// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// The communicator of a job with one rank, called loopback::rank: every call is the identity and is over at once. A forgotten
// wait is found here too, so that a program does not first fail on the day it gets a second rank.
class loopback_rank {
public:
  static constexpr std::string_view name = "loopback";

  // A pending.
  class [[nodiscard]] ticket {
  public:
    ticket() = default;
    ticket(ticket&& other) noexcept : open_(std::exchange(other.open_, false)) {}
    ticket& operator=(ticket&& other) noexcept {
      ticket replaced(std::move(*this));
      open_ = std::exchange(other.open_, false);
      return *this;
    }
    ~ticket() { assert((!open_ || std::uncaught_exceptions() > 0) && "cairn: a pending was never waited for"); }

    template <class Queue>
    void wait(Queue&) {
      open_ = false;
    }

  private:
    friend class loopback_rank;
    explicit ticket(bool open) : open_(open) {}

    bool open_ = false;
  };

  int rank() const { return 0; }
  int size() const { return 1; }

  template <class Queue>
  ticket all_reduce(Queue&, std::span<float>) {
    return ticket(true);
  }
  template <class Queue>
  ticket all_reduce(Queue&, std::span<double>) {
    return ticket(true);
  }

  template <class Queue>
  ticket broadcast(Queue&, std::span<std::byte>, int root) {
    if (root != 0) throw input_error("loopback: broadcast from rank " + std::to_string(root) + ", but the only rank is 0");
    return ticket(true);
  }

  void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
    check_exchange(name, own.size(), all.size(), 1);
    std::copy(own.begin(), own.end(), all.begin());
  }
  void check() {}
  void reserve(std::size_t) {}
};

static_assert(communicator<loopback_rank>);

} // namespace cairn::detail

namespace cairn {

// One rank alone: loopback{}.run([&](loopback::rank& rank) { … }) calls the body once, on the caller's thread, so that a body for
// threads runs here too. Exceptions of the body pass unchanged. A loopback::rank can also be constructed directly.
//
// loopback is no communicator itself: in C++ a class cannot have both a type and a function with the name rank.
class loopback {
public:
  using rank = detail::loopback_rank;

  int size() const { return 1; }

  template <std::invocable<rank&> Body>
  void run(Body&& body) const {
    rank self;
    body(self);
  }
};

} // namespace cairn
