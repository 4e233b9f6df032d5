// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstdint>
#include <exception>
#include <utility>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// A pending: a call of a communicator that its owner identifies by a number. The owner has
//   void wait(call) or void wait(call, queue)   blocks until the result is there, and throws if there will be none
//   bool over(call) const                       whether the result is there already
//   void drop(call)                             the pending is destroyed before wait: nothing may use its span after this call
//   bool failed() const                         whether calls have failed, so that none needs to be waited for
template <class Owner>
class [[nodiscard]] numbered_call {
public:
  numbered_call() = default;
  numbered_call(Owner& owner, std::uint64_t call) : owner_(&owner), call_(call) {}
  numbered_call(numbered_call&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), call_(other.call_) {}
  numbered_call& operator=(numbered_call&& other) noexcept {
    const numbered_call replaced(std::move(*this)); // replacing an open one is a mistake of its owner: its destructor reports it
    owner_ = std::exchange(other.owner_, nullptr);
    call_ = other.call_;
    return *this;
  }
  ~numbered_call() {
    if (owner_ == nullptr) return;
    assert((owner_->failed() || std::uncaught_exceptions() > 0) && "cairn: a pending was never waited for");
    owner_->drop(call_);
  }

  // Blocks until the result is there. Throws rank_lost if the call failed, input_error if the ranks make different calls,
  // deadline_error after the deadline.
  template <class Queue>
  void wait(Queue& queue) {
    Owner* const owner = std::exchange(owner_, nullptr);
    if (owner == nullptr) return;
    if constexpr (requires { owner->wait(call_, queue); }) owner->wait(call_, queue);
    else owner->wait(call_);
  }
  // Whether wait would return at once.
  bool over() const { return owner_ == nullptr || owner_->over(call_); }

private:
  Owner* owner_ = nullptr;
  std::uint64_t call_ = 0;
};

} // namespace cairn::detail
