// SPDX-License-Identifier: MIT
#include <cairn/data/npy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "folder.hpp"

namespace npy_tests {

using namespace cairn;

namespace {

std::string header_of(std::string_view text, unsigned version = 1) {
  std::string out("\x93NUMPY", 6);
  out += static_cast<char>(version);
  out += '\0';
  for (unsigned i = 0; i < (version == 1 ? 2U : 4U); ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  return out + std::string(text);
}

std::string said_of(const std::string& bytes) {
  return file_fault(bytes, [](const std::string& path) { files::read_npy<float>(path); });
}
bool says(const std::string& bytes, std::string_view what) { return said_of(bytes).find(what) != std::string::npos; }

template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

} // namespace

TEST_CASE("npy: the bytes of a file are those that numpy writes") {
  const folder here;
  const std::string path = here.path / "a.npy";
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  files::write_npy(path, numbers, {2, 3});
  // The bytes of numpy.save for the same array: 128 bytes of header, the last of them a line feed.
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  CHECK(contents(path) == header_of(text + std::string(117 - text.size(), ' ') + "\n") + bytes_of(numbers));
  const auto read = files::read_npy<float>(path);
  CHECK(read.extents == std::vector<std::size_t>{2, 3});
  CHECK(read.numbers == numbers);
  CHECK(files::read_npy<double>(path).numbers == std::vector<double>(numbers.begin(), numbers.end()));

  const std::vector<std::uint8_t> pixels{0, 255, 7};
  files::write_npy(path, pixels, {3});
  CHECK(contents(path).find("'descr': '|u1', 'fortran_order': False, 'shape': (3,), }") != std::string::npos);
  CHECK(files::read_npy<std::uint8_t>(path).numbers == pixels);
  files::write_npy(path, std::vector<double>{0.5}, {});
  CHECK(contents(path).find("'shape': (), }") != std::string::npos);
  CHECK(files::read_npy<double>(path).extents.empty());
  files::write_npy(path, std::vector<std::int64_t>{}, {0, 4});
  CHECK(files::read_npy<std::int64_t>(path).extents == std::vector<std::size_t>{0, 4});
  CHECK_THROWS_WITH_AS(files::write_npy(path, numbers, {2, 2}), "write_npy: expected 4 numbers for the shape (2, 2), found 6",
                       input_error);
  // 2^64 elements would wrap to 0.
  CHECK_THROWS_WITH_AS(files::write_npy(path, std::vector<float>{}, {std::size_t{1} << 32, std::size_t{1} << 32}),
                       "write_npy: expected extents whose product fits 64 bits, found more", input_error);
}

TEST_CASE("npy: columns first, the other byte order, later versions and keys in any order") {
  const folder here;
  const std::string path = here.path / "a.npy";
  files::write_file_atomically(path, header_of("{'shape': (2, 3), 'fortran_order': True, 'descr': '<i4'}\n") +
                                         bytes_of(std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
  CHECK(files::read_npy<std::int32_t>(path).numbers == std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  files::write_file_atomically(path, header_of("{\"descr\": '>u2', 'fortran_order': False, 'shape': (2,), }", 2) +
                                         std::string("\x01\x02\x00\x07", 4));
  CHECK(files::read_npy<std::uint16_t>(path).numbers == std::vector<std::uint16_t>{0x0102, 7});
  std::vector<std::int32_t> cube(24);
  for (std::size_t i = 0; i < 24; ++i) cube[i] = static_cast<std::int32_t>(i);
  files::write_file_atomically(path,
                               header_of("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4)}", 3) + bytes_of(cube));
  const auto turned = files::read_npy<std::int32_t>(path).numbers;
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t c = 0; c < 4; ++c) CHECK(turned[(a * 3 + b) * 4 + c] == static_cast<std::int32_t>(a + 2 * (b + 3 * c)));
}

TEST_CASE("npy: a file that is not one is refused in words") {
  const std::string right = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  const std::string eight(8, '\0');
  CHECK(said_of(header_of(right) + eight) == "");
  CHECK(says("", "fewer than 12 bytes"));
  CHECK(says(std::string(64, 'x'), "found other first bytes"));
  CHECK(says(header_of(right, 4) + eight, "its version 4 is unknown"));
  CHECK(says(header_of(right).substr(0, 30), "longer than the file; is it cut off?"));
  CHECK(says(header_of(right) + eight + "x", "its shape has 8 bytes, found 9"));
  CHECK(says(header_of(right) + "xxxx", "found 4; is it cut off?"));
  CHECK(says(header_of("['descr']") + eight, "no dictionary"));
  CHECK(says(header_of("{'descr': '<f4'}") + eight, "expected descr, fortran_order and shape"));
  CHECK(says(header_of("{'descr': '<O8', 'fortran_order': False, 'shape': (2,)}") + eight, "its elements are '<O8'"));
  CHECK(says(header_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}") + eight, "'descr' is unknown"));
  CHECK(says(header_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}") + eight, "no list of whole numbers"));
  CHECK(says(header_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}") + eight, "no list of whole numbers"));
  CHECK(says(header_of("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}") + eight, "'fortran_order' is unknown"));
  CHECK(says(header_of("{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}") + eight, "expected a comma"));
  CHECK(says(header_of(right + "}") + eight, "text behind the dictionary"));
  CHECK(says(header_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}") + eight, "too large"));
  CHECK(says(header_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}") + eight,
             "expected numbers of the type f4, found i4"));
  CHECK_THROWS_WITH_AS(files::read_npy<float>("/no/such/file"), doctest::Contains("No such file"), file_error);
  const std::string whole = header_of(right) + eight;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) CHECK(said_of(whole.substr(0, cut)) != "");
}

} // namespace npy_tests
