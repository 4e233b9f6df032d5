// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/file.hpp>

namespace cairn::files {

// The IDX format of the MNIST files, all numbers big-endian:
//   bytes 0, 1        0
//   byte  2           type of an element: 0x08 uint8, 0x09 int8, 0x0B int16, 0x0C int32, 0x0D float, 0x0E double
//   byte  3           number of extents
//   bytes 4 …         the extents, 32 bits each, none of them 0; the first one counts samples
//   then              the elements, row after row, and nothing after them

// The contents of an IDX file: `samples` samples of one shape, one after another.
template <class T>
struct idx_array {
  std::size_t samples = 0;
  shape sample_shape{};
  std::vector<T> values; // (samples, sample_shape)
};

} // namespace cairn::files

namespace cairn::detail {

template <class T>
concept idx_element = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> || std::same_as<T, std::int16_t> ||
                      std::same_as<T, std::int32_t> || std::same_as<T, float> || std::same_as<T, double>;

template <idx_element T>
inline constexpr unsigned idx_code = std::same_as<T, std::uint8_t>   ? 0x08
                                     : std::same_as<T, std::int8_t>  ? 0x09
                                     : std::same_as<T, std::int16_t> ? 0x0B
                                     : std::same_as<T, std::int32_t> ? 0x0C
                                     : std::same_as<T, float>        ? 0x0D
                                                                     : 0x0E;

inline std::string idx_type_name(unsigned code) {
  switch (code) {
  case 0x08: return "uint8 (0x08)";
  case 0x09: return "int8 (0x09)";
  case 0x0B: return "int16 (0x0b)";
  case 0x0C: return "int32 (0x0c)";
  case 0x0D: return "float (0x0d)";
  case 0x0E: return "double (0x0e)";
  default: return "the unknown type " + std::to_string(code);
  }
}

// Reads one number by shifts, independent of the machine's byte order and of alignment.
template <std::unsigned_integral U>
constexpr U big_endian(const std::uint8_t* from) {
  U number = 0;
  for (std::size_t i = 0; i < sizeof(U); ++i) number = static_cast<U>((std::uint64_t{number} << 8) | from[i]);
  return number;
}

template <class T>
constexpr T idx_value(const std::uint8_t* from) {
  if constexpr (sizeof(T) == 1) return std::bit_cast<T>(*from);
  else if constexpr (sizeof(T) == 2) return std::bit_cast<T>(big_endian<std::uint16_t>(from));
  else if constexpr (sizeof(T) == 4) return std::bit_cast<T>(big_endian<std::uint32_t>(from));
  else return std::bit_cast<T>(big_endian<std::uint64_t>(from));
}

inline constexpr std::size_t idx_header_limit = 4 + 4 * (shape::max_rank + 1);

struct idx_header {
  std::size_t samples = 0;
  shape sample_shape{};
  std::size_t bytes = 0;    // of the header
  std::size_t elements = 0; // that follow; the file is known to have exactly that many
};

// Checks everything, from the first idx_header_limit bytes of a file (or all of a shorter one) and its size. So a damaged
// file cannot make the program allocate too much memory.
inline idx_header parse_idx_header(std::span<const std::uint8_t> start, std::uint64_t file_size, unsigned code,
                                   std::size_t element_bytes, const std::string& name) {
  const auto cut_short = [&](std::uint64_t needed) {
    wrong_bytes(name, file_size, "at least " + std::to_string(needed) + " bytes of header", "the end of the file",
                "the file was cut short: get it again");
  };
  if (start.size() >= 2 && start[0] == 0x1F && start[1] == 0x8B)
    wrong_bytes(name, 0, "an IDX file", "a gzip file", "gunzip it first");
  if (start.size() < 4) cut_short(4);
  if (start[0] != 0 || start[1] != 0)
    wrong_bytes(name, 0, "the bytes 0 0 that begin an IDX file", std::to_string(start[0]) + " " + std::to_string(start[1]),
                "this is no IDX file: check the path");
  if (start[2] != code)
    wrong_bytes(name, 2, "elements of type " + idx_type_name(code), idx_type_name(start[2]),
                "check that this is the right file, or read it as the type that it has");
  const std::size_t axes = start[3];
  if (axes == 0 || axes > shape::max_rank + 1)
    wrong_bytes(name, 3, "1 to " + std::to_string(shape::max_rank + 1) + " extents", std::to_string(axes),
                "check that this is the right file");
  idx_header header{.bytes = 4 + 4 * axes};
  if (start.size() < header.bytes) cut_short(header.bytes);

  // All in 64 bits. The product is stopped before it exceeds the number of bytes that are there.
  const std::uint64_t available = file_size - header.bytes;
  std::array<std::uint64_t, shape::max_rank + 1> extents{};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    extents[axis] = big_endian<std::uint32_t>(start.data() + 4 + 4 * axis);
    if (extents[axis] == 0)
      wrong_bytes(name, 4 + 4 * axis, "extents of 1 or more", "extent " + std::to_string(axis) + " = 0",
                  "the file holds nothing: check that this is the right file");
  }
  std::uint64_t bytes = element_bytes;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (extents[axis] > available / bytes)
      wrong_bytes(name, 4 + 4 * axis, "extents whose product fits the " + std::to_string(available) + " bytes of data",
                  "extent " + std::to_string(axis) + " = " + std::to_string(extents[axis]),
                  "the file was cut short or is damaged: get it again");
    bytes *= extents[axis];
  }
  if (bytes != available)
    wrong_bytes(name, header.bytes + bytes, "the end of the file", std::to_string(available - bytes) + " more bytes",
                "the file is damaged: get it again");
  header.samples = static_cast<std::size_t>(extents[0]);
  for (std::size_t axis = 1; axis < axes; ++axis) header.sample_shape.push_back(static_cast<std::size_t>(extents[axis]));
  header.elements = static_cast<std::size_t>(bytes / element_bytes);
  return header;
}

// Allocates all elements of a file whose size is known to fit its header.
template <class T>
idx_array<T> idx_room(const idx_header& header, const std::string& name) {
  const auto refuse = [&] {
    std::string text = name;
    text.append(", byte 4: expected an array that fits into memory, found ").append(std::to_string(header.elements));
    text.append(" elements of ").append(std::to_string(sizeof(T))).append(" bytes");
    throw input_error(text.append("; split the file, or write a dataset that reads samples from it when they are asked for"));
  };
  idx_array<T> room{header.samples, header.sample_shape, {}};
  try {
    room.values.resize(header.elements);
  } catch (const std::bad_alloc&) {
    refuse();
  } catch (const std::length_error&) {
    refuse();
  }
  return room;
}

} // namespace cairn::detail

namespace cairn::files {

// Parses an IDX file in memory. T is one of the six types and must be that of the file. Throws file_error with the name, the
// byte, what was expected there and what was found; input_error if a sound file does not fit into memory.
template <detail::idx_element T>
idx_array<T> parse_idx(std::span<const std::uint8_t> file, const std::string& name) {
  const auto start = file.first(file.size() < detail::idx_header_limit ? file.size() : detail::idx_header_limit);
  const auto header = detail::parse_idx_header(start, file.size(), detail::idx_code<T>, sizeof(T), name);
  auto result = detail::idx_room<T>(header, name);
  const std::uint8_t* from = file.data() + header.bytes;
  for (std::size_t i = 0; i < header.elements; ++i, from += sizeof(T)) result.values[i] = detail::idx_value<T>(from);
  return result;
}

// The same from a file. The elements are read into their final place; those of more than one byte are converted there.
template <detail::idx_element T>
idx_array<T> read_idx(const std::string& path) {
  detail::open_file file(path, O_RDONLY);
  const std::uint64_t size = file.size();
  if (size == file.no_size) {
    std::string text = path;
    text.append(": expected an IDX file, found ").append(file.fault());
    const std::string packed = path + ".gz";
    throw file_error(
        text.append(detail::file_exists(packed) ? "; " + packed + " is there: gunzip it first" : "; check the path"));
  }
  const auto read = [&](void* to, std::size_t bytes, std::uint64_t offset) {
    if (!file.read(to, bytes, offset))
      detail::wrong_bytes(path, offset, std::to_string(bytes) + " readable bytes", "an error of the file system",
                          "check the permissions and the disk");
  };

  std::array<std::uint8_t, detail::idx_header_limit> start{};
  const auto known = static_cast<std::size_t>(size < start.size() ? size : start.size());
  read(start.data(), known, 0);
  const auto header = detail::parse_idx_header(std::span(start).first(known), size, detail::idx_code<T>, sizeof(T), path);
  auto result = detail::idx_room<T>(header, path);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(result.values.data());
  read(bytes, header.elements * sizeof(T), header.bytes);
  if constexpr (sizeof(T) > 1)
    for (std::size_t i = 0; i < header.elements; ++i) result.values[i] = detail::idx_value<T>(bytes + i * sizeof(T));
  return result;
}

} // namespace cairn::files
