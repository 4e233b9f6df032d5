// SPDX-License-Identifier: MIT
#include <cairn/train/state/weights_in_files.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include <doctest/doctest.h>

namespace weights_in_files_tests {

using namespace cairn;

TEST_CASE("weights_in_files: channels go from the last place to the second, and back") {
  const tensor weight = tensor{2, 3, 4, 5}.with_channels_last();
  CHECK(detail::is_turned(weight));
  CHECK(detail::extents_in_files(weight) == std::vector<std::uint64_t>{2, 5, 3, 4});
  std::vector<float> numbers(120);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const std::vector<float> before = numbers;
  detail::file_bytes files;
  const auto bytes = files.of(std::span<float>(numbers), weight);
  std::vector<float> found(120);
  std::memcpy(found.data(), bytes.data(), bytes.size());
  for (std::size_t o = 0; o < 2; ++o)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t c = 0; c < 5; ++c) CHECK(found[((o * 5 + c) * 3 + i) * 4 + j] == before[((o * 3 + i) * 4 + j) * 5 + c]);
  numbers.assign(120, -1.0F);
  files.give_back();
  CHECK(numbers == before);
}

TEST_CASE("weights_in_files: other tensors are written where they lie") {
  std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  detail::file_bytes files;
  for (const tensor& t : {tensor{3, 2}, tensor{3, 2}.with_channels_last(), tensor{1, 3, 2}}) {
    CHECK(!detail::is_turned(t));
    CHECK(files.of(std::span<double>(numbers), t).data() == reinterpret_cast<const std::byte*>(numbers.data()));
  }
  CHECK(detail::extents_in_files(tensor{1, 3, 2}) == std::vector<std::uint64_t>{1, 3, 2});
  CHECK(detail::extents_in_files(tensor{}).empty());
}

TEST_CASE("weights_in_files: rows and columns of features are moved, and come back") {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  const std::vector<float> before = numbers;
  const tensor weight{2, 3};
  const detail::turned_features turned{{1, 0}, {2, 0, 1}};
  detail::file_bytes files;
  const auto bytes = files.of(std::span<float>(numbers), weight, &turned);
  std::vector<float> found(6);
  std::memcpy(found.data(), bytes.data(), bytes.size());
  CHECK(found == std::vector<float>{5, 3, 4, 2, 0, 1});
  numbers.assign(6, -1.0F);
  files.give_back();
  CHECK(numbers == before);
}

} // namespace weights_in_files_tests
