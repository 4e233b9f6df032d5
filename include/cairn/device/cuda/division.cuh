// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// Division by a number that is known to the host but not to the compiler, as for finding the place of an element. A GPU has no
// instruction for it: a division takes some twenty instructions, and a hundred for 64 bits. Below 2^31 it is a multiplication,
// an addition and a shift here (Granlund, Montgomery: Division by invariant integers using multiplication. PLDI 1994).
class divisor {
public:
  divisor() = default;
  divisor(std::size_t by) : by_(by) {
    if (by == 0 || by >= limit) return;
    while ((std::size_t{1} << shift_) < by) ++shift_;
    multiplier_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - by) << 32) / by + 1);
  }

  CAIRN_HOST_DEVICE std::size_t of(std::size_t n) const {
    if ((n | by_) >= limit) return n / by_;
    const auto low = static_cast<std::uint32_t>(n);
    return (static_cast<std::uint32_t>(std::uint64_t{low} * multiplier_ >> 32) + low) >> shift_;
  }
  // The same in 32 bits, for n and a divisor below 2^31.
  CAIRN_HOST_DEVICE std::uint32_t of_small(std::uint32_t n) const {
    return (static_cast<std::uint32_t>(std::uint64_t{n} * multiplier_ >> 32) + n) >> shift_;
  }
  CAIRN_HOST_DEVICE std::uint32_t small() const { return static_cast<std::uint32_t>(by_); }
  CAIRN_HOST_DEVICE std::size_t rest(std::size_t n, std::size_t quotient) const { return n - quotient * by_; }
  CAIRN_HOST_DEVICE std::size_t by() const { return by_; }

private:
  static constexpr std::size_t limit = std::size_t{1} << 31;
  std::size_t by_ = 1;
  std::uint32_t multiplier_ = 1, shift_ = 0;
};

} // namespace cairn::detail
