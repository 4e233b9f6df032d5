// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/data/idx.hpp>

namespace idx_tests {

using namespace cairn;

namespace {

using bytes = std::vector<std::uint8_t>;

bytes header(std::uint8_t type, std::initializer_list<std::uint32_t> extents) {
  bytes file{0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::uint8_t>(extent >> shift));
  return file;
}

bytes operator+(bytes front, const bytes& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

template <class T = std::uint8_t>
std::string fault(const bytes& file) {
  try {
    files::parse_idx<T>(file, "some.idx");
  } catch (const error& e) {
    return e.what();
  }
  return "no error";
}

// A file for one test, removed at its end.
struct scratch_file {
  std::filesystem::path path;
  scratch_file(const std::string& name, const bytes& content)
      : path(std::filesystem::temp_directory_path() / ("cairn_" + name + std::to_string(std::random_device{}()) + ".idx")) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  ~scratch_file() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("parse_idx reads samples and their shape") {
  const auto array = files::parse_idx<std::uint8_t>(header(8, {3, 2, 1}) + bytes{1, 2, 3, 4, 5, 6}, "x");
  CHECK(array.samples == 3);
  CHECK(array.sample_shape == shape{2, 1});
  CHECK(array.values == bytes{1, 2, 3, 4, 5, 6});
  const auto labels = files::parse_idx<std::uint8_t>(header(8, {2}) + bytes{7, 8}, "x");
  CHECK(labels.samples == 2);
  CHECK(labels.sample_shape == shape{});
}

TEST_CASE("parse_idx turns every type from big-endian") {
  CHECK(files::parse_idx<std::int8_t>(header(9, {2}) + bytes{0xFF, 0x7F}, "x").values == std::vector<std::int8_t>{-1, 127});
  CHECK(files::parse_idx<std::int16_t>(header(0x0B, {2}) + bytes{0x01, 0x02, 0xFF, 0xFE}, "x").values ==
        std::vector<std::int16_t>{258, -2});
  CHECK(files::parse_idx<std::int32_t>(header(0x0C, {1}) + bytes{0x80, 0, 0, 1}, "x").values ==
        std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min() + 1});
  CHECK(files::parse_idx<float>(header(0x0D, {1}) + bytes{0xC0, 0x20, 0, 0}, "x").values == std::vector<float>{-2.5F});
  CHECK(files::parse_idx<double>(header(0x0E, {1}) + bytes{0x3F, 0xE8, 0, 0, 0, 0, 0, 0}, "x").values ==
        std::vector<double>{0.75});
}

TEST_CASE("an IDX file of nothing is refused, and the extent that is 0 is named") {
  CHECK(fault(header(8, {0, 28, 28})) == "some.idx, byte 4: expected extents of 1 or more, found extent 0 = 0; the file "
                                         "holds nothing: check that this is the right file");
  CHECK(fault(header(8, {1, 2, 0}) + bytes{1, 2}).find("byte 12: expected extents of 1 or more, found extent 2 = 0") !=
        std::string::npos);
  CHECK(fault(header(8, {0})).find("found extent 0 = 0") != std::string::npos);
}

TEST_CASE("an IDX file that is larger than the memory is an error that says how large") {
  // 2^40 elements that exist: a sparse file, of which only the header takes up disk space.
  const scratch_file large("too_large", header(8, {1U << 20, 1U << 20}));
  std::filesystem::resize_file(large.path, 12 + (std::uintmax_t{1} << 40));
  const std::string expected = large.path.string() + ", byte 4: expected an array that fits into memory, found "
                                                     "1099511627776 elements of 1 bytes; split the file";
  CHECK_THROWS_WITH_AS(files::read_idx<std::uint8_t>(large.path), doctest::Contains(expected.c_str()), input_error);
  // The same header without data: refused because of the file's size, before any memory is requested.
  const scratch_file promises("promises", header(8, {1U << 20, 1U << 20}));
  CHECK_THROWS_WITH_AS(files::read_idx<std::uint8_t>(promises.path), doctest::Contains("fits the 0 bytes of data"), file_error);
  const detail::idx_header beyond{.samples = 1, .sample_shape = {}, .bytes = 4, .elements = ~std::size_t{0}};
  CHECK_THROWS_WITH_AS(detail::idx_room<double>(beyond, "x"), doctest::Contains("found 18446744073709551615 elements"),
                       input_error);
}

TEST_CASE("a damaged IDX file is named with the byte, what was expected and what was found") {
  const bytes sound = header(8, {2, 2}) + bytes{1, 2, 3, 4};
  CHECK(fault(sound) == "no error");
  CHECK(fault({}) == "some.idx, byte 0: expected at least 4 bytes of header, found the end of the file; the "
                     "file was cut short: get it again");
  CHECK(fault({0x1F, 0x8B, 8, 0, 0}) == "some.idx, byte 0: expected an IDX file, found a gzip file; gunzip it first");
  CHECK(fault({'P', 'N', 'G', '!'}) == "some.idx, byte 0: expected the bytes 0 0 that begin an IDX file, "
                                       "found 80 78; this is no IDX file: check the path");
  CHECK(fault(header(0x0D, {1}) + bytes{0, 0, 0, 0}) ==
        "some.idx, byte 2: expected elements of type uint8 (0x08), found float (0x0d); check that this is "
        "the right file, or read it as the type that it has");
  CHECK(fault(header(0x77, {1})).find("found the unknown type 119") != std::string::npos);
  CHECK(fault(header(8, {})).find("byte 3: expected 1 to 9 extents, found 0") != std::string::npos);
  CHECK(fault(header(8, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1})).find("found 10;") != std::string::npos);
  CHECK(fault({0, 0, 8, 2, 0, 0, 0, 2, 0}).find("byte 9: expected at least 12 bytes of header") != std::string::npos);
  CHECK(fault(header(8, {2, 2}) + bytes{1, 2, 3}) ==
        "some.idx, byte 8: expected extents whose product fits the 3 bytes of data, found extent 1 = 2; the "
        "file was cut short or is damaged: get it again");
  CHECK(fault(sound + bytes{5, 6, 7}) == "some.idx, byte 16: expected the end of the file, found 3 more "
                                         "bytes; the file is damaged: get it again");
}

TEST_CASE("extents whose product would overflow are an error and not a small product") {
  // 2^31 * 2^31 * 4 elements would wrap to 0 in 64 bits.
  CHECK(fault(header(8, {0x80000000, 0x80000000, 4}) + bytes{}).find("found extent 0 = 2147483648") != std::string::npos);
  CHECK(fault(header(8, {1, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}) + bytes(64)).find("found extent 1 = 4294967295") !=
        std::string::npos);
  CHECK(fault<double>(header(0x0E, {0x20000000, 0x10}) + bytes(16)).find("found extent 0") != std::string::npos);
}

TEST_CASE("read_idx reads from a file what parse_idx reads from memory") {
  const scratch_file small("read", header(0x0B, {2, 2}) + bytes{0, 1, 0, 2, 0, 3, 0xFF, 0xFC});
  CHECK(files::read_idx<std::int16_t>(small.path).values == std::vector<std::int16_t>{1, 2, 3, -4});
  bytes many(100000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::uint8_t>(i * 7);
  const scratch_file large("read_large", header(8, {1000, 100}) + many);
  CHECK(files::read_idx<std::uint8_t>(large.path).values == many);
}

TEST_CASE("read_idx names a file that is not there, is a folder, was cut short, or is still packed") {
  const auto folder = std::filesystem::temp_directory_path();
  CHECK_THROWS_WITH_AS(files::read_idx<std::uint8_t>(folder / "cairn_nowhere.idx"),
                       doctest::Contains("cairn_nowhere.idx: expected an IDX file, found"), file_error);
  CHECK_THROWS_AS(files::read_idx<std::uint8_t>(folder), file_error);
  const scratch_file cut("cut", header(8, {4}) + bytes{1, 2, 3});
  CHECK_THROWS_WITH_AS(files::read_idx<std::uint8_t>(cut.path), doctest::Contains("extent 0 = 4"), file_error);
  const scratch_file empty("empty", {});
  CHECK_THROWS_WITH_AS(files::read_idx<std::uint8_t>(empty.path), doctest::Contains("byte 0: expected at least 4 bytes"),
                       file_error);
  const scratch_file packed("packed", {0x1F, 0x8B});
  CHECK_THROWS_WITH_AS(files::read_idx<std::uint8_t>(packed.path), doctest::Contains("gunzip it first"), file_error);
}

// Any bytes are either read as they say or refused with a cairn::error, and no access is beyond the end (the sanitizers check
// that). The damage is drawn from counter-based random numbers, so a failure can be reproduced.
TEST_CASE("a damaged IDX file is refused or read whole, whatever the damage") {
  const bytes sound = header(8, {3, 2, 2}) + bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  int refused = 0;
  constexpr std::uint64_t rounds = 20000;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const types::random_key key{.seed = 1, .step = round};
    bytes file = sound;
    const std::uint32_t changes = 1 + ops::random_bits(key, 0) % 4;
    for (std::uint32_t change = 0; change < changes; ++change) {
      const std::uint32_t what = ops::random_bits(key, 4 + 4 * change) % 4;
      const std::size_t at = file.empty() ? 0 : ops::random_bits(key, 5 + 4 * change) % std::min<std::size_t>(file.size(), 18);
      const auto value = static_cast<std::uint8_t>(ops::random_bits(key, 6 + 4 * change));
      if (file.empty()) break;
      if (what == 0) file[at] = value;
      else if (what == 1) file[at] = static_cast<std::uint8_t>(file[at] ^ (1U << value % 8));
      else if (what == 2) file.resize(at);
      else file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), value);
    }
    file.shrink_to_fit();
    try {
      const auto array = files::parse_idx<std::uint8_t>(file, "mutated");
      if (array.values.size() != array.samples * array.sample_shape.size()) FAIL_CHECK("wrong size in round " << round);
      if (file.size() != array.values.size() + 4 + 4 * (array.sample_shape.rank + 1))
        FAIL_CHECK("not read whole in round " << round);
    } catch (const error&) {
      ++refused;
    }
  }
  CHECK(refused > static_cast<int>(rounds / 2));
  CHECK(refused < static_cast<int>(rounds));
}

} // namespace idx_tests
