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

#include <cairn/comm/communicator.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

// What goes wrong on one rank, and in which of its calls (from 0).
struct injected_fault {
  enum class kind : unsigned char {
    none,
    late,           // the call starts after `delay`
    fails_to_start, // the call throws and is never started
    fails_in_wait,  // the call is started, and its wait throws
  };

  kind what = kind::none;
  std::uint64_t call = 0;
  std::chrono::milliseconds delay{0};
};

// A communicator around another one that behaves like it but for one fault: to try out how a program meets a
// lost or slow rank. The other one is borrowed. Inside a body of threads::run:
//
//   fault_injecting faulty(rank, rank.rank() == 1 ? injected_fault{injected_fault::kind::late, 7, 2s} : injected_fault{});
//   trainer<ddp<Model, decltype(faulty)>, …> train{faulty, …};
template <class Inner>
class fault_injecting {
public:
  static constexpr std::string_view name = Inner::name;

  // A pending around a pending.
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
      throw rank_lost("fault_injecting: this wait fails, as was asked for");
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
  auto all_reduce(Queue& queue, std::span<float> span) {
    return started([&] { return inner_.all_reduce(queue, span); });
  }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<double> span) {
    return started([&] { return inner_.all_reduce(queue, span); });
  }
  template <class Queue>
  auto broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    return started([&] { return inner_.broadcast(queue, bytes, root); });
  }

  void recover()
    requires requires(Inner& inner) { inner.recover(); }
  {
    inner_.recover();
  }

private:
  template <class Start>
  auto started(const Start& start) {
    const injected_fault::kind now = calls_++ == planned_.call ? planned_.what : injected_fault::kind::none;
    if (now == injected_fault::kind::late) std::this_thread::sleep_for(planned_.delay);
    if (now == injected_fault::kind::fails_to_start)
      throw rank_lost("fault_injecting: call " + std::to_string(planned_.call) + " fails to start, as was asked for");
    return ticket<decltype(start())>(start(), now == injected_fault::kind::fails_in_wait);
  }

  Inner& inner_;
  injected_fault planned_;
  std::uint64_t calls_ = 0;
};

} // namespace cairn
