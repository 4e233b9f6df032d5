// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cairn/device/wait_on_host.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/step/step_counters.hpp>

namespace cairn::detail {

// A copy in host memory of everything that a trainer's steps change: parameters, buffers, the optimizer's states, gradients
// and counters. give_back() undoes all steps since, bit for bit. So does the destructor, if an exception passes. Unlike a
// saved state it contains micro-batches that wait for their step, and what the program sees of the last step. It does not
// contain what the program sets itself, except the learning rate.
template <class Training>
class kept_training {
public:
  explicit kept_training(Training& t) : t_(t), counters_((t.wait_for_all(), t.counters)) {
    for (const std::span<std::byte> there : t.memory_of_steps()) {
      auto& here = blocks_.emplace_back(there.size());
      if (!here.empty()) download(t.compute(), here.size(), here.data(), static_cast<const std::byte*>(there.data()));
    }
    finish_on_host(t.compute());
  }
  kept_training(const kept_training&) = delete;
  kept_training& operator=(const kept_training&) = delete;
  // Errors are dropped here: another exception is passing, and the caller gets that one.
  ~kept_training() {
    if (is_given_back_) return;
    try {
      t_.wait_for_all();
    } catch (...) {
    }
    try {
      put_back();
    } catch (...) {
    }
  }

  // Waits first for the steps in flight, whose results would otherwise come later.
  void give_back() {
    t_.wait_for_all();
    is_given_back_ = true;
    put_back();
  }

private:
  void put_back() {
    t_.counters = counters_;
    t_.replica.changed();
    auto& queue = t_.compute();
    finish_on_host(queue);
    std::size_t next = 0;
    for (const std::span<std::byte> there : t_.memory_of_steps()) {
      const std::vector<std::byte>& here = blocks_[next++];
      if (!here.empty()) upload(queue, here.size(), there.data(), here.data());
    }
    finish_on_host(queue);
  }

  Training& t_;
  step_counters counters_;
  std::vector<std::vector<std::byte>> blocks_{};
  bool is_given_back_ = false;
};

} // namespace cairn::detail
