// SPDX-License-Identifier: MIT
// Several ranks whose devices are apart.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <cairn/device/cpu.hpp>

#include "apart.hpp"
#include "apart_ops.hpp"

namespace apart {

// The wait that a rank leaves out when it reduces.
enum class skips : unsigned char { nothing, the_wait_for_the_gradients, the_wait_of_the_update };

// Ranks whose devices are apart, over a communicator of the host: a bucket is summed when the queue reaches it.
template <class Inner, skips Skips = skips::nothing>
class ranks {
public:
  static constexpr std::string_view name = "apart";

  struct [[nodiscard]] ticket {
    bool open = false;
    event done{};
    void wait(queue& q) {
      if (std::exchange(open, false) && Skips != skips::the_wait_of_the_update) q.wait(done);
    }
  };

  explicit ranks(Inner& inner) : inner_(inner) {}

  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }

  template <class T>
  ticket all_reduce(queue& compute, std::span<T> span) {
    return later(compute, [this, span](cairn::cpu::queue& processor) {
      auto sent = inner_.all_reduce(processor, std::span<T>{at(span.data()), span.size()});
      sent.wait(processor);
    });
  }
  ticket broadcast(queue& compute, std::span<std::byte> bytes, int root) {
    return later(compute, [this, bytes, root](cairn::cpu::queue& processor) {
      auto sent = inner_.broadcast(processor, std::span<std::byte>{at(bytes.data()), bytes.size()}, root);
      sent.wait(processor);
    });
  }
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
    if (own_ != nullptr) own_->finish(); // all ranks make their calls in one order
    inner_.exchange(own, all);
  }
  void recover()
    requires requires(Inner& inner) { inner.recover(); }
  {
    inner_.recover();
  }

private:
  template <class Op>
  ticket later(queue& compute, Op op) {
    if (own_ == nullptr) own_ = std::make_unique<queue>(compute.all());
    if (Skips != skips::the_wait_for_the_gradients) own_->wait(compute.record());
    own_->put(std::move(op));
    return {true, own_->record()};
  }

  Inner& inner_;
  std::unique_ptr<queue> own_;
};

} // namespace apart
