// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <cairn/train/learning_rate.hpp>

namespace cairn {

// Any learning rate schedule, as a trainer keeps it: training_options{.learning_rate = cosine_rate{...}}. A schedule is a
// small value that can be copied byte by byte, so none is ever allocated. Without one, the optimizer's rate holds.
class rate_schedule {
public:
  rate_schedule() = default;
  template <class S>
    requires(!std::is_same_v<S, rate_schedule> && learning_rate_schedule<S>)
  rate_schedule(const S& schedule)
      : at_([](const void* self, std::uint64_t step) { return static_cast<const S*>(self)->at(step); }) {
    static_assert(sizeof(S) <= room && std::is_trivially_copyable_v<S> && alignof(S) <= alignof(double),
                  "rate_schedule: a learning rate schedule is a value of at most 64 bytes that can be copied byte by byte");
    if constexpr (sizeof(S) <= room) ::new (static_cast<void*>(bytes_)) S(schedule);
  }

  explicit operator bool() const { return at_ != nullptr; }
  double at(std::uint64_t step) const { return at_(bytes_, step); }

private:
  static constexpr std::size_t room = 64;

  alignas(double) unsigned char bytes_[room]{};
  double (*at_)(const void*, std::uint64_t) = nullptr;
};

} // namespace cairn
