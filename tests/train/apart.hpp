// SPDX-License-Identifier: MIT
// A device on the processor that forbids what a GPU forbids:
//   * The host cannot read its memory. Each block is mapped twice: data() has no access rights, and only ops know the other
//     mapping. A loop of the host over the memory is a SIGSEGV, and an op that gets the host's memory throws.
//   * Its work is done late. Ops are queued and run only while the host waits, in an order that a seeded generator picks among
//     those that the queues and their events allow.
//   * Memory that it copies through is spoilt as early as allowed: the source of an upload once it is copied, the destination of
//     a download as soon as it is requested.
// If a trainer forgets a wait on this device, its numbers are wrong.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <cairn/device/cpu.hpp>

namespace apart {

// All blocks of all devices: the address that the host knows, and the offset from it to the bytes that ops use.
class address_book {
public:
  static address_book& all() {
    static address_book only;
    return only;
  }
  void add(const std::byte* first, std::size_t size, std::ptrdiff_t to_bytes) {
    const std::lock_guard lock(mutex_);
    blocks_[first] = {size, to_bytes};
  }
  void remove(const std::byte* first) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(first);
  }
  // Returns the address at which ops find the bytes that the host knows as `known`; throws if it is no address of a device.
  template <class T>
  T* bytes_of(T* known) {
    if (known == nullptr) return nullptr;
    const auto* const address = reinterpret_cast<const std::byte*>(known);
    const std::lock_guard lock(mutex_);
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin() || (--next, address > next->first + next->second.size))
      throw std::logic_error("apart: an op was given an address that is not the device's, or no longer");
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(known) + static_cast<std::uintptr_t>(next->second.to_bytes));
  }

private:
  struct block {
    std::size_t size = 0;
    std::ptrdiff_t to_bytes = 0;
  };
  std::mutex mutex_;
  std::map<const std::byte*, block> blocks_;
};

// Bytes that only ops can read.
class memory {
public:
  memory() = default;
  explicit memory(std::size_t bytes) : size_(bytes) {
    if (bytes == 0) return;
    const int file = ::memfd_create("apart", 0);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("apart: no memory");
    known_ = map(file, PROT_NONE);
    real_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
    address_book::all().add(known_, size_, real_ - known_);
  }
  memory(memory&& other) noexcept
      : known_(std::exchange(other.known_, nullptr)), real_(std::exchange(other.real_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  memory& operator=(memory&& other) noexcept {
    std::swap(known_, other.known_);
    std::swap(real_, other.real_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~memory() {
    if (known_ == nullptr) return;
    address_book::all().remove(known_);
    ::munmap(known_, size_);
    ::munmap(real_, size_);
  }

  std::byte* data() const { return known_; }
  std::size_t size() const { return size_; }

private:
  std::byte* map(int file, int rights) const {
    void* const at = ::mmap(nullptr, size_, rights, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) throw std::runtime_error("apart: no memory");
    return static_cast<std::byte*>(at);
  }

  std::byte* known_ = nullptr;
  std::byte* real_ = nullptr;
  std::size_t size_ = 0;
};

struct event {
  std::size_t queue = 0;
  std::size_t place = 0; // reached after this many ops of the queue
};

// The queues of one device, and when their ops run.
class schedule {
public:
  using op = std::function<void(cairn::cpu::queue&)>;

  explicit schedule(std::uint64_t seed) : random_(seed) {}
  void seed(std::uint64_t other) { random_.seed(other); }

  std::size_t add_queue() { return lines_.emplace_back(), lines_.size() - 1; }
  void put(std::size_t queue, op work) { lines_[queue].waiting.push_back({std::move(work), {}, false}); }
  void wait(std::size_t queue, const event& e) { lines_[queue].waiting.push_back({{}, e, true}); }
  event record(std::size_t queue) const { return {queue, lines_[queue].done + lines_[queue].waiting.size()}; }
  bool is_over(const event& e) const { return lines_[e.queue].done >= e.place; }
  bool is_idle() const {
    for (const line& l : lines_)
      if (!l.waiting.empty()) return false;
    return true;
  }

  // Runs one op, if any may run, picked at random.
  bool run_one() {
    std::vector<std::size_t> may;
    for (std::size_t q = 0; q < lines_.size(); ++q)
      if (!lines_[q].waiting.empty() && (!lines_[q].waiting.front().waits || is_over(lines_[q].waiting.front().until)))
        may.push_back(q);
    if (may.empty()) return false;
    line& l = lines_[may[random_() % may.size()]];
    const item next = std::move(l.waiting.front());
    l.waiting.pop_front();
    ++l.done;
    if (!next.waits) next.work(processor_);
    return true;
  }
  // Runs up to three ops.
  void run_some() {
    for (std::size_t i = random_() % 4; i > 0; --i) run_one();
  }
  void run_until(const event& e) {
    while (!is_over(e))
      if (!run_one()) throw std::logic_error("apart: the queues wait for each other");
  }

  bool forgets = false; // to wait: reports to the host that everything is done

private:
  struct item {
    op work;
    event until;
    bool waits = false;
  };
  struct line {
    std::deque<item> waiting;
    std::size_t done = 0;
  };

  std::deque<line> lines_;
  std::mt19937_64 random_;
  cairn::cpu::queue processor_{1};
};

class queue {
public:
  static constexpr bool shares_memory = false;

  explicit queue(std::shared_ptr<schedule> all) : all_(std::move(all)), number_(all_->add_queue()) {}

  event record() { return all_->record(number_); }
  void wait(const event& e) { all_->wait(number_, e); }
  bool reached(const event& e) {
    if (all_->forgets) return true;
    all_->run_some();
    return all_->is_over(e);
  }
  void finish() { all_->run_until(record()); }
  static constexpr bool works_while_asked = true;

  void put(schedule::op work) { all_->put(number_, std::move(work)); }
  const std::shared_ptr<schedule>& all() const { return all_; }

  // Reads the clock when the queue reaches a mark.
  class stopwatch {
  public:
    static constexpr std::int64_t least = 1000;
    stopwatch(queue& timed, std::size_t) : queue_(timed) {}
    std::size_t mark() {
      const auto& here = places_.emplace_back(std::make_shared<clock::time_point>());
      queue_.put([here](cairn::cpu::queue&) { *here = clock::now(); });
      return places_.size() - 1;
    }
    std::int64_t nanoseconds(std::size_t k) const {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(*places_[k] - *places_[0]).count();
    }
    void restart() { places_.clear(); }

  private:
    using clock = std::chrono::steady_clock;
    queue& queue_;
    std::vector<std::shared_ptr<clock::time_point>> places_;
  };

private:
  std::shared_ptr<schedule> all_;
  std::size_t number_;
};

// The requested bytes, and the calls, of allocate() and staging().
struct counters {
  std::size_t bytes = 0, calls = 0, staging_bytes = 0, staging_calls = 0;
};

class device {
public:
  using memory = apart::memory;
  using host_memory = cairn::cpu::memory;
  using event = apart::event;
  using queue = apart::queue;

  // Picks the order of the ops. Runs that differ only in the seed must have equal bits.
  static inline std::atomic<std::uint64_t> seed{1};
  // The number of devices that were destroyed before all their ops were done.
  static inline std::atomic<std::size_t> unfinished{0};

  explicit device(const cairn::types::device_options&) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() { unfinished += all_->is_idle() ? 0 : 1; }

  // A deliberate mistake: while the device forgets, it reports every event as reached, so the host does not wait.
  void forget(bool from_now_on) { all_->forgets = from_now_on; }

  queue& compute() { return compute_; }
  queue& transfers() { return transfers_; }
  memory allocate(std::size_t bytes) {
    counted.bytes += bytes;
    ++counted.calls;
    return memory(bytes);
  }
  host_memory staging(std::size_t bytes) {
    counted.staging_bytes += bytes;
    ++counted.staging_calls;
    return host_memory(bytes);
  }

  counters counted{};

private:
  std::shared_ptr<schedule> all_ = std::make_shared<schedule>(seed.load());
  queue compute_{all_};
  queue transfers_{all_};
};

static_assert(cairn::device<device>);

} // namespace apart
