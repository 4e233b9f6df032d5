// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <cairn/core/config.hpp>

namespace cairn {

// The work that a rank makes its calls for, so that an error can name it.
struct call_purpose {
  const char* word = nullptr; // a string literal, such as "save_state"; null: the program's own calls
  std::uint64_t number = 0;   // of the step, from 1; 0: it has none
  bool may_take_long = false; // other ranks work alone meanwhile: reading data, writing a file

  std::string text() const {
    std::string told = word == nullptr ? "" : word;
    if (number > 0) told += " " + std::to_string(number);
    return told;
  }
};

namespace detail {

// A communicator that wants to know it: purpose() returns the one before.
template <class C>
concept learns_purposes = requires(C& comm, const call_purpose& next) {
  { comm.purpose(next) } -> std::same_as<call_purpose>;
};

// While it lives, the calls of this rank are made for this purpose.
template <class C>
class calls_for {
public:
  calls_for([[maybe_unused]] C& comm, [[maybe_unused]] const call_purpose& now) {
    if constexpr (learns_purposes<C>) {
      comm_ = &comm;
      before_ = comm.purpose(now);
    }
  }
  calls_for(const calls_for&) = delete;
  calls_for& operator=(const calls_for&) = delete;
  ~calls_for() {
    if constexpr (learns_purposes<C>) comm_->purpose(before_);
  }

private:
  struct nothing {};
  [[no_unique_address]] std::conditional_t<learns_purposes<C>, C*, nothing> comm_{};
  [[no_unique_address]] std::conditional_t<learns_purposes<C>, call_purpose, nothing> before_{};
};

} // namespace detail
} // namespace cairn
