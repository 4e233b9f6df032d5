// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>

#include <cairn/core/error.hpp>

namespace cairn::detail {

// Guards an object that one thread at a time may use. A second thread gets an input_error before it touches anything; the same
// thread may enter again, as a callback does. It costs one exchange of an atomic and a store.
class one_thread {
public:
  // While it lives, this thread is inside.
  class visit {
  public:
    visit(one_thread& place, const char* what) : place_(place) {
      const void* nobody = nullptr;
      if (place.inside_.compare_exchange_strong(nobody, own_mark(), std::memory_order_acquire, std::memory_order_relaxed))
        is_first_ = true;
      else if (nobody != own_mark())
        throw input_error(std::string(what) + ": expected one thread at a time, found that another one is inside; a trainer " +
                          "belongs to one thread, so give each thread its own, or let them take turns behind a mutex");
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() {
      if (is_first_) place_.inside_.store(nullptr, std::memory_order_release);
    }

  private:
    one_thread& place_;
    bool is_first_ = false;
  };

private:
  // An address that no other thread has.
  static const void* own_mark() {
    static thread_local char mark = 0;
    return &mark;
  }

  std::atomic<const void*> inside_{nullptr};
};

} // namespace cairn::detail
