// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cairn::detail {

// The execution contexts of a model: one for each evaluation that goes on at the same time, made when there is none to give
// and kept for the next. Any thread may take one.
//
// A context on several threads is the first one alone, and only a call that finds no other under way has it: many calls at
// once keep the cores busy, and more threads than cores would make each of them late. One lock is held for a few
// instructions when a context is taken and when it comes back; the one that came back last is taken first, as its memory is
// in the cache. It costs some 10 ns a call.
template <class Context>
class context_pool {
public:
  // first_is_wide: it has several threads.
  context_pool(std::unique_ptr<Context> first, bool first_is_wide) : first_is_wide_(first_is_wide) {
    all_.push_back(std::move(first));
    free_.reserve(all_.capacity());
    if (!first_is_wide_) free_.push_back(all_.front().get());
  }
  context_pool(const context_pool&) = delete;
  context_pool& operator=(const context_pool&) = delete;

  // A context until the end of the scope, whatever is thrown there.
  class [[nodiscard]] lease {
  public:
    lease(context_pool& pool, Context& own) : pool_(pool), own_(own) {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() { pool_.give_back(own_); }

    Context& operator*() const { return own_; }
    Context* operator->() const { return &own_; }

  private:
    context_pool& pool_;
    Context& own_;
  };

  // make() gives a std::unique_ptr<Context> with one thread. It is called without the lock: other calls go on meanwhile.
  template <class Make>
  lease take(const Make& make) {
    if (Context* const own = take_free()) return {*this, *own};
    return {*this, add(make())};
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }
  std::size_t in_use() const {
    const std::lock_guard lock(mutex_);
    return in_use_;
  }

private:
  Context* take_free() {
    const std::lock_guard lock(mutex_);
    Context* own = nullptr;
    if (first_is_wide_ && in_use_ == 0) {
      own = all_.front().get();
    } else if (!free_.empty()) {
      own = free_.back();
      free_.pop_back();
    }
    if (own != nullptr) ++in_use_;
    return own;
  }
  Context& add(std::unique_ptr<Context> made) {
    const std::lock_guard lock(mutex_);
    all_.reserve(all_.size() + 1);
    free_.reserve(all_.size() + 1); // so that giving back allocates nothing
    all_.push_back(std::move(made));
    ++in_use_;
    return *all_.back();
  }
  void give_back(Context& own) noexcept {
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (!first_is_wide_ || &own != all_.front().get()) free_.push_back(&own);
  }

  const bool first_is_wide_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> all_;
  std::vector<Context*> free_; // but for a wide one
  std::size_t in_use_ = 0;
};

} // namespace cairn::detail
