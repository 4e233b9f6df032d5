// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/text/utf8.hpp>

namespace cairn::files {

// A tensor in a file: its name, the type of its elements ("F32"), its extents, and the place of its bytes after the header.
struct safetensors_entry {
  std::string name;
  std::string type;
  std::vector<std::uint64_t> extents;
  std::uint64_t begin = 0, end = 0; // in bytes
};

// A tensor to be written. `bytes` are all its elements, row-major; they are not copied.
struct safetensors_source {
  std::string name;
  std::string type;
  std::vector<std::uint64_t> extents;
  std::span<const std::byte> bytes;
};

} // namespace cairn::files

namespace cairn::detail {

// The types of elements, by alignment: the name and the bits of one element.
inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 22> safetensors_types{
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}};
// The index of a type among them; their number if it is not there.
constexpr std::size_t safetensors_type(std::string_view name) {
  std::size_t i = 0;
  while (i < safetensors_types.size() && safetensors_types[i].first != name) ++i;
  return i;
}

template <class T>
inline constexpr const char* safetensors_type_of = std::is_same_v<T, double>         ? "F64"
                                                   : std::is_same_v<T, float>        ? "F32"
                                                   : std::is_same_v<T, std::int32_t> ? "I32"
                                                                                     : nullptr;

inline constexpr std::size_t safetensors_most_extents = 64; // of a tensor, as many as numpy and PyTorch have

// Appends a text in JSON. Throws input_error, which names `whose`, if it is not UTF-8.
inline void append_json(std::string& out, std::string_view text, const char* whose) {
  if (const std::size_t wrong = first_that_is_no_utf8(text); wrong != text.size())
    throw input_error(std::string("write_safetensors: expected UTF-8 as ") + whose + ", found byte " +
                      std::to_string(static_cast<unsigned char>(text[wrong])) + " at place " + std::to_string(wrong) + " of '" +
                      beginning_of(text.substr(0, wrong)) + "...'");
  constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    const std::size_t found = special.find(c);
    if (found != special.npos) (out += '\\') += letters[found];
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
    else ((out += "\\u00") += c < 0x10 ? '0' : '1') += "0123456789abcdef"[static_cast<unsigned char>(c) & 15U];
  }
  out += '"';
}

// The header of tensors in the order of their bytes. It is written by hand: a tree of it would allocate in its destructor,
// where a failure ends the process.
inline std::string safetensors_header(std::span<const safetensors_source> tensors,
                                      const std::map<std::string, std::string>& metadata) {
  std::vector<std::string_view> names;
  for (const safetensors_source& t : tensors) names.push_back(t.name);
  std::sort(names.begin(), names.end());
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":";
    char before = '{';
    for (const auto& [key, value] : metadata) {
      text += std::exchange(before, ',');
      append_json(text, key, "a name of metadata");
      text += ':';
      append_json(text, value, "metadata");
    }
    text += '}';
  }
  std::uint64_t at = 0;
  for (const safetensors_source& t : tensors) {
    const auto refuse = [&](const std::string& what) {
      throw input_error("write_safetensors: '" + beginning_of(t.name) + "' " + what);
    };
    const std::size_t type = safetensors_type(t.type);
    if (type == safetensors_types.size()) refuse("has the unknown type " + t.type);
    if (t.extents.size() > safetensors_most_extents)
      refuse("has " + std::to_string(t.extents.size()) + " extents, expected at most " +
             std::to_string(safetensors_most_extents));
    std::uint64_t bits = safetensors_types[type].second;
    for (const std::uint64_t extent : t.extents) {
      if (extent != 0 && bits > static_cast<std::uint64_t>(-1) / extent) refuse("has a shape that is too large");
      bits *= extent;
    }
    if (bits != t.bytes.size() * 8)
      refuse("has a shape of " + std::to_string(bits / 8) + " bytes, found " + std::to_string(t.bytes.size()));
    const auto [first, last] = std::equal_range(names.begin(), names.end(), std::string_view(t.name));
    if (t.name == "__metadata__" || last - first > 1) refuse("is a name that is taken");
    if (text.size() > 1) text += ',';
    append_json(text, t.name, "the name of a tensor");
    text.append(":{\"dtype\":\"").append(t.type).append("\",\"shape\":[");
    for (std::size_t i = 0; i < t.extents.size(); ++i) text.append(i == 0 ? "" : ",").append(std::to_string(t.extents[i]));
    text.append("],\"data_offsets\":[").append(std::to_string(at)).append(",");
    text.append(std::to_string(at += t.bytes.size())).append("]}");
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

} // namespace cairn::detail
