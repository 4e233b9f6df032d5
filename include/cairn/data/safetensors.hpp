// SPDX-License-Identifier: MIT
// Files of named tensors in the safetensors format, as Hugging Face's library writes and reads them: eight bytes with the
// length of a header in JSON, the header, then the tensors' bytes, little-endian and row-major, without a gap
// (github.com/huggingface/safetensors). The only header that includes a JSON library.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#else
#error "cairn/data/safetensors.hpp needs nlohmann-json: install nlohmann-json3-dev (Debian), or nlohmann_json by conan or vcpkg"
#endif

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/data/file.hpp>

namespace cairn {

// A tensor in a file: its name, what its elements are ("F32"), its extents, and where its bytes lie behind the header.
struct safetensors_entry {
  std::string name;
  std::string type;
  std::vector<std::uint64_t> extents;
  std::uint64_t begin = 0, end = 0; // in bytes
};

// A tensor to be written: the bytes of all its elements, row-major, stay where they are.
struct safetensors_source {
  std::string name;
  std::string type;
  std::vector<std::uint64_t> extents;
  std::span<const std::byte> bytes;
};

namespace detail {

// The types of elements, by alignment: the name and how many bits one has.
inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 22> safetensors_types{
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}};
// Its place among them; their number if there is none.
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

} // namespace detail

// A file that is open for reading. Its header is looked at as a whole before anything else is read: a file with an unknown
// type, an overlap, a hole, a shape that does not fit its bytes or bytes behind the end throws file_error, which names the
// file, the tensor and what was expected. No memory is asked for by a size that was not compared with that of the file.
class safetensors_file {
public:
  static constexpr std::uint64_t most_header = 100'000'000; // bytes, as in the format's own library

  explicit safetensors_file(const std::string& path) : path_(path), file_(path, O_RDONLY) {
    const std::uint64_t size = file_.size();
    if (size == detail::open_file::no_size) fail(std::string("cannot be read: ") + std::strerror(errno));
    std::uint64_t header = 0;
    if (size < sizeof header) fail("expected at least 8 bytes, found " + std::to_string(size));
    if (!read_at(&header, sizeof header, 0)) fail("cannot be read");
    if constexpr (std::endian::native == std::endian::big) header = reversed(header);
    if (header > most_header)
      fail("expected a header of at most " + std::to_string(most_header) + " bytes, found one of " + std::to_string(header));
    if (header > size - sizeof header)
      fail("expected a header of " + std::to_string(header) + " bytes, found " + std::to_string(size - sizeof header) +
           " behind its length; is the file cut off?");
    std::string text(static_cast<std::size_t>(header), '\0');
    if (!read_at(text.data(), text.size(), sizeof header)) fail("cannot be read");
    data_ = sizeof header + header;
    read_header(text);
    check_places(size - data_);
  }

  // In the order of their bytes.
  const std::vector<safetensors_entry>& entries() const { return entries_; }
  const safetensors_entry* find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &entries_[found->second];
  }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

  // The elements of a tensor, as many as `to` has. From floating-point numbers of any size to float and double; other types
  // stay what they are.
  template <class T>
  void read(const safetensors_entry& e, std::span<T> to) {
    const std::uint64_t bits = detail::safetensors_types[detail::safetensors_type(e.type)].second;
    if ((e.end - e.begin) * 8 != to.size() * bits)
      fail("'" + e.name + "' was asked for " + std::to_string(to.size()) + " elements, found " +
           std::to_string((e.end - e.begin) * 8 / bits));
    if (e.type == detail::safetensors_type_of<T>) return read_as<T>(e, to, [](T value) { return value; });
    if constexpr (std::is_floating_point_v<T>) {
      if (e.type == "F32") return read_as<float>(e, to, [](float value) { return value; });
      if (e.type == "F64") return read_as<double>(e, to, [](double value) { return value; });
      if (e.type == "F16") return read_as<float16>(e, to, [](float16 value) { return static_cast<float>(value); });
      if (e.type == "BF16") return read_as<bfloat16>(e, to, [](bfloat16 value) { return static_cast<float>(value); });
    }
    fail("'" + e.name + "' is of " + e.type + ", which does not become " + detail::safetensors_type_of<T>);
  }

  // The bytes of a tensor as they lie in the file: all of them, or piece by piece in f(std::span<const std::byte>), of which
  // all but the last are of a multiple of 64 bytes.
  void read_bytes(const safetensors_entry& e, std::span<std::byte> to) {
    if (to.size() != e.end - e.begin || !read_at(to.data(), to.size(), data_ + e.begin)) fail("'" + e.name + "' cannot be read");
  }
  template <class F>
  void for_each_piece(const safetensors_entry& e, F&& f) {
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(e.end - e.begin, 1U << 18)));
    for (std::uint64_t at = e.begin; at < e.end; at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(e.end - at, piece.size())));
      if (!read_at(piece.data(), piece.size(), data_ + at)) fail("'" + e.name + "' cannot be read");
      f(std::span<const std::byte>(piece));
    }
  }

private:
  [[noreturn]] void fail(const std::string& what) const { throw file_error("safetensors: '" + path_ + "': " + what); }
  [[noreturn]] void fail_at(const std::string& name, const std::string& what) const { fail("'" + name + "': " + what); }
  bool read_at(void* to, std::size_t bytes, std::uint64_t offset) { return file_.read(to, bytes, offset); }

  template <class U>
  static U reversed(U value) {
    std::array<std::byte, sizeof(U)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(U));
    std::reverse(bytes.begin(), bytes.end());
    std::memcpy(&value, bytes.data(), sizeof(U));
    return value;
  }

  template <class Stored, class T, class Convert>
  void read_as(const safetensors_entry& e, std::span<T> to, Convert convert) {
    std::array<Stored, 4096> some;
    for (std::size_t done = 0; done < to.size();) {
      const std::size_t count = std::min(some.size(), to.size() - done);
      if (!read_at(some.data(), count * sizeof(Stored), data_ + e.begin + done * sizeof(Stored)))
        fail("'" + e.name + "' cannot be read");
      for (std::size_t i = 0; i < count; ++i) {
        Stored value = some[i];
        if constexpr (std::endian::native == std::endian::big) value = reversed(value);
        to[done + i] = static_cast<T>(convert(value));
      }
      done += count;
    }
  }

  void read_header(const std::string& text) {
    using json = nlohmann::json;
    // A name that comes twice would silently be the last one.
    std::vector<std::set<std::string>> names;
    std::string twice;
    const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
      const bool begins = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
      if (begins && depth > 2) fail("its header is nested deeper than a tensor's shape");
      if (event == json::parse_event_t::object_start) names.emplace_back();
      else if (event == json::parse_event_t::object_end) names.pop_back();
      else if (event == json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second)
        twice = parsed.get<std::string>();
      return true;
    };
    // For the parser a zero is the end, whatever comes behind it.
    if (text.find('\0') != text.npos) fail("its header is no JSON: it has a zero byte");
    json header;
    try {
      header = json::parse(text, look);
    } catch (const json::exception& wrong) {
      fail(std::string("its header is no JSON: ") + wrong.what());
    }
    if (!twice.empty()) fail("its header has '" + twice + "' twice");
    if (!header.is_object()) fail("expected an object in its header");
    for (const auto& [name, value] : header.items())
      if (name == "__metadata__") read_metadata(value);
      else read_entry(name, value);
  }
  template <class Json>
  void read_metadata(const Json& value) {
    if (!value.is_object()) fail("expected an object of texts as __metadata__");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("expected a text as __metadata__ '" + key + "'");
      metadata_[key] = text.template get<std::string>();
    }
  }
  template <class Json>
  void read_entry(const std::string& name, const Json& value) {
    safetensors_entry e;
    e.name = name;
    const bool is_whole = value.is_object() && value.size() == 3 && value.contains("dtype") && value.contains("shape") &&
                          value.contains("data_offsets");
    if (!is_whole) fail_at(name, "expected dtype, shape and data_offsets, and nothing else");
    if (!value["dtype"].is_string()) fail_at(name, "expected a text as dtype");
    e.type = value["dtype"].template get<std::string>();
    if (detail::safetensors_type(e.type) == detail::safetensors_types.size()) fail_at(name, "its type " + e.type + " is unknown");
    e.extents = numbers(name, "shape", value["shape"]);
    const std::vector<std::uint64_t> offsets = numbers(name, "data_offsets", value["data_offsets"]);
    if (offsets.size() != 2) fail_at(name, "expected two data_offsets, found " + std::to_string(offsets.size()));
    e.begin = offsets[0];
    e.end = offsets[1];
    entries_.push_back(std::move(e));
  }
  template <class Json>
  std::vector<std::uint64_t> numbers(const std::string& name, const char* what, const Json& list) const {
    std::vector<std::uint64_t> out;
    if (!list.is_array()) fail_at(name, std::string("expected a list as ") + what);
    for (const auto& number : list) {
      if (!number.is_number_unsigned()) fail_at(name, std::string("expected whole numbers of 0 and more in ") + what);
      out.push_back(number.template get<std::uint64_t>());
    }
    return out;
  }

  // Each tensor begins where the one before it ends, has the bytes of its shape, and the last ends with the file.
  void check_places(std::uint64_t behind) {
    std::sort(entries_.begin(), entries_.end(), [](const safetensors_entry& a, const safetensors_entry& b) {
      return std::pair{a.begin, a.end} < std::pair{b.begin, b.end};
    });
    std::uint64_t at = 0;
    for (const safetensors_entry& e : entries_) {
      if (e.begin != at || e.end < e.begin)
        fail_at(e.name, "expected its bytes to begin at " + std::to_string(at) + ", where those before it end, found " +
                            std::to_string(e.begin) + " to " + std::to_string(e.end));
      std::uint64_t bits = detail::safetensors_types[detail::safetensors_type(e.type)].second;
      for (const std::uint64_t extent : e.extents) {
        if (extent != 0 && bits > static_cast<std::uint64_t>(-1) / extent) fail_at(e.name, "its shape is too large");
        bits *= extent;
      }
      if (bits % 8 != 0) fail_at(e.name, "its elements do not fill whole bytes");
      if (e.end - e.begin != bits / 8)
        fail_at(e.name, "its shape has " + std::to_string(bits / 8) + " bytes, found " + std::to_string(e.end - e.begin));
      at = e.end;
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) places_[entries_[i].name] = i;
    if (at != behind)
      fail("expected " + std::to_string(at) + " bytes behind the header, found " + std::to_string(behind) +
           (behind < at ? "; is the file cut off?" : ""));
  }

  std::string path_;
  detail::open_file file_;
  std::uint64_t data_ = 0; // where it begins in the file
  std::vector<safetensors_entry> entries_;
  std::map<std::string, std::size_t, std::less<>> places_; // by name
  std::map<std::string, std::string> metadata_;
};

// Writes tensors as the format's own library does, byte for byte: those of larger elements first, then by name, and the header
// filled with spaces to a multiple of eight. The old file is replaced as a whole or not at all, see write_file_atomically.
// Throws input_error for a name that comes twice, and for bytes that do not fit a shape.
inline void write_safetensors(const std::string& path, std::vector<safetensors_source> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  static_assert(std::endian::native == std::endian::little, "write_safetensors: this machine stores numbers the other way round");
  std::sort(tensors.begin(), tensors.end(), [](const safetensors_source& a, const safetensors_source& b) {
    const std::size_t of_a = detail::safetensors_type(a.type), of_b = detail::safetensors_type(b.type);
    return of_a != of_b ? of_a > of_b : a.name < b.name;
  });
  // Ordered as they are written, which nlohmann::json, ordered by name, would not be.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const safetensors_source& t : tensors) {
    const auto refuse = [&](const std::string& what) { throw input_error("write_safetensors: '" + t.name + "' " + what); };
    const std::size_t type = detail::safetensors_type(t.type);
    if (type == detail::safetensors_types.size()) refuse("has the unknown type " + t.type);
    std::uint64_t bits = detail::safetensors_types[type].second;
    for (const std::uint64_t extent : t.extents) {
      if (extent != 0 && bits > static_cast<std::uint64_t>(-1) / extent) refuse("has a shape that is too large");
      bits *= extent;
    }
    if (bits != t.bytes.size() * 8)
      refuse("has a shape of " + std::to_string(bits / 8) + " bytes, found " + std::to_string(t.bytes.size()));
    if (t.name == "__metadata__" || header.contains(t.name)) refuse("is a name that is taken");
    header[t.name] = {{"dtype", t.type}, {"shape", t.extents}, {"data_offsets", {at, at + t.bytes.size()}}};
    at += t.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  detail::replace_file(path, [&](detail::open_file& file) {
    std::string begin(sizeof length, '\0');
    std::memcpy(begin.data(), &length, sizeof length);
    if (!file.write(begin) || !file.write(text)) return false;
    for (const safetensors_source& t : tensors)
      if (!file.write({reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()})) return false;
    return true;
  });
}

} // namespace cairn
