// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/checked_communicator.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/numbered_call.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>

namespace cairn::detail {

// A communicator for a device whose memory the host cannot access, made of an inner one that sums in the host's memory: a span is
// downloaded, summed there, and uploaded. Its bits and its deadlines are those of the inner communicator.
//
// The download runs on the device's downloads(), after the work that was put into the caller's queue before the call. While the
// span is copied and summed, the device goes on with its queues. Calls advance on the program's own thread only, each time it
// makes a call here: a call is passed to the inner communicator when its bytes have arrived, in the order in which the calls
// were made. wait(queue) blocks until the sum is there, and puts the upload on that queue. (Rejected: a thread for it, which
// would need a core that the ranks' own threads use; and a callback in the queue, which stops the device while the host sums.)
//
// The bytes of all calls in flight lie in memory that is allocated here once. It is reused from its start when no call is in
// flight.
template <class Inner, class Device>
class through_host {
public:
  using queue = typename Device::queue;
  static constexpr std::string_view name = Inner::name;

  using ticket = numbered_call<through_host>;

  // At most `calls` calls, of `bytes` bytes together, may be started before all are waited for. A wait for the device ends at the
  // deadline.
  through_host(Device& device, Inner& inner, std::size_t calls, std::size_t bytes, std::chrono::milliseconds deadline)
      : device_(device), inner_(inner), deadline_(deadline),
        room_(staging_bytes(calls, bytes, static_cast<std::size_t>(inner.size()))), staged_(device.staging(room_)) {
    if (inner.size() > 1) calls_.reserve(calls);
  }
  through_host(const through_host&) = delete;
  through_host& operator=(const through_host&) = delete;
  ~through_host() { // the copies use the memory that is freed; failures were reported by wait() and check()
    try {
      wait_until_free([] {});
    } catch (...) {
    }
  }

  // The bytes that it allocates in the host's memory.
  static constexpr std::size_t staging_bytes(std::size_t calls, std::size_t bytes, std::size_t ranks) {
    return ranks > 1 ? align_up(bytes) + calls * alignment : 0;
  }

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }
  std::string_view called() const { return name_of_communicator(inner_); }

  ticket all_reduce(queue& from, std::span<float> span) { return begin<float>(from, std::as_writable_bytes(span)); }
  ticket all_reduce(queue& from, std::span<double> span) { return begin<double>(from, std::as_writable_bytes(span)); }
  ticket broadcast(queue& from, std::span<std::byte> bytes, int root) { return begin<std::byte>(from, bytes, root); }

  void exchange(std::span<const std::byte> own, std::span<std::byte> all) { inner_.exchange(own, all); }
  void check() { tell_check(inner_); }
  void reserve(std::size_t bytes) { tell_reserve(inner_, bytes); }
  call_purpose purpose(const call_purpose& next)
    requires learns_purposes<Inner>
  {
    return inner_.purpose(next);
  }
  void recover()
    requires requires(Inner& inner) { inner.recover(); }
  {
    inner_.recover();
    open_ = 0;
    given_up_ = false;
  }

private:
  friend ticket;

  // The inner communicator's pendings, one for each kind of call. Only that of the call that was made is not empty.
  struct pendings {
    pending_of<Inner, float, cpu::queue> floats{};
    pending_of<Inner, double, cpu::queue> doubles{};
    decltype(std::declval<Inner&>().broadcast(std::declval<cpu::queue&>(), std::span<std::byte>{}, 0)) bytes{};
  };
  struct call {
    std::span<std::byte> there; // on the device
    std::byte* here;            // in the host's memory
    void (*send)(through_host&, call&);
    int root;
    typename Device::event arrived; // when the bytes are here
    pendings sum;
  };

  template <class T>
  static void send(through_host& self, call& c) {
    if constexpr (std::is_same_v<T, std::byte>) {
      static_cast<void>(c.sum.bytes = self.inner_.broadcast(self.host_, {c.here, c.there.size()}, c.root));
    } else {
      const std::span<T> numbers{reinterpret_cast<T*>(c.here), c.there.size() / sizeof(T)};
      if constexpr (std::is_same_v<T, float>) static_cast<void>(c.sum.floats = self.inner_.all_reduce(self.host_, numbers));
      else static_cast<void>(c.sum.doubles = self.inner_.all_reduce(self.host_, numbers));
    }
  }

  template <class T>
  ticket begin(queue& from, std::span<std::byte> there, int root = 0) {
    if (size() == 1) return {};
    if (given_up_)
      throw rank_lost(std::string(name) +
                      ": expected recover() on all ranks first, as this rank gave up a call before it was made");
    if (open_ == 0) {
      wait_until_free([this] { check(); });
      calls_.clear();
      used_ = sent_ = 0;
    }
    const std::size_t needed = align_up(there.size());
    if (calls_.size() == calls_.capacity() || room_ - used_ < needed)
      throw input_error(std::string(name) + ": expected at most " + std::to_string(calls_.capacity()) + " calls and " +
                        std::to_string(room_) + " bytes on their way through the host's memory at a time, found more; wait for " +
                        "some of them first");
    std::byte* const here = staged_.data() + used_;
    queue& copies = downloads_of(device_);
    copies.wait(from.record());
    download(copies, there.size(), here, static_cast<const std::byte*>(there.data()));
    copied_ = copies.record();
    calls_.push_back({there, here, &send<T>, root, copied_, {}});
    used_ += needed;
    ++open_;
    const std::size_t own = calls_.size() - 1;
    try {
      move_on();
    } catch (...) { // there will be no ticket for this call
      drop(own);
      throw;
    }
    return {*this, own};
  }

  // Passes calls whose bytes have arrived to the inner communicator.
  void move_on() {
    while (sent_ < calls_.size() && downloads_of(device_).reached(calls_[sent_].arrived)) send_next();
  }
  void send_next() {
    call& next = calls_[sent_++];
    next.send(*this, next);
  }
  void wait_for(queue& line, const typename Device::event& event) {
    wait_on_host(line, event, deadline_, [this] { check(); });
  }
  template <class Check>
  void wait_until_free(const Check& check) {
    wait_on_host(downloads_of(device_), copied_, deadline_, check);
    wait_on_host(device_.compute(), uploaded_, deadline_, check);
  }

  void wait(std::uint64_t k, queue& to) {
    const struct closing {
      through_host& self;
      std::size_t call;
      ~closing() { self.drop(call); }
    } here{*this, k};
    while (sent_ <= k) {
      wait_for(downloads_of(device_), calls_[sent_].arrived);
      send_next();
    }
    call& own = calls_[k];
    if constexpr (checks_calls<Inner>) { // other calls arrive while this one is summed
      running_deadline<std::chrono::steady_clock> give_up(deadline_);
      while (sent_ < calls_.size() && !is_over(own.sum) && !give_up.is_over()) {
        move_on();
        check();
        std::this_thread::yield();
      }
    }
    own.sum.floats.wait(host_);
    own.sum.doubles.wait(host_);
    own.sum.bytes.wait(host_);
    upload(to, own.there.size(), own.there.data(), static_cast<const std::byte*>(own.here));
    uploaded_ = to.record();
  }
  bool over(std::uint64_t k) {
    move_on();
    return k < sent_ && is_over(calls_[k].sum);
  }
  static bool is_over(const pendings& p) {
    if constexpr (requires { p.floats.over(), p.doubles.over(), p.bytes.over(); })
      return p.floats.over() && p.doubles.over() && p.bytes.over();
    else return false;
  }
  bool failed() const { return false; }
  // Ends a call that nothing waits for any more: it is over, or an exception passes. One that was not passed on is missing on the
  // other ranks.
  void drop(std::uint64_t k) noexcept {
    --open_;
    given_up_ = given_up_ || k >= sent_;
    const pendings unwaited(std::move(calls_[k].sum));
  }

  Device& device_;
  Inner& inner_;
  std::chrono::milliseconds deadline_;
  cpu::queue host_{1};
  std::size_t room_, used_ = 0;
  typename Device::host_memory staged_;
  typename Device::event copied_{}, uploaded_{}; // of the last download and upload
  std::vector<call> calls_{};                    // since none was in flight
  std::size_t open_ = 0;                         // the number of them that are not waited for yet
  std::size_t sent_ = 0;                         // the number of them that were passed to the inner communicator
  bool given_up_ = false;                        // one that was not passed on
};

// C, or a wrapper around it for a device whose memory it cannot access.
template <class C, class Device, bool Through = adds_up_on_host<C, typename Device::queue>()>
struct communicator_on {
  using type = C;
};
template <class C, class Device>
struct communicator_on<C, Device, true> {
  using type = through_host<C, Device>;
};

} // namespace cairn::detail
