// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/lent_memory.hpp>
#include <cairn/core/error.hpp>

namespace testing {

using namespace cairn;

// A fault of one rank, and the call (from 0) in which it happens.
struct injected_fault {
  enum class kind : unsigned char {
    none,
    late,           // the call starts after `delay`
    fails_to_start, // the call throws and is never started
    fails_in_wait,  // the call is started, and its wait throws
    fails_later,    // the wait returns, and check() throws from then on, as on a device whose work is done later
  };

  kind what = kind::none;
  std::uint64_t call = 0;
  std::chrono::milliseconds delay{0};
};

// A communicator around another one that behaves like it except for one fault: to try out how a program handles a lost or slow
// rank. It borrows the other one. Inside a body of threads::run:
//
//   fault_injecting faulty(rank, rank.rank() == 1 ? injected_fault{injected_fault::kind::late, 7, 2s} : injected_fault{});
//   trainer<ddp<Model, decltype(faulty)>, …> train{faulty, …};
template <class Inner>
class fault_injecting {
public:
  static constexpr std::string_view name = Inner::name;

  // A pending around the inner communicator's.
  template <class Ticket>
  class [[nodiscard]] ticket {
  public:
    ticket() = default;
    ticket(ticket&& other) noexcept : inner_(std::move(other.inner_)), fails_(std::exchange(other.fails_, false)) {}
    ticket& operator=(ticket&& other) noexcept {
      inner_ = std::move(other.inner_);
      fails_ = std::exchange(other.fails_, false);
      return *this;
    }
    ~ticket() = default;

    template <class Queue>
    void wait(Queue& queue) {
      if (!fails_) return inner_.wait(queue);
      fails_ = false;
      const Ticket abandoned(std::move(inner_)); // the exception destroys it
      throw_in_wait();
    }

  private:
    friend class fault_injecting;
    ticket(Ticket inner, bool fails) : inner_(std::move(inner)), fails_(fails) {}

    Ticket inner_{};
    bool fails_ = false;
  };

  fault_injecting(Inner& inner, injected_fault planned) : inner_(inner), planned_(planned) {}

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }
  int local_size() const
    requires detail::knows_its_machine<Inner>
  {
    return inner_.local_size();
  }

  template <class Queue>
    requires detail::sums_spans_of<Inner, Queue, float>
  auto all_reduce(Queue& queue, std::span<float> span) {
    return started([&] { return inner_.all_reduce(queue, span); });
  }
  template <class Queue>
    requires detail::sums_spans_of<Inner, Queue, double>
  auto all_reduce(Queue& queue, std::span<double> span) {
    return started([&] { return inner_.all_reduce(queue, span); });
  }
  template <class Queue>
    requires detail::broadcasts_bytes<Inner, Queue>
  auto broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    return started([&] { return inner_.broadcast(queue, bytes, root); });
  }

  // Counts as a call like the others, and returns when it is over.
  void exchange(std::span<const std::byte> own, std::span<std::byte> all)
    requires detail::exchanges_bytes<Inner>
  {
    const injected_fault::kind now = next();
    inner_.exchange(own, all);
    if (now == injected_fault::kind::fails_in_wait) throw_in_wait();
  }
  void check() {
    if (failed_) throw rank_lost("fault_injecting: call " + std::to_string(planned_.call) + " failed later, as was asked for");
    detail::tell_check(inner_);
  }
  void reserve(std::size_t bytes) { detail::tell_reserve(inner_, bytes); }
  types::lent_memory allocate(std::size_t bytes) { return detail::ask_for_memory(inner_, bytes); }

  types::call_purpose purpose(const types::call_purpose& next)
    requires detail::learns_purposes<Inner>
  {
    return inner_.purpose(next);
  }

  void recover()
    requires requires(Inner& inner) { inner.recover(); }
  {
    inner_.recover();
    failed_ = false;
  }

private:
  [[noreturn]] static void throw_in_wait() { throw rank_lost("fault_injecting: this wait fails, as was asked for"); }

  // Counts a call that begins and returns its fault. Sleeps first if the call is late; throws if it fails to start.
  injected_fault::kind next() {
    const injected_fault::kind now = calls_++ == planned_.call ? planned_.what : injected_fault::kind::none;
    if (now == injected_fault::kind::late) std::this_thread::sleep_for(planned_.delay);
    if (now == injected_fault::kind::fails_to_start)
      throw rank_lost("fault_injecting: call " + std::to_string(planned_.call) + " fails to start, as was asked for");
    if (now == injected_fault::kind::fails_later) failed_ = true;
    return now;
  }
  template <class Start>
  auto started(const Start& start) {
    const injected_fault::kind now = next();
    return ticket<decltype(start())>(start(), now == injected_fault::kind::fails_in_wait);
  }

  Inner& inner_;
  injected_fault planned_;
  std::uint64_t calls_ = 0;
  bool failed_ = false; // reported by check() only
};

} // namespace testing
