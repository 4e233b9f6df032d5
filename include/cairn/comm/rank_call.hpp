// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/comm/call_purpose.hpp>

namespace cairn::detail {

class memory_of_ranks;

// The arguments of one rank's call.
struct rank_call {
  enum class kind : unsigned char { sum_float, sum_double, broadcast, exchange };

  kind what = kind::broadcast;
  int root = 0;              // of a broadcast
  void* data = nullptr;      // this rank's span; for an exchange the bytes of all ranks
  std::size_t count = 0;     // elements; bytes for a broadcast, bytes of one rank for an exchange
  const void* own = nullptr; // the bytes that this rank gives to an exchange
  // The memory of a sum's span, if all ranks can access it; else null.
  const memory_of_ranks* reached = nullptr;
  call_purpose purpose{};

  bool matches(const rank_call& other) const { return what == other.what && root == other.root && count == other.count; }
  std::size_t element_bytes() const {
    if (what == kind::broadcast || what == kind::exchange) return 1;
    return what == kind::sum_float ? sizeof(float) : sizeof(double);
  }
  std::string text() const {
    const std::string size = std::to_string(count);
    if (what == kind::broadcast) return "broadcast of " + size + " bytes from rank " + std::to_string(root);
    if (what == kind::exchange) return "exchange of " + size + " bytes";
    return "all_reduce of " + size + (what == kind::sum_float ? " float" : " double");
  }
  // The same text with the purpose.
  std::string text_with_purpose() const { return purpose.word == nullptr ? text() : text() + " (" + purpose.text() + ")"; }
};

} // namespace cairn::detail
