// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cairn::detail {

// The execution contexts of a model, one for each concurrent evaluation. A context is made when none is free, and kept for
// later calls. Any thread may take one.
//
// Only the first context may have several threads, and a call gets it only if no other call is running: concurrent calls keep
// the cores busy by themselves, and more threads than cores would delay each of them. A lock is held for a few instructions
// when a context is taken and when it is returned. This costs about 10 ns a call. The context that was returned last is taken
// first, as its memory is in the cache.
template <class Context>
class context_pool {
public:
  // `first_is_wide`: the first context has several threads.
  context_pool(std::unique_ptr<Context> first, bool first_is_wide) : first_is_wide_(first_is_wide) {
    all_.push_back(std::move(first));
    free_.reserve(all_.capacity());
    if (!first_is_wide_) free_.push_back(all_.front().get());
  }
  context_pool(const context_pool&) = delete;
  context_pool& operator=(const context_pool&) = delete;

  // Holds a context until the end of the scope, also if an exception is thrown there.
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

  // make() returns a std::unique_ptr<Context> with one thread. It is called without the lock, so that other calls go on.
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
  std::vector<Context*> free_; // without the first one if that is wide
  std::size_t in_use_ = 0;
};

} // namespace cairn::detail
