// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// Memory provided by a communicator, which sums spans in it without copying them first. It is 64-byte aligned and zero at first.
// It is given back when it is destroyed, which must be before the communicator is. An empty one has no bytes: the communicator
// provides none, and the caller uses memory of its own.
class lent_memory {
public:
  lent_memory() = default;
  // `owner` keeps these bytes alive.
  lent_memory(std::shared_ptr<void> owner, std::byte* data, std::size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

private:
  std::shared_ptr<void> owner_{};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace cairn::types

namespace cairn::detail {

template <class C>
concept lends_memory = requires(C& c, std::size_t bytes) {
  { c.allocate(bytes) } -> std::same_as<lent_memory>;
};

// Returns memory of the communicator, empty if it provides none. All ranks call it.
template <class C>
lent_memory ask_for_memory([[maybe_unused]] C& comm, [[maybe_unused]] std::size_t bytes) {
  if constexpr (lends_memory<C>) return comm.allocate(bytes);
  else return {};
}

} // namespace cairn::detail
