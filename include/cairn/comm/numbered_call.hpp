// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstdint>
#include <exception>
#include <utility>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// A pending: a call of a communicator that its owner knows by a number. The owner has
//   void wait(call) or void wait(call, queue)   blocks until the sum is there, and throws if there will be none
//   bool over(call) const                       whether the sum is there already
//   void drop(call)                             an exception destroys the pending unwaited: nobody may touch its span any more
//   bool failed() const                         whether calls have failed, so that none needs to be waited for
template <class Owner>
class [[nodiscard]] numbered_call {
public:
  numbered_call() = default;
  numbered_call(Owner& owner, std::uint64_t call) : owner_(&owner), call_(call) {}
  numbered_call(numbered_call&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), call_(other.call_) {}
  numbered_call& operator=(numbered_call&& other) noexcept {
    const numbered_call replaced(std::move(*this)); // one that is open is a mistake of its owner, which its destructor tells
    owner_ = std::exchange(other.owner_, nullptr);
    call_ = other.call_;
    return *this;
  }
  ~numbered_call() {
    if (owner_ == nullptr) return;
    assert((owner_->failed() || std::uncaught_exceptions() > 0) && "cairn: a pending was never waited for");
    owner_->drop(call_);
  }

  // Blocks until the sum is there. Throws rank_lost when the call failed, deadline_error when the deadline is over.
  template <class Queue>
  void wait(Queue& queue) {
    Owner* const owner = std::exchange(owner_, nullptr);
    if (owner == nullptr) return;
    if constexpr (requires { owner->wait(call_, queue); }) owner->wait(call_, queue);
    else owner->wait(call_);
  }
  // Whether wait would not block.
  bool over() const { return owner_ == nullptr || owner_->over(call_); }

private:
  Owner* owner_ = nullptr;
  std::uint64_t call_ = 0;
};

} // namespace cairn::detail
