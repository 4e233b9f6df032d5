// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// The work that a rank makes its calls for, so that an error can name it.
struct call_purpose {
  const char* word = nullptr; // a string literal, such as "save_state"; null: the program's own calls
  std::uint64_t number = 0;   // the number of the step, from 1; 0: none
  bool may_take_long = false; // a rank may work alone meanwhile, as it reads data or writes a file

  std::string text() const {
    std::string told = word == nullptr ? "" : word;
    if (number > 0) told += " " + std::to_string(number);
    return told;
  }
};

} // namespace cairn::types

namespace cairn::detail {

// A communicator with purpose(next), which sets the purpose of the next calls and returns the previous one.
template <class C>
concept learns_purposes = requires(C& comm, const call_purpose& next) {
  { comm.purpose(next) } -> std::same_as<call_purpose>;
};

// Sets the purpose of this rank's calls, and restores the previous one when it is destroyed.
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

} // namespace cairn::detail
