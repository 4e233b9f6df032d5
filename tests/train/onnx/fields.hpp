// SPDX-License-Identifier: MIT
// Reads the fields of a protocol buffer's message, independently of the writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tests {

struct field {
  unsigned number = 0;
  std::uint64_t integer = 0; // of a field without a length
  std::string text{};        // of a field with one
};

class fields {
public:
  explicit fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t key = varint(bytes);
      field next{.number = static_cast<unsigned>(key >> 3U)};
      if ((key & 7U) == 0) next.integer = varint(bytes);
      else if ((key & 7U) == 2) next.text = taken(bytes, varint(bytes));
      else if ((key & 7U) == 5) {
        const std::string four = taken(bytes, 4);
        for (std::size_t k = 4; k-- > 0;) next.integer = next.integer << 8U | static_cast<unsigned char>(four[k]);
      } else throw std::runtime_error("a wire type that ONNX does not have");
      all_.push_back(next);
    }
  }

  std::vector<std::string> texts(unsigned number) const {
    std::vector<std::string> out;
    for (const field& f : all_)
      if (f.number == number) out.push_back(f.text);
    return out;
  }
  std::vector<std::uint64_t> integers(unsigned number) const {
    std::vector<std::uint64_t> out;
    for (const field& f : all_)
      if (f.number == number) out.push_back(f.integer);
    return out;
  }
  std::string text(unsigned number) const { return texts(number).at(0); }
  std::uint64_t integer(unsigned number) const { return integers(number).at(0); }
  fields part(unsigned number, std::size_t k = 0) const { return fields(texts(number).at(k)); }
  std::size_t count() const { return all_.size(); }

private:
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t out = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (bytes.empty() || shift > 63) throw std::runtime_error("an integer that does not end");
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return out;
    }
  }
  static std::string taken(std::string_view& bytes, std::uint64_t size) {
    if (size > bytes.size()) throw std::runtime_error("a field that is longer than its message");
    const std::string out(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return out;
  }

  std::vector<field> all_;
};

} // namespace onnx_tests
