// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/huge_pages.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/device/workers.hpp>

namespace cairn {

// The processor: bytes live in ordinary memory, and an op is done when its call returns. One rank has one
// cpu; with `threads` above 1 an op may cut its outputs into parts, which changes no bit of the result.
class cpu {
public:
  class queue;
  using options = types::device_options; // there is one cpu, whatever ordinal is asked for

  // Work on a cpu queue is done when its call returns, so every event has been reached.
  struct event {};

  // A block of bytes, 64-byte aligned, zero at first.
  class memory {
  public:
    memory() = default;
    explicit memory(std::size_t bytes) : memory(bytes, unset{}) {
      if (bytes > 0) std::memset(data_, 0, detail::align_up(bytes));
    }
    memory(memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    memory& operator=(memory&& other) noexcept {
      std::swap(data_, other.data_);
      std::swap(size_, other.size_);
      return *this;
    }
    ~memory() { ::operator delete(data_, std::align_val_t{detail::block_alignment(size_)}); }

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    friend class queue;
    struct unset {};
    memory(std::size_t bytes, unset) : data_(allocate(bytes)), size_(bytes) {}

    static std::byte* allocate(std::size_t bytes) {
      if (bytes == 0) return nullptr;
      void* block = nullptr;
      try {
        block = ::operator new(detail::align_up(bytes), std::align_val_t{detail::block_alignment(bytes)});
      } catch (const std::bad_alloc&) {
        throw device_error("cpu: expected memory for " + std::to_string(bytes) + " bytes (" + std::to_string(bytes >> 20) +
                           " MiB), found less; take a smaller batch or network, or a checkpoint<> that stores less");
      }
      detail::ask_for_huge_pages(block, bytes);
      return static_cast<std::byte*>(block);
    }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
  };

  using host_memory = memory;

  // All are defined after the queue: in C++23 clang needs its size where one of them is defined.
  cpu();
  explicit cpu(options wanted);
  cpu(cpu&&) noexcept;
  cpu& operator=(cpu&&) noexcept;
  ~cpu();

  queue& compute() { return *queue_; }
  queue& transfers() { return *queue_; }
  memory allocate(std::size_t bytes) { return memory(bytes); }
  host_memory staging(std::size_t bytes) { return memory(bytes); }

  // The scratch memory of a cpu of so many threads.
  static constexpr std::size_t scratch_bytes(std::size_t threads);

private:
  std::unique_ptr<queue> queue_; // on the heap, so that a cpu can move while ops hold a reference to its queue
};

// The queue that ops are put on. One thread at a time may use it.
class cpu::queue : public ops::queue {
public:
  static constexpr bool shares_memory = true;

  // The scratch memory of each thread, for packing and partial results during one op.
  static constexpr std::size_t scratch_bytes = 4_MiB;

  explicit queue(std::size_t threads)
      : threads_(threads == 0 ? 1 : threads), own_(threads_ * scratch_bytes, memory::unset{}), scratch_(own_.data()),
        workers_(threads_ > 1 ? std::make_unique<detail::workers>(threads_ - 1) : nullptr) {
    static_cast<void>(detail::widest_instruction_set()); // reports a wrong CAIRN_ISA here, not in a thread of an op
  }
  // Of one thread, with scratch memory that the caller has, 64-byte aligned. Nothing is allocated.
  explicit queue(std::span<std::byte, scratch_bytes> scratch) : threads_(1), scratch_(scratch.data()) {
    static_cast<void>(detail::widest_instruction_set());
  }

  std::size_t threads() const { return threads_; }

  // Calls f(part, scratch) for every part in [0, parts), on up to threads() threads at once; returns when all are done. With
  // one thread or one part it is a plain loop. The scratch is a std::span<std::byte> of scratch_bytes, 64-byte aligned, its
  // contents undefined; f must not call parallel_for. An exception thrown by a part reaches the caller.
  template <class F>
  void parallel_for(std::size_t parts, F&& f) {
    if (parts <= 1 || threads_ == 1) {
      for (std::size_t part = 0; part < parts; ++part) f(part, scratch(0));
      return;
    }
    struct job {
      std::remove_reference_t<F>* function;
      queue* self;
    } todo{&f, this};
    const auto part = [](void* context, std::size_t index, std::size_t thread) {
      const job& given = *static_cast<job*>(context);
      (*given.function)(index, given.self->scratch(thread));
    };
    workers_->run(parts, part, &todo);
  }

  // Measures work on this queue by the host's clock, as an op is done when its call returns.
  class stopwatch {
  public:
    static constexpr std::int64_t least = 200; // reading the clock takes about 25
    stopwatch(queue&, std::size_t most) { places_.reserve(most); }
    std::size_t mark() { return places_.push_back(clock::now()), places_.size() - 1; }
    std::int64_t nanoseconds(std::size_t k) const {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(places_[k] - places_[0]).count();
    }
    void restart() { places_.clear(); }

  private:
    using clock = std::chrono::steady_clock;
    std::vector<clock::time_point> places_;
  };

  event record() { return {}; }
  void wait(const event&) {}
  bool reached(const event&) const { return true; }
  void finish() const {}

private:
  std::span<std::byte> scratch(std::size_t thread) const { return {scratch_ + thread * scratch_bytes, scratch_bytes}; }

  std::size_t threads_;
  memory own_; // not zeroed: pages that no op touches are never allocated
  std::byte* scratch_;
  std::unique_ptr<detail::workers> workers_;
};

constexpr std::size_t cpu::scratch_bytes(std::size_t threads) { return threads * queue::scratch_bytes; }
inline cpu::cpu() : cpu(options{1}) {}
inline cpu::cpu(options wanted) : queue_(std::make_unique<queue>(wanted.threads)) {}
inline cpu::cpu(cpu&&) noexcept = default;
inline cpu& cpu::operator=(cpu&&) noexcept = default;
inline cpu::~cpu() = default;

static_assert(device<cpu>);

} // namespace cairn
