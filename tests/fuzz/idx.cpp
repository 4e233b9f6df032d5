// SPDX-License-Identifier: MIT
// IDX: bytes and a file of the same bytes are read alike, by the type that the file has and by no other.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <cairn/data/idx.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

template <class T>
bool both(const std::string& path, std::span<const std::uint8_t> bytes) {
  files::idx_array<T> a, b;
  const bool from_memory = fuzzing::reads(path, [&] { a = files::parse_idx<T>(bytes, path); });
  const bool from_file = fuzzing::reads(path, [&] { b = files::read_idx<T>(path); });
  fuzzing::require(from_memory == from_file, "a file is read if and only if its bytes are");
  if (!from_file) return false;
  const bool same = a.samples == b.samples && a.sample_shape == b.sample_shape && a.values.size() == b.values.size() &&
                    (a.values.empty() || std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(T)) == 0);
  fuzzing::require(same, "a file gives what its bytes give");
  fuzzing::require(a.values.size() == a.samples * a.sample_shape.size(), "there are as many values as the extents say");
  return true;
}

} // namespace

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t> bytes) {
  // By the type that the third byte says: each refusal is an exception, which under a sanitizer takes the most time by far.
  const auto check = [&]<class T, class Other>(T, Other) {
    if (!both<T>(path, bytes)) return;
    require(!reads(path, [&] { files::parse_idx<Other>(bytes, path); }), "a file has one type");
  };
  switch (bytes.size() > 2 ? bytes[2] : 0) {
  case 0x09: return check(std::int8_t{}, std::uint8_t{});
  case 0x0b: return check(std::int16_t{}, std::int8_t{});
  case 0x0c: return check(std::int32_t{}, float{});
  case 0x0d: return check(float{}, std::int32_t{});
  case 0x0e: return check(double{}, float{});
  default: return check(std::uint8_t{}, std::int8_t{});
  }
}

void fuzzing::write_seeds(const std::string& folder) {
  const auto file = [](char code, const std::string& extents, std::size_t bytes) {
    return std::string("\0\0", 2) + code + static_cast<char>(extents.size()) + [&] {
      std::string out;
      for (const char e : extents) out += std::string("\0\0\0", 3) + e;
      return out;
    }() + std::string(bytes, '\x3f');
  };
  write_seed(folder + "labels", file('\x08', "\x05", 5));
  write_seed(folder + "images", file('\x08', "\x02\x03\x04", 24));
  write_seed(folder + "bytes", file('\x09', "\x04", 4));
  write_seed(folder + "shorts", file('\x0b', "\x03\x02", 12));
  write_seed(folder + "integers", file('\x0c', "\x02\x02", 16));
  write_seed(folder + "floats", file('\x0d', "\x03", 12));
  write_seed(folder + "doubles", file('\x0e', "\x01\x02", 16));
  write_seed(folder + "cut", file('\x0d', "\x03", 11));
}
