// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <cairn/core/config.hpp>

// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), in which an ONNX file is written. Rejected:
// Google's library, which generates classes and links a shared library for what is four kinds of fields here.
namespace cairn::detail {

// The fields of one message, in the order in which they are added. A field is its number and wire type, then its value.
class protobuf_message {
public:
  // An integer, a boolean or an enumeration. A negative number is its two's complement of 64 bits, as of int32 and int64.
  protobuf_message& integer(unsigned field, std::int64_t value) {
    key(field, wire::varint);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  // A float.
  protobuf_message& real(unsigned field, float value) {
    key(field, wire::four_bytes);
    for (auto bits = std::bit_cast<std::uint32_t>(value), k = 0U; k < 4; ++k, bits >>= 8U)
      bytes_ += static_cast<char>(bits & 0xFFU);
    return *this;
  }
  // A string, bytes, or a message that is part of this one.
  protobuf_message& text(unsigned field, std::string_view value) {
    begin(field, value.size());
    bytes_ += value;
    return *this;
  }
  protobuf_message& part(unsigned field, const protobuf_message& value) { return text(field, value.bytes_); }
  // The same without its bytes, of which there are `size`: they have to follow those of this message.
  protobuf_message& begin(unsigned field, std::uint64_t size) {
    key(field, wire::with_length);
    varint(size);
    return *this;
  }
  // Appends the fields of another message, or the bytes that begin() has announced.
  protobuf_message& append(const protobuf_message& more) { return append(more.bytes_); }
  protobuf_message& append(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

private:
  enum class wire : unsigned char { varint = 0, with_length = 2, four_bytes = 5 };

  void key(unsigned field, wire type) { varint(std::uint64_t{field} << 3U | static_cast<unsigned>(type)); }
  // Seven bits in each byte, the lowest first; all but the last have the highest bit.
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

} // namespace cairn::detail
