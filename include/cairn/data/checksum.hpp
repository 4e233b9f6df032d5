// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// A hash of some bytes, at the speed of memory: equal bytes have equal hashes. Others have the same one with a chance of one
// in 2^64, unless they are made on purpose. It takes eight words at a time, each in a lane of its own: one lane would wait
// for its multiplication. The bytes may come in pieces; all but the last must have a multiple of 64 bytes.
class quick_hash {
public:
  void add(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    std::size_t i = 0;
    for (; i + block <= bytes.size(); i += block) mix(bytes.data() + i);
    if (i == bytes.size()) return;
    std::array<std::byte, block> last{}; // padded with zeros; the size distinguishes it from one that has them
    std::memcpy(last.data(), bytes.data() + i, bytes.size() - i);
    mix(last.data());
  }
  std::uint64_t value() const {
    std::uint64_t all = size_;
    for (const std::uint64_t s : state_) all = std::rotl((all ^ s) * factor, 31);
    return all;
  }

private:
  static constexpr std::size_t lanes = 8, block = lanes * sizeof(std::uint64_t);
  static constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U; // 2^64 over the golden ratio

  void mix(const std::byte* from) {
    std::array<std::uint64_t, lanes> words{};
    std::memcpy(words.data(), from, block);
    for (std::size_t k = 0; k < lanes; ++k) state_[k] = std::rotl((state_[k] ^ words[k]) * factor, 31);
  }

  std::array<std::uint64_t, lanes> state_{1, 2, 3, 4, 5, 6, 7, 8};
  std::uint64_t size_ = 0;
};

inline std::uint64_t quick_checksum(std::span<const std::byte> bytes) {
  quick_hash all;
  all.add(bytes);
  return all.value();
}

} // namespace cairn::detail
