// SPDX-License-Identifier: MIT
// Files of named tensors in the safetensors format, as Hugging Face's library writes and reads them: eight bytes with the
// length of a header in JSON, the header, then the tensors' bytes, little-endian and row-major, without a gap
// (github.com/huggingface/safetensors). The only header that includes a JSON library.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
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
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/safetensors_header.hpp>

namespace cairn::files {

// A file that is open for reading. Its whole header is checked before anything else is read. An unknown type, an overlap, a
// hole, a shape that does not fit its bytes, or bytes after the end throw file_error, which names the file, the tensor and
// what was expected. Every size is compared with that of the file before memory is allocated by it.
class safetensors_file {
public:
  static constexpr std::uint64_t most_header = 100'000'000; // bytes, as in the format's own library

  explicit safetensors_file(const std::string& path) : path_(path), file_(path, O_RDONLY) {
    const std::uint64_t size = file_.size();
    if (size == detail::open_file::no_size) fail_to_read();
    std::uint64_t header = 0;
    if (size < sizeof header) fail("expected at least 8 bytes, found " + std::to_string(size));
    if (!read_at(&header, sizeof header, 0)) fail_to_read();
    if constexpr (std::endian::native == std::endian::big) header = reversed(header);
    if (header > size - sizeof header) refuse_other_formats(header);
    if (header > most_header)
      fail("expected a header of at most " + std::to_string(most_header) + " bytes, found one of " + std::to_string(header));
    if (header > size - sizeof header)
      fail("expected a header of " + std::to_string(header) + " bytes, found " + std::to_string(size - sizeof header) +
           " behind its length; is the file cut off?");
    std::string text(static_cast<std::size_t>(header), '\0');
    if (!read_at(text.data(), text.size(), sizeof header)) fail_to_read();
    data_ = sizeof header + header;
    read_header(text);
    check_places(size - data_);
  }

  // The tensors in the order of their bytes.
  const std::vector<safetensors_entry>& entries() const { return entries_; }
  const safetensors_entry* find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &entries_[found->second];
  }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

  // Reads the elements of a tensor, as many as `to` has. F16, BF16, F32 and F64 are converted to float or double; any other
  // type must be that of T.
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

  // Reads the bytes of a tensor as they are in the file: all at once, or in pieces, for each of which it calls
  // f(std::span<const std::byte>). All pieces but the last have a multiple of 64 bytes.
  void read_bytes(const safetensors_entry& e, std::span<std::byte> to) {
    if (to.size() != e.end - e.begin)
      fail_at(e.name, "was asked for " + std::to_string(to.size()) + " bytes, found " + std::to_string(e.end - e.begin));
    if (!read_at(to.data(), to.size(), data_ + e.begin)) fail_to_read(&e);
  }
  template <class F>
  void for_each_piece(const safetensors_entry& e, F&& f) {
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(e.end - e.begin, 1U << 18)));
    for (std::uint64_t at = e.begin; at < e.end; at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(e.end - at, piece.size())));
      if (!read_at(piece.data(), piece.size(), data_ + at)) fail_to_read(&e);
      f(std::span<const std::byte>(piece));
    }
  }

private:
  [[noreturn]] void fail(const std::string& what) const { throw file_error("safetensors: '" + path_ + "': " + what); }
  [[noreturn]] void fail_at(const std::string& name, const std::string& what) const {
    fail("'" + detail::beginning_of(name) + "': " + what);
  }
  // Reports errno of the call that failed; if it is 0, the file has become shorter meanwhile.
  [[noreturn]] void fail_to_read(const safetensors_entry* e = nullptr) const {
    const std::string why = errno == 0 ? "the file ends before" : file_.fault();
    const std::string whose = e == nullptr ? "" : "'" + detail::beginning_of(e->name) + "' ";
    throw detail::unreadable_file("safetensors: '" + path_ + "': " + whose + "cannot be read: " + why);
  }
  // Recognises other formats by the first bytes, where this one has the length of the header.
  void refuse_other_formats(std::uint64_t first) const {
    const char* const found = (first & 0xFFFFFFFFU) == 0x04034B50U ? "a zip file, as torch.save() writes it"
                              : (first & 0xFFU) == 0x80U && (first >> 8U & 0xFFU) < 6
                                  ? "a pickle of Python, as torch.save() wrote it"
                                  : nullptr;
    if (found != nullptr)
      fail(std::string("expected a safetensors file, found ") + found +
           "; write it in Python by safetensors.torch.save_file(net.state_dict(), \"weights.safetensors\")");
  }
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
      if (!read_at(some.data(), count * sizeof(Stored), data_ + e.begin + done * sizeof(Stored))) fail_to_read(&e);
      for (std::size_t i = 0; i < count; ++i) {
        Stored value = some[i];
        if constexpr (std::endian::native == std::endian::big) value = reversed(value);
        to[done + i] = static_cast<T>(convert(value));
      }
      done += count;
    }
  }

  // Receives the parts of a header from the parser and throws at the first unexpected one, which ends the parser. No tree is
  // built: its memory would be unbounded, and its destructor allocates more.
  class header_taker {
  public:
    explicit header_taker(safetensors_file& to) : to_(to) {}

    bool start_object(std::size_t) {
      if (at_ == place::begin) at_ = place::top;
      else if (at_ == place::top && name_ == metadata_name) at_ = place::metadata;
      else if (at_ == place::top) begin_entry();
      else refuse();
      return true;
    }
    bool end_object() {
      if (at_ == place::entry && seen_ != 7U) refuse_entry();
      if (at_ == place::entry) to_.entries_.push_back(std::move(entry_));
      at_ = at_ == place::top ? place::end : place::top;
      return true;
    }
    bool key(std::string& name) {
      if (at_ == place::entry) {
        const std::size_t field = name == "dtype" ? 0 : name == "shape" ? 1 : name == "data_offsets" ? 2 : 3;
        if (field == 3) refuse_entry();
        if ((seen_ >> field & 1U) != 0) refuse_second(name);
        seen_ |= 1U << field;
        field_ = field;
        return true;
      }
      name_ = std::move(name);
      if (at_ == place::metadata) {
        const auto [where, is_new] = to_.metadata_.try_emplace(name_);
        if (!is_new) refuse_second(name_);
        text_ = &where->second;
      } else if (name_ == metadata_name && std::exchange(has_metadata_, true)) { // names of tensors are compared at the end
        refuse_second(name_);
      }
      return true;
    }
    bool string(std::string& text) {
      if (at_ == place::metadata) *text_ = std::move(text);
      else if (at_ != place::entry || field_ != 0) refuse();
      else if (detail::safetensors_type(text) == detail::safetensors_types.size())
        to_.fail_at(entry_.name, "its type " + detail::beginning_of(text) + " is unknown");
      else entry_.type = std::move(text);
      return true;
    }
    bool start_array(std::size_t) {
      if (at_ != place::entry || field_ == 0) refuse();
      at_ = place::list;
      return true;
    }
    bool end_array() {
      at_ = place::entry;
      if (field_ == 2 && offsets_ != 2) to_.fail_at(entry_.name, "expected two data_offsets, found " + std::to_string(offsets_));
      return true;
    }
    bool number_unsigned(std::uint64_t number) {
      if (at_ != place::list) refuse();
      if (field_ == 1 && entry_.extents.size() == detail::safetensors_most_extents)
        to_.fail_at(entry_.name, "expected a shape of at most " + std::to_string(detail::safetensors_most_extents) + " extents");
      if (field_ == 1) entry_.extents.push_back(number);
      else if (++offsets_ <= 2) (offsets_ == 1 ? entry_.begin : entry_.end) = number;
      return true;
    }
    bool null() { return refuse(); }
    bool boolean(bool) { return refuse(); }
    bool number_integer(std::int64_t) { return refuse(); }
    bool number_float(double, const std::string&) { return refuse(); }
    bool binary(std::vector<std::uint8_t>&) { return refuse(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& wrong) {
      to_.fail(std::string("its header is no JSON: ") + wrong.what());
    }

  private:
    enum class place { begin, top, metadata, entry, list, end };
    static constexpr std::string_view metadata_name = "__metadata__";

    // Throws for a value of a kind that is not allowed at this place.
    [[noreturn]] bool refuse() const {
      if (at_ == place::begin) to_.fail("expected an object in its header");
      if (at_ == place::metadata) to_.fail("expected a text as __metadata__ '" + detail::beginning_of(name_) + "'");
      if (at_ == place::top && name_ == metadata_name) to_.fail("expected an object of texts as __metadata__");
      if (at_ == place::top) refuse_entry();
      const char* const field = field_ == 0 ? "dtype" : field_ == 1 ? "shape" : "data_offsets";
      const char* const wanted = at_ == place::list ? "whole numbers of 0 and more in "
                                 : field_ == 0      ? "a text as "
                                                    : "a list as ";
      to_.fail_at(entry_.name, std::string("expected ") + wanted + field);
    }
    [[noreturn]] void refuse_entry() const { to_.fail_at(name_, "expected dtype, shape and data_offsets, and nothing else"); }
    [[noreturn]] void refuse_second(const std::string& name) const {
      to_.fail("its header has '" + detail::beginning_of(name) + "' twice");
    }
    void begin_entry() {
      at_ = place::entry;
      entry_ = {};
      entry_.name = name_;
      seen_ = 0;
      offsets_ = 0;
    }

    safetensors_file& to_;
    place at_ = place::begin;
    std::string name_;            // the last key of the header, or of the metadata
    std::string* text_ = nullptr; // of that key of the metadata
    bool has_metadata_ = false;
    safetensors_entry entry_; // the one that is being read
    unsigned seen_ = 0;       // dtype, shape and data_offsets of it, by bits
    std::size_t field_ = 0;   // the one that is being read, by number
    std::size_t offsets_ = 0; // how many there were
  };

  void read_header(const std::string& text) {
    if (text.starts_with("\xEF\xBB\xBF")) fail("expected '{' at the beginning of its header, found a UTF-8 byte order mark");
    // The parser takes a zero byte for the end, whatever follows it.
    if (text.find('\0') != text.npos) fail("its header is no JSON: it has a zero byte");
    header_taker taker(*this);
    nlohmann::json::sax_parse(text, &taker);
  }

  // Checks that each tensor begins where the one before it ends and has the bytes of its shape, and that the last ends with
  // the file.
  void check_places(std::uint64_t behind) {
    std::sort(entries_.begin(), entries_.end(), [](const safetensors_entry& a, const safetensors_entry& b) {
      return std::pair{a.begin, a.end} < std::pair{b.begin, b.end};
    });
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const safetensors_entry& e = entries_[i];
      // Else one of two tensors of the same name would be lost silently.
      if (!places_.try_emplace(e.name, i).second) fail("its header has '" + detail::beginning_of(e.name) + "' twice");
    }
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

// Writes tensors as the format's own library does, byte for byte: those of larger elements first, then by name, and the
// header padded with spaces to a multiple of eight bytes. The old file is replaced as a whole or not at all, see
// write_file_atomically. Throws input_error for a name that comes twice, for bytes that do not fit a shape, and for texts
// that are not UTF-8.
inline void write_safetensors(const std::string& path, std::vector<safetensors_source> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  static_assert(std::endian::native == std::endian::little, "write_safetensors: this machine stores numbers the other way round");
  std::sort(tensors.begin(), tensors.end(), [](const safetensors_source& a, const safetensors_source& b) {
    const std::size_t of_a = detail::safetensors_type(a.type), of_b = detail::safetensors_type(b.type);
    return of_a != of_b ? of_a > of_b : a.name < b.name;
  });
  const std::string text = detail::safetensors_header(tensors, metadata);
  const std::uint64_t length = text.size();
  detail::replace_file(path, [&](detail::open_file& file) {
    if (!file.write({reinterpret_cast<const char*>(&length), sizeof length}) || !file.write(text)) return false;
    for (const safetensors_source& t : tensors)
      if (!file.write({reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()})) return false;
    return true;
  });
}

} // namespace cairn::files
