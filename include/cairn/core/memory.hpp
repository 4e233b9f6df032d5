// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// Every buffer starts at a multiple of this many bytes: a cache line, and a full vector register.
inline constexpr std::size_t alignment = 64;

constexpr std::size_t align_up(std::size_t bytes, std::size_t to = alignment) { return (bytes + to - 1) / to * to; }

} // namespace cairn::detail

namespace cairn {

inline namespace literals {
constexpr std::size_t operator""_KiB(unsigned long long n) { return static_cast<std::size_t>(n) << 10; }
constexpr std::size_t operator""_MiB(unsigned long long n) { return static_cast<std::size_t>(n) << 20; }
constexpr std::size_t operator""_GiB(unsigned long long n) { return static_cast<std::size_t>(n) << 30; }
} // namespace literals

} // namespace cairn
