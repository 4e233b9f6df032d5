// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/device/wait_on_host.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/replica.hpp>

namespace cairn::detail {

// All that steps of a trainer change, kept in memory of the host: parameters, buffers, the optimizer's states, gradients and
// counters. give_back() undoes what was made since, bit for bit, and so does the destructor, where an exception passes. Unlike a
// saved state it has micro-batches that wait for their step, and what the program sees of the last step. What the program sets
// itself is not in it, but for the learning rate.
template <class Trainer>
class kept_training {
public:
  explicit kept_training(Trainer& train) : train_(train), numbers_(values_of((train.wait(), access::numbers_of_steps(train)))) {
    auto& queue = access::compute(train_);
    for (const std::span<std::byte> there : access::memory_of_steps(train_)) {
      auto& here = blocks_.emplace_back(there.size());
      if (!here.empty()) download(queue, here.size(), here.data(), static_cast<const std::byte*>(there.data()));
    }
    finish_on_host(queue);
  }
  kept_training(const kept_training&) = delete;
  kept_training& operator=(const kept_training&) = delete;
  // Something else has gone wrong then, and is what the caller is told.
  ~kept_training() {
    if (is_given_back_) return;
    try {
      train_.wait();
    } catch (...) {
    }
    try {
      put_back();
    } catch (...) {
    }
  }

  // Waits for the steps that are still on their way, which would tell of themselves later.
  void give_back() {
    train_.wait();
    is_given_back_ = true;
    put_back();
  }

private:
  using access = replica_access;

  template <class... Numbers>
  static std::tuple<Numbers...> values_of(const std::tuple<Numbers&...>& from) {
    return from;
  }

  void put_back() {
    access::numbers_of_steps(train_) = numbers_;
    auto& queue = access::compute(train_);
    finish_on_host(queue);
    std::size_t next = 0;
    for (const std::span<std::byte> there : access::memory_of_steps(train_)) {
      const std::vector<std::byte>& here = blocks_[next++];
      if (!here.empty()) upload(queue, here.size(), there.data(), here.data());
    }
    finish_on_host(queue);
  }

  Trainer& train_;
  decltype(values_of(access::numbers_of_steps(std::declval<Trainer&>()))) numbers_;
  std::vector<std::vector<std::byte>> blocks_{};
  bool is_given_back_ = false;
};

} // namespace cairn::detail
