// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/train/optimizers/learning_rate.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

struct rate_message {
  template <class Rate>
  static constexpr bool right() {
    static_assert(is_right<Rate>, "trainer: the option learning_rate takes a number or a schedule such as cosine_rate{...}: a "
                                  "type with double at(std::uint64_t step) const; see wrong_rate<found>");
    return false;
  }
};
template <class Found>
struct wrong_rate : rate_message {};

} // namespace cairn::detail

namespace cairn {

// Holds any learning rate schedule in the options of a trainer: training_options{.learning_rate = cosine_rate{...}}. A schedule
// is a small value that can be copied byte by byte, so it needs no allocation. A number is the same rate in every step. Without
// either, the optimizer's rate holds.
//
// A resumed run has to have the same schedule. Rates of future steps are not compared, as a schedule may know only those of steps
// that have been made. It is identified by its type and settings(), or else by its type and bytes. A schedule that points at its
// numbers therefore needs settings().
class rate_schedule {
public:
  rate_schedule() noexcept {} // not defaulted: g++ 12 fails on a default argument that holds one, in a member of a class
  rate_schedule(double rate) : rate_schedule(constant_rate{rate}) {}
  template <class S>
    requires(!std::is_same_v<S, rate_schedule> && !std::is_arithmetic_v<S>)
  rate_schedule(const S& schedule) {
    if constexpr (!learning_rate_schedule<S>) detail::refuse<detail::wrong_rate<S>>();
    else {
      static_assert(sizeof(S) <= room && std::is_trivially_copyable_v<S> && alignof(S) <= alignof(double),
                    "rate_schedule: a learning rate schedule is a value of at most 256 bytes that can be copied byte by byte");
      at_ = [](const void* self, std::uint64_t step) { return static_cast<const S*>(self)->at(step); };
      text_ = [](const void* self, bool by_bytes) { return text_of(*static_cast<const S*>(self), by_bytes); };
      if constexpr (sizeof(S) <= room) clear_padding(::new (static_cast<void*>(bytes_)) S(schedule));
    }
  }

  explicit operator bool() const { return at_ != nullptr; }
  double at(std::uint64_t step) const { return at_(bytes_, step); }
  // Returns the type and settings, such as "cosine_rate(0.1, 1000, 0, 0.33, 0)". Without settings() it is the type and, if
  // `by_bytes`, a checksum of the bytes.
  std::string text(bool by_bytes = true) const { return at_ == nullptr ? "none" : text_(bytes_, by_bytes); }

private:
  template <class S>
  static std::string text_of(const S& schedule, bool by_bytes) {
    std::string out = detail::with_numbers(schedule);
    if (!detail::has_settings<S> && by_bytes)
      out += " of bytes " + std::to_string(detail::quick_checksum(std::as_bytes(std::span{&schedule, 1})));
    return out;
  }
  // Clears the padding, which may have any value. (If the compiler cannot do that, a schedule with padding needs settings().)
  template <class S>
  static void clear_padding([[maybe_unused]] S* schedule) {
#if defined(__has_builtin) && !defined(__CUDACC__)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(schedule);
#endif
#endif
  }

  static constexpr std::size_t room = 256;

  alignas(double) unsigned char bytes_[room]{};
  double (*at_)(const void*, std::uint64_t) = nullptr;
  std::string (*text_)(const void*, bool) = nullptr;
};

} // namespace cairn

namespace cairn::detail {

// Whether another optimizer changes the learning rate. Throws input_error if a schedule gives the rates.
inline bool is_another_rate(bool is_scheduled, double before, double rate) {
  if (rate == before) return false;
  if (is_scheduled)
    throw input_error("trainer::optimizer: expected the learning_rate " + shortest_text(before) +
                      " of the optimizer before, as a schedule was given in the options, found " + shortest_text(rate) +
                      "; call learning_rate(...) to leave the schedule");
  return true;
}

} // namespace cairn::detail
