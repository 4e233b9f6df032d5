// SPDX-License-Identifier: MIT
// .npy: what is read and written again is read as the same.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/data/npy.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

template <class T>
void there_and_back(const std::string& path) {
  files::npy_array<T> first;
  if (!fuzzing::reads(path, [&] { first = files::read_npy<T>(path); })) return;
  std::size_t elements = 1;
  for (const std::size_t extent : first.extents) elements *= extent;
  fuzzing::require(elements == first.numbers.size(), "there are as many numbers as the extents say");
  if (first.extents.size() > 64) return; // numpy has no more, so that none is written
  const std::string& again = fuzzing::scratch_path();
  files::write_npy(again, first.numbers, first.extents);
  const files::npy_array<T> second = files::read_npy<T>(again);
  fuzzing::require(second.extents == first.extents, "the extents come back");
  fuzzing::require(first.numbers.empty() || std::memcmp(first.numbers.data(), second.numbers.data(), elements * sizeof(T)) == 0,
                   "the numbers come back");
}

} // namespace

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t> bytes) {
  // By the type that may be in the header: each refusal is an exception, which under a sanitizer takes the most time by far.
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.find("i4") != text.npos) there_and_back<std::int32_t>(path);
  else if (text.find("u1") != text.npos) there_and_back<std::uint8_t>(path);
  else if (text.find("f8") != text.npos) there_and_back<double>(path);
  else there_and_back<float>(path);
  if (text.find("f4") != text.npos && bytes.size() % 4 == 0) there_and_back<double>(path); // converted
}

void fuzzing::write_seeds(const std::string& folder) {
  files::write_npy(folder + "floats", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  files::write_npy(folder + "doubles", std::vector<double>{1, 2}, {2});
  files::write_npy(folder + "integers", std::vector<std::int32_t>{7}, {});
  files::write_npy(folder + "bytes", std::vector<std::uint8_t>(8), {2, 2, 2});
  files::write_npy(folder + "empty", std::vector<float>{}, {3, 0});
  const auto old = [](const std::string& text, std::size_t bytes) { // version 1, without numpy's padding
    return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text + std::string(bytes, 'x');
  };
  write_seed(folder + "columns", old("{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3)}", 24));
  write_seed(folder + "any_order", old("{\"shape\": (4,), 'fortran_order': False, 'descr': '<f8',}\n", 32));
  write_seed(folder + "other_type", old("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", 1));
  write_seed(folder + "cut", old("{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}", 35));
}
