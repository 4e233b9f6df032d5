// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include <cairn/core/config.hpp>

namespace cairn {

// Memory that a communicator lends: it sums spans which lie there without copying them to itself first. 64-byte aligned and zero
// at first; given back when it is destroyed, which must be before the communicator is. An empty one has no bytes: there is
// nothing to lend, and the borrower takes memory of its own.
class lent_memory {
public:
  lent_memory() = default;
  // These bytes live as long as their owner.
  lent_memory(std::shared_ptr<void> owner, std::byte* data, std::size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

private:
  std::shared_ptr<void> owner_{};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

template <class C>
concept lends_memory = requires(C& c, std::size_t bytes) {
  { c.allocate(bytes) } -> std::same_as<lent_memory>;
};

// What the communicator lends, or nothing. All ranks ask for it.
template <class C>
lent_memory ask_for_memory([[maybe_unused]] C& comm, [[maybe_unused]] std::size_t bytes) {
  if constexpr (lends_memory<C>) return comm.allocate(bytes);
  else return {};
}

} // namespace detail

} // namespace cairn
