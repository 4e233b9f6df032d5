// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>

namespace cairn::files {

// A numpy array: its extents, and its elements row by row. No extents: one number.
template <class T>
struct npy_array {
  std::vector<std::size_t> extents;
  std::vector<T> numbers;
};

} // namespace cairn::files

namespace cairn::detail {

// numpy's type of an array's elements, such as 'f' and 4 bytes.
struct npy_type {
  char kind = 0; // f: floating point, i: integer, u: unsigned, b: bool, which is not read
  std::size_t size = 0;
  bool operator==(const npy_type&) const = default;
};
template <class T>
inline constexpr npy_type npy_type_of{std::is_floating_point_v<T> ? 'f'
                                      : std::is_signed_v<T>       ? 'i'
                                                                  : 'u',
                                      sizeof(T)};

// Numbers that numpy and C++ share. No bool: numpy's may be any byte.
template <class T>
concept npy_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

// The header of a .npy file: a dictionary as Python writes it, with these three keys in any order.
class npy_header {
public:
  npy_type type;
  bool turned = false;        // the byte order is not this machine's
  bool fortran_order = false; // the first extent is the innermost
  std::vector<std::size_t> extents;

  // Returns what is wrong with the text; empty if it is right.
  std::string read(std::string_view text) {
    text_ = text;
    if (!take('{')) return "no dictionary";
    unsigned seen = 0;
    while (!take('}')) {
      std::string_view key, value;
      if (!take_text(key) || !take(':')) return "expected a key and a value";
      if (key == "descr" && take_text(value)) {
        if (!read_type(value)) return "its elements are '" + std::string(value) + "', expected one type of numbers";
        seen |= 1U;
      } else if (key == "fortran_order" && (take_word("True") || take_word("False"))) {
        fortran_order = word_ == "True";
        seen |= 2U;
      } else if (key == "shape" && take('(')) {
        if (!read_extents()) return "its shape is no list of whole numbers";
        seen |= 4U;
      } else {
        return "'" + std::string(key) + "' is unknown, or has a value that is";
      }
      if (!take(',') && (skip(), text_.empty() || text_.front() != '}')) return "expected a comma";
    }
    skip();
    if (!text_.empty()) return "there is text behind the dictionary";
    return seen == 7U ? "" : "expected descr, fortran_order and shape";
  }

private:
  void skip() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    word_ = word;
    return true;
  }
  bool take_text(std::string_view& out) {
    skip();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == text_.npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool read_type(std::string_view descr) {
    if (descr.size() != 3 || std::string_view("<>|").find(descr[0]) == descr.npos ||
        std::string_view("fiub").find(descr[1]) == descr.npos || std::string_view("1248").find(descr[2]) == descr.npos)
      return false;
    type = {descr[1], static_cast<std::size_t>(descr[2] - '0')};
    turned = type.size > 1 && (descr[0] == '>') == (std::endian::native == std::endian::little);
    return descr[0] != '|' || type.size == 1;
  }
  bool read_extents() {
    extents.clear();
    while (!take(')')) {
      std::size_t extent = 0;
      skip();
      const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (fault != std::errc{}) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      extents.push_back(extent);
      if (!take(',') && (text_.empty() || text_.front() != ')')) return false;
    }
    return true;
  }

  std::string_view text_, word_;
};

} // namespace cairn::detail

namespace cairn::files {

// Reads a .npy file of any version, byte order and order of extents (numpy/lib/format.py). The numbers must be of type T, but
// float and double are converted into each other. Throws file_error, which names the file and what is wrong with it. Every
// size is compared with that of the file before memory is allocated by it.
template <detail::npy_number T>
npy_array<T> read_npy(const std::string& path) {
  const auto fail = [&](const std::string& what) { throw file_error("read_npy: '" + path + "': " + what); };
  detail::open_file file(path, O_RDONLY);
  const std::uint64_t size = file.size();
  if (size == detail::open_file::no_size) fail("cannot be read: " + file.fault());
  std::array<unsigned char, 12> begin{};
  if (size < begin.size() || !file.read(begin.data(), begin.size(), 0)) fail("expected a .npy file, found fewer than 12 bytes");
  if (std::memcmp(begin.data(), "\x93NUMPY", 6) != 0) fail("expected a .npy file, found other first bytes");
  const unsigned version = begin[6];
  if (version < 1 || version > 3) fail("its version " + std::to_string(version) + " is unknown");
  std::uint64_t length = begin[8] + 256U * begin[9];
  if (version > 1) length += 65536U * begin[10] + 16777216U * std::uint64_t{begin[11]};
  const std::uint64_t header_at = version > 1 ? 12 : 10;
  if (length > size - header_at) fail("its header is longer than the file; is it cut off?");
  std::string text(static_cast<std::size_t>(length), '\0');
  if (!file.read(text.data(), text.size(), header_at)) fail("cannot be read");
  detail::npy_header header;
  if (const std::string fault = header.read(text); !fault.empty()) fail("its header: " + fault);

  constexpr detail::npy_type wanted = detail::npy_type_of<T>;
  const bool converts = wanted.kind == 'f' && header.type.kind == 'f' && header.type.size >= 4;
  if (header.type != wanted && !converts)
    fail("expected numbers of the type " + std::string(1, wanted.kind) + std::to_string(wanted.size) + ", found " +
         std::string(1, header.type.kind) + std::to_string(header.type.size));
  const std::uint64_t there = size - header_at - length;
  std::uint64_t bytes = header.type.size;
  for (const std::size_t extent : header.extents) {
    if (extent != 0 && bytes > static_cast<std::uint64_t>(-1) / extent) fail("its shape is too large");
    bytes *= extent;
  }
  if (bytes != there)
    fail("its shape has " + std::to_string(bytes) + " bytes, found " + std::to_string(there) +
         (there < bytes ? "; is it cut off?" : ""));

  npy_array<T> out{header.extents, std::vector<T>(static_cast<std::size_t>(bytes / header.type.size))};
  std::vector<T>& to = out.numbers;
  const auto take = [&]<class Stored>(Stored) {
    std::vector<std::byte> some(4096 * sizeof(Stored));
    for (std::size_t done = 0; done < to.size();) {
      const std::size_t count = std::min<std::size_t>(4096, to.size() - done);
      if (!file.read(some.data(), count * sizeof(Stored), header_at + length + done * sizeof(Stored))) fail("cannot be read");
      for (std::size_t i = 0; i < count; ++i) {
        std::byte* const number = some.data() + i * sizeof(Stored);
        if (header.turned) std::reverse(number, number + sizeof(Stored));
        Stored value{};
        std::memcpy(&value, number, sizeof(Stored));
        to[done + i] = static_cast<T>(value);
      }
      done += count;
    }
  };
  if (header.type == wanted) take(T{});
  else if (header.type.size == 4) take(float{});
  else take(double{});

  if (header.fortran_order && header.extents.size() > 1 && !to.empty()) { // column-major: reorder it
    std::vector<T> turned(to.size());
    std::vector<std::size_t> at(header.extents.size(), 0); // the indices of number i of the file
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::size_t place = 0;
      for (std::size_t a = 0; a < at.size(); ++a) place = place * header.extents[a] + at[a];
      turned[place] = to[i];
      for (std::size_t a = 0; a < at.size() && ++at[a] == header.extents[a]; ++a) at[a] = 0;
    }
    to = std::move(turned);
  }
  return out;
}

// Writes the numbers of a vector, a span or a view as numpy.save does, byte for byte; the old file is replaced as a whole or
// not at all. Throws input_error if the extents have another number of elements.
template <class Numbers>
void write_npy(const std::string& path, const Numbers& array, const std::vector<std::size_t>& extents) {
  const std::span numbers(std::data(array), std::size(array));
  using T = std::remove_cv_t<typename decltype(numbers)::element_type>;
  static_assert(detail::npy_number<T>, "write_npy: expected floating-point numbers or integers of at most 8 bytes");
  if (extents.size() > 64)
    throw input_error("write_npy: expected at most 64 extents, as numpy has, found " + std::to_string(extents.size()));
  std::size_t elements = 1;
  std::string shape;
  for (const std::size_t extent : extents) {
    if (extent != 0 && elements > static_cast<std::size_t>(-1) / extent) // the product would wrap around
      throw input_error("write_npy: expected extents whose product fits 64 bits, found more");
    elements *= extent;
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  }
  if (elements != numbers.size())
    throw input_error("write_npy: expected " + std::to_string(elements) + " numbers for the shape (" + shape + "), found " +
                      std::to_string(numbers.size()));
  constexpr detail::npy_type type = detail::npy_type_of<T>;
  const char order = type.size == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  std::string header = std::string("{'descr': '") + order + type.kind + std::to_string(type.size) +
                       "', 'fortran_order': False, 'shape': (" + shape + (extents.size() == 1 ? ",), }" : "), }");
  // numpy leaves room for a first extent of 21 digits, so that an array can grow in place.
  if (!extents.empty()) header.append(21 - std::to_string(extents[0]).size(), ' ');
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string begin("\x93NUMPY\x01\0", 8);
  begin += static_cast<char>(header.size() % 256);
  begin += static_cast<char>(header.size() / 256);
  detail::replace_file(path, [&](detail::open_file& file) {
    return file.write(begin) && file.write(header) &&
           file.write({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  });
}

} // namespace cairn::files
