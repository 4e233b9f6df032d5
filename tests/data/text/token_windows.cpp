// SPDX-License-Identifier: MIT
#include <cairn/data/text/token_windows.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/dataset_fingerprint.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_split.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <doctest/doctest.h>

namespace token_windows_tests {

using namespace cairn;

namespace {

// Generated tokens, each of which says where it stands.
template <class Token = std::int32_t>
std::vector<Token> counted(std::size_t count) {
  std::vector<Token> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<Token>(i);
  return tokens;
}

using window = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;

template <std::size_t Length, class Token>
window sample(const text::token_windows<Length, Token>& data, std::size_t index) {
  window out{std::vector<std::int32_t>(Length), std::vector<std::int32_t>(Length)};
  data.read(index, out.first, out.second);
  return out;
}

// The first tokens of all samples that a pass reads, batch by batch; each sample is checked as a whole.
template <class Loader>
std::vector<std::int32_t> beginnings(Loader& batches) {
  std::vector<std::int32_t> out;
  for (const auto& [tokens, targets] : batches)
    for (std::size_t row = 0; row < tokens.rows(); ++row) {
      const std::int32_t* const from = tokens.row(row);
      for (std::size_t i = 0; i < tokens.sample_shape().size(); ++i)
        CHECK((from[i] == from[0] + static_cast<std::int32_t>(i) && targets.row(row)[i] == from[i] + 1));
      out.push_back(from[0]);
    }
  return out;
}

} // namespace

TEST_CASE("token_windows: sample i is a window, and its targets are one token later") {
  const text::token_windows<3> data{counted(8)};
  static_assert(dataset<std::remove_cvref_t<decltype(data)>>);
  CHECK(data.size() == 5); // beginning at 0 … 4
  CHECK(data.sample_shape() == shape{3});
  CHECK(data.targets_per_sample() == 3);
  CHECK(sample(data, 0) == window{{0, 1, 2}, {1, 2, 3}});
  CHECK(sample(data, 4) == window{{4, 5, 6}, {5, 6, 7}}); // the last token is only a target
}

TEST_CASE("token_windows: a stride leaves windows out, and one of Length has each token once") {
  for (std::size_t count = 4; count < 30; ++count)
    for (std::size_t stride = 1; stride < 12; ++stride) {
      const text::token_windows<3> data{counted(count), stride};
      std::size_t expected = 0;
      for (std::size_t begin = 0; begin + 4 <= count; begin += stride) {
        const auto first = static_cast<std::int32_t>(begin);
        CHECK(sample(data, expected++) == window{{first, first + 1, first + 2}, {first + 1, first + 2, first + 3}});
      }
      CHECK(data.size() == expected);
    }
  const text::token_windows<3> sides = text::token_windows<3>{counted(10)}.with_stride(3);
  CHECK(sides.stride() == 3);
  REQUIRE(sides.size() == 3);
  CHECK(sample(sides, 2) == window{{6, 7, 8}, {7, 8, 9}});
}

TEST_CASE("token_windows: a vector is owned and a span is borrowed, and neither is copied by parts") {
  std::vector<std::int32_t> tokens = counted(20);
  const text::token_windows<3> borrowed{std::span<const std::int32_t>(tokens)};
  CHECK(borrowed.tokens().data() == tokens.data());
  CHECK(borrowed.split(0.5)[1].tokens().data() == tokens.data() + 10);
  tokens[2] = 99;
  CHECK(sample(borrowed, 0).first[2] == 99);

  const std::int32_t* const memory = tokens.data();
  std::optional<text::token_windows<3>> owned{std::in_place, std::move(tokens)};
  CHECK(owned->tokens().data() == memory); // moved, not copied
  const auto copy = *owned;
  owned.reset();
  CHECK(copy.tokens().data() == memory);
  // Each part alone keeps the tokens alive, which a build with AddressSanitizer can see.
  const auto part = [](std::size_t k) { return text::token_windows<3>{counted(20)}.split(0.5)[k]; };
  CHECK(sample(part(0), 0) == window{{0, 1, 2}, {1, 2, 3}});
  CHECK(sample(part(1), 0) == window{{10, 11, 12}, {11, 12, 13}});
}

TEST_CASE("token_windows: small types of tokens become int32") {
  const text::token_windows<2, std::uint8_t> bytes{std::vector<std::uint8_t>{250, 255, 0, 200}};
  CHECK(sample(bytes, 0) == window{{250, 255}, {255, 0}});
  const text::token_windows<2, std::uint16_t> words{std::vector<std::uint16_t>{50256, 65535, 7}};
  CHECK(sample(words, 0) == window{{50256, 65535}, {65535, 7}});
}

TEST_CASE("token_windows: split holds out the last tokens, and no window has tokens of both parts") {
  const auto [train, held_out] = text::token_windows<4>{counted(100), 2}.split(0.9);
  CHECK(train.tokens().size() == 90);
  CHECK(held_out.tokens().size() == 10);
  CHECK(held_out.stride() == 2);
  CHECK(sample(train, train.size() - 1).second.back() < 90);
  CHECK(sample(held_out, 0).first.front() == 90);
  CHECK_THROWS_WITH_AS(
      (text::token_windows<4>{counted(100)}.split(0.97)),
      "token_windows: expected at least 5 tokens, a window of 4 and the one after it, found 3; give more text, or "
      "take shorter windows",
      input_error);
  for (const double share : {0.0, 1.0, -0.5, 90.0})
    CHECK_THROWS_WITH_AS((text::token_windows<4>{counted(100)}.split(share)),
                         doctest::Contains("expected a share between 0 and 1"), input_error);
}

TEST_CASE("token_windows: a text that is too short and a stride of 0 are refused") {
  CHECK_NOTHROW(text::token_windows<4>{counted(5)});
  CHECK_THROWS_WITH_AS((text::token_windows<4>{counted(4)}), doctest::Contains("expected at least 5 tokens"), input_error);
  CHECK_THROWS_WITH_AS((text::token_windows<4>{std::vector<std::int32_t>{}}), doctest::Contains("found 0"), input_error);
  CHECK_THROWS_WITH_AS((text::token_windows<4>{counted(9), 0}), "token_windows: expected a stride of 1 or more, found 0",
                       input_error);
}

TEST_CASE("token_windows: the fingerprint is that of tokens, length and stride") {
  const auto fingerprint = [](const auto& data) { return detail::fingerprint_of(data); };
  const text::token_windows<8> data{counted(10000)};
  static_assert(detail::fingerprinted_dataset<std::remove_cvref_t<decltype(data)>>);
  const std::uint64_t own = fingerprint(data);
  CHECK(own == fingerprint(text::token_windows<8>{counted(10000)}));
  CHECK(own == fingerprint(text::token_windows<8, std::uint16_t>{counted<std::uint16_t>(10000)}));
  CHECK(own != fingerprint(text::token_windows<9>{counted(10000)}));
  CHECK(own != fingerprint(text::token_windows<8>{counted(10001)}));
  CHECK(own != fingerprint(data.with_stride(2)));
  // Strides that make equally many windows.
  CHECK(data.with_stride(2800).size() == data.with_stride(3000).size());
  CHECK(fingerprint(data.with_stride(2800)) != fingerprint(data.with_stride(3000)));
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, std::size_t{9999}}) {
    auto other = counted(10000);
    other[at] += 1;
    CHECK(own != fingerprint(text::token_windows<8>{std::move(other)}));
  }
}

TEST_CASE("token_windows: loaders read it in order, shuffled, by ranks and from the middle of an epoch") {
  const text::token_windows<5> data{counted(43), 2}; // 19 windows
  REQUIRE(data.size() == 19);
  loader in_order{data, sequential_sampler{}, batch<4>{}};
  std::vector<std::int32_t> expected;
  for (std::int32_t i = 0; i < 19; ++i) expected.push_back(2 * i);
  CHECK(beginnings(in_order) == expected);

  loader shuffled{data, sampler{0, 1, 3}, batch<6>{}};
  const std::vector<std::int32_t> once = beginnings(shuffled);
  CHECK(once != expected);
  CHECK(beginnings(shuffled) != once); // another epoch
  for (const int ranks : {2, 3}) {     // step k of all ranks reads what step k of one rank reads, with as many samples
    std::vector<std::int32_t> together(once.size() + 5, -1);
    for (int rank = 0; rank < ranks; ++rank) {
      loader own{data, sampler{rank, ranks, 3}, batch<2>{}};
      const std::vector<std::int32_t> its = beginnings(own);
      for (std::size_t i = 0; i < its.size(); ++i)
        together[i * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank)] = its[i];
    }
    CHECK(std::equal(once.begin(), once.end(), together.begin()));
  }

  loader resumed{data, sampler{0, 1, 3}, batch<6>{}};
  CHECK(resumed.dataset_fingerprint() == shuffled.dataset_fingerprint());
  resumed.go_to({.epoch = 3, .batch = 2});
  CHECK(beginnings(resumed) == std::vector<std::int32_t>(once.begin() + 12, once.end()));
}

TEST_CASE("token_windows: parts by random_split are datasets too") {
  const text::token_windows<5> data{counted(43)};
  const auto parts = random_split(data, {0.5, 0.5}, seed{1});
  CHECK(parts[0].size() + parts[1].size() == data.size());
  loader batches{parts[0], sequential_sampler{}, batch<4>{}};
  CHECK(beginnings(batches).size() == parts[0].size());
  CHECK(parts[0].fingerprint() != parts[1].fingerprint());
}

} // namespace token_windows_tests
