// SPDX-License-Identifier: MIT
#include <cairn/data/text/mask_tokens.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/text/token_windows.hpp>
#include <cairn/data/transform.hpp>
#include <doctest/doctest.h>

namespace mask_tokens_tests {

using namespace cairn;
using tokens = std::vector<std::int32_t>;

namespace {

constexpr std::int32_t words = 20, mask = 20, ignored = -100;

// A generated sample, without the mask.
tokens sample(std::size_t length, std::int32_t first = 0) {
  tokens out(length);
  for (std::size_t i = 0; i < length; ++i) out[i] = (first + static_cast<std::int32_t>(i) * 7) % words;
  return out;
}
struct result {
  tokens seen, targets;
  bool operator==(const result&) const = default;
};
result masked(const text::mask_tokens& how, tokens from, const types::random_key& key) {
  result out{std::move(from), tokens(0)};
  out.targets.assign(out.seen.size(), 12345);
  how(std::span(out.seen), std::span(out.targets), shape{out.seen.size()}, key);
  return out;
}
const text::mask_tokens usual{.mask = mask, .vocabulary = words};

} // namespace

TEST_CASE("mask_tokens: 15 % of the positions are targets, exactly, and all others are as they were") {
  static_assert(detail::sample_and_target_transform<text::mask_tokens, std::int32_t, std::int32_t>);
  for (const auto& [length, expected] :
       {std::pair<std::size_t, std::ptrdiff_t>{1, 1}, {3, 1}, {9, 1}, {10, 2}, {64, 10}, {100, 15}})
    for (std::uint64_t k = 0; k < 50; ++k) {
      const tokens from = sample(length);
      const auto [seen, targets] = masked(usual, from, detail::sample_key(1, 2, k));
      CHECK(std::count_if(targets.begin(), targets.end(), [](std::int32_t t) { return t != ignored; }) == expected);
      for (std::size_t i = 0; i < length; ++i) {
        CHECK((targets[i] == ignored || targets[i] == from[i]));
        CHECK((targets[i] != ignored || seen[i] == from[i]));
        CHECK((seen[i] >= 0 && seen[i] <= mask));
      }
    }
}

TEST_CASE("mask_tokens: every position is chosen equally often, and 80 : 10 : 10 of the tokens are replaced") {
  constexpr std::size_t length = 40, samples = 5000, chosen = 6 * samples; // 6 is 15 % of 40
  const tokens from(length, words); // another token than those that are drawn, and than the mask
  std::array<std::size_t, length> at{};
  std::array<std::size_t, words> drawn{};
  std::size_t masks = 0, unchanged = 0, neighbours = 0;
  for (std::uint64_t k = 0; k < samples; ++k) {
    const auto [seen, targets] = masked({.mask = words + 1, .vocabulary = words}, from, detail::sample_key(3, 0, k));
    for (std::size_t i = 0; i < length; ++i) {
      if (targets[i] == ignored) continue;
      ++at[i];
      neighbours += i > 0 && targets[i - 1] != ignored ? 1 : 0;
      if (seen[i] == words + 1) ++masks;
      else if (seen[i] == words) ++unchanged;
      else ++drawn[static_cast<std::size_t>(seen[i])];
    }
  }
  // Within five standard deviations of a binomial distribution.
  const auto near = [](std::size_t found, double n, double p) {
    const double off = static_cast<double>(found) - n * p;
    return off * off < 25 * n * p * (1 - p);
  };
  for (const std::size_t count : at) CHECK(near(count, samples, 0.15));
  CHECK(near(masks, chosen, 0.8));
  CHECK(near(unchanged, chosen, 0.1));
  for (const std::size_t count : drawn) CHECK(near(count, chosen, 0.1 / words));
  CHECK(near(neighbours, samples * (length - 1), 0.15 * 5 / 39)); // two positions are chosen as often as without a pattern
}

TEST_CASE("mask_tokens: tokens that are left out are neither chosen nor counted") {
  tokens from = sample(40);
  for (std::size_t i = 20; i < 40; ++i) from[i] = i % 2 == 0 ? 18 : 19;
  for (std::size_t i = 0; i < 20; ++i) from[i] %= 18;
  const text::mask_tokens how{.mask = mask, .vocabulary = words, .without = {18, 19}};
  for (std::uint64_t k = 0; k < 50; ++k) {
    const auto [seen, targets] = masked(how, from, detail::sample_key(1, 0, k));
    CHECK(std::count(targets.begin(), targets.end(), ignored) == 37); // 15 % of 20 are 3
    CHECK(std::equal(seen.begin() + 20, seen.end(), from.begin() + 20));
  }
  const auto [seen, targets] = masked(how, tokens{18, 19}, detail::sample_key(1, 0, 0));
  CHECK(seen == tokens{18, 19});
  CHECK(targets == tokens{ignored, ignored});
}

TEST_CASE("mask_tokens: other shares, another index to ignore, and other types of tokens") {
  const tokens from = sample(30);
  const types::random_key key = detail::sample_key(1, 0, 5);
  const auto all = masked({.mask = mask, .vocabulary = words, .share = 1, .masked = 1, .random = 0}, from, key);
  CHECK(all.seen == tokens(30, mask));
  CHECK(all.targets == from);
  const auto none = masked({.mask = mask, .vocabulary = words, .share = 1, .masked = 0, .random = 0}, from, key);
  CHECK(none.seen == from);
  const auto zeros = masked({.mask = mask, .vocabulary = 1, .share = 1, .masked = 0, .random = 1}, from, key);
  CHECK(zeros.seen == tokens(30, 0));
  const auto minus_one = masked({.mask = mask, .vocabulary = words, .ignore_index = -1}, from, key);
  CHECK(std::count(minus_one.targets.begin(), minus_one.targets.end(), -1) == 30 - 5);

  std::vector<std::int64_t> wide(from.begin(), from.end());
  std::vector<std::int16_t> targets(30);
  usual(std::span(wide), std::span(targets), shape{30}, key);
  const auto same = masked(usual, from, key);
  CHECK(std::equal(wide.begin(), wide.end(), same.seen.begin()));
  CHECK(std::equal(targets.begin(), targets.end(), same.targets.begin()));
}

TEST_CASE("mask_tokens: the choice is a function of seed, epoch and sample, the same on every machine") {
  const tokens from = sample(64);
  const result own = masked(usual, from, detail::sample_key(7, 3, 11));
  CHECK(own == masked(usual, from, detail::sample_key(7, 3, 11)));
  CHECK(own != masked(usual, from, detail::sample_key(8, 3, 11)));
  CHECK(own != masked(usual, from, detail::sample_key(7, 4, 11)));
  CHECK(own != masked(usual, from, detail::sample_key(7, 3, 12)));
  std::vector<std::size_t> chosen;
  tokens replaced;
  for (std::size_t i = 0; i < own.seen.size(); ++i)
    if (own.targets[i] != ignored) chosen.push_back(i), replaced.push_back(own.seen[i]);
  CHECK(chosen ==
        std::vector<std::size_t>{10, 13, 15, 16, 25, 41, 42, 53, 58, 60}); // computed in Python from Philox's definition
  CHECK(replaced == tokens{20, 20, 20, 20, 15, 19, 20, 20, 20, 20});
}

TEST_CASE("mask_tokens: any number of ranks and of batches ahead see the same masks, and each epoch has others") {
  tokens all(300);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i * i % words);
  const text::token_windows<16> data{std::move(all), 3};
  const auto rows = [&](int rank, int ranks, int epoch, std::size_t ahead) {
    loader batches{data, sampler{rank, ranks, epoch}, batch<4>{}, usual, {.prefetch = ahead, .seed = 5}};
    std::vector<result> out;
    for (const auto& [inputs, targets] : batches)
      for (std::size_t row = 0; row < inputs.rows(); ++row)
        out.push_back({tokens(inputs.row(row), inputs.row(row) + 16), tokens(targets.row(row), targets.row(row) + 16)});
    return out;
  };
  const std::vector<result> once = rows(0, 1, 2, 2);
  REQUIRE(once.size() == data.size());
  for (const result& each : once) CHECK(std::count(each.targets.begin(), each.targets.end(), ignored) == 14); // 16 - 2
  CHECK(once == rows(0, 1, 2, 0));
  CHECK(once == rows(0, 1, 2, 9));
  CHECK(once != rows(0, 1, 3, 2));
  for (const int ranks : {2, 3})
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<result> its = rows(rank, ranks, 2, 2);
      for (std::size_t i = 0; i < its.size(); ++i) {
        const std::size_t at = i * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank);
        CHECK(its[i] == once[at % once.size()]);
      }
    }
}

TEST_CASE("mask_tokens: options that make no sense are refused") {
  const tokens from = sample(8);
  const auto refused = [&](const text::mask_tokens& how, const char* text) {
    CHECK_THROWS_WITH_AS(masked(how, from, {}), doctest::Contains(text), input_error);
  };
  refused({}, "mask_tokens: expected a token .mask that takes the place of others, found -1");
  refused({.mask = mask}, "a .vocabulary of 1 token or more, from which random ones are taken, found 0");
  refused({.mask = mask, .vocabulary = words, .share = 0}, "a .share above 0 and up to 1, found 0.0");
  refused({.mask = mask, .vocabulary = words, .share = 15}, "a .share above 0 and up to 1, found 15.0");
  refused({.mask = mask, .vocabulary = words, .masked = 0.8, .random = 0.3}, "together at most 1, found 0.800000 and 0.300000");
  refused({.mask = mask, .vocabulary = words, .masked = -0.1}, "shares .masked and .random of 0 or more");
  refused({.mask = mask, .vocabulary = words, .ignore_index = std::int64_t{1} << 40}, "an .ignore_index that a target can be");
  std::vector<std::int8_t> small(8), labels(8);
  CHECK_THROWS_WITH_AS((text::mask_tokens{.mask = 128, .vocabulary = 128}(std::span(small), std::span(labels), shape{8}, {})),
                       doctest::Contains("a token .mask that takes the place of others, found 128"), input_error);
  CHECK_THROWS_WITH_AS((text::mask_tokens{.mask = 127, .vocabulary = 129}(std::span(small), std::span(labels), shape{8}, {})),
                       doctest::Contains("a .vocabulary of 1 token or more, from which random ones are taken, found 129"),
                       input_error);
  tokens fewer(7), seen = from;
  CHECK_THROWS_WITH_AS(usual(std::span(seen), std::span(fewer), shape{8}, {}),
                       "mask_tokens: expected a target for each of the 8 tokens of a sample, as token_windows has them, found 7",
                       input_error);
}

} // namespace mask_tokens_tests
