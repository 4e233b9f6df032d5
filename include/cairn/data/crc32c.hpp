// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn::detail {

// The remainder of every byte by Castagnoli's polynomial (0x1EDC6F41, here with its bits reversed): the table of a bytewise
// CRC-32C.
constexpr std::array<std::uint32_t, 256> make_crc32c_table() {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t byte = 0; byte < out.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1U ^ ((rest & 1U) != 0 ? 0x82F63B78U : 0U);
    out[byte] = rest;
  }
  return out;
}
inline constexpr std::array<std::uint32_t, 256> crc32c_table = make_crc32c_table();

// CRC-32C (RFC 3720, appendix B.4) of some bytes. About 400 MB/s: enough for records of a few hundred bytes, so that an
// instruction set's own crc32 is not worth its code.
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t rest = ~std::uint32_t{0};
  for (const char c : bytes) rest = crc32c_table[(rest ^ static_cast<unsigned char>(c)) & 0xFFU] ^ rest >> 8U;
  return ~rest;
}

// The same, masked as TensorFlow's record files store it: the checksum of bytes that contain a checksum would otherwise be
// weak.
constexpr std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return (sum >> 15U | sum << 17U) + 0xA282EAD8U;
}

} // namespace cairn::detail
