// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include <cairn/data/compose.hpp>
#include <cairn/data/image_dataset.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_crop.hpp>
#include <cairn/data/random_horizontal_flip.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/transform.hpp>

namespace compose_tests {

using namespace cairn;

namespace {

// Appends its digit to the number in the sample, so that the order of calls can be read.
struct append_digit {
  float digit = 0;
  void operator()(std::span<float> sample, const shape&, const types::random_key&) const { sample[0] = 10 * sample[0] + digit; }
};
struct note_key {
  std::vector<types::random_key>* keys;
  void operator()(std::span<float>, const shape&, const types::random_key& key) const { keys->push_back(key); }
};
struct add_to_both {
  void operator()(std::span<float> numbers, std::span<int> mask, const std::array<shape, 2>& shapes,
                  const types::random_key&) const {
    numbers[0] += static_cast<float>(shapes[1].size());
    ++mask[0];
  }
};

using augmentation = compose<vision::random_crop, vision::random_horizontal_flip>;
static_assert(detail::sample_transform<augmentation, float> && detail::sample_transform<compose<>, float>);
static_assert(!detail::sample_transform<compose<append_digit>, double>);
static_assert(detail::sample_transform<compose<add_to_both, detail::no_transform>, types::input_types<float, int>>);
static_assert(!detail::sample_transform<compose<add_to_both, append_digit>, types::input_types<float, int>>);

vision::image_dataset<float> numbered_images(std::size_t count) {
  std::vector<std::uint8_t> pixels(count * 6 * 6 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
  const std::array<vision::pixel_scale, 3> scales{vision::pixel_scale{0.4, 0.2}, vision::pixel_scale{0.5, 0.3},
                                                  vision::pixel_scale{0.6, 0.1}};
  return {shape{6, 6, 3}, std::move(pixels), std::vector<std::uint8_t>(count), scales};
}

// Every picture of epoch 1, in the order of the samples.
std::vector<float> pictures(const vision::image_dataset<float>& data, const types::loader_options& options,
                            types::loader_place from = {1, 0}) {
  loader batches{data, sequential_sampler{}, batch<8>{},
                 compose{vision::random_crop{.padding = 2, .fill = data.black()}, vision::random_horizontal_flip{}}, options};
  batches.go_to(from);
  std::vector<float> all;
  for (const auto& [images, labels] : batches) all.insert(all.end(), images.data(), images.data() + images.size());
  return all;
}

} // namespace

TEST_CASE("compose calls its transforms in their order") {
  std::vector<float> sample{0};
  compose{append_digit{1}, append_digit{2}, append_digit{3}}(std::span<float>(sample), shape{1}, types::random_key{});
  CHECK(sample[0] == 123);
  std::vector<int> mask{0, 0};
  compose{add_to_both{}, detail::no_transform{}, add_to_both{}}(std::span<float>(sample), std::span<int>(mask),
                                                                std::array<shape, 2>{shape{1}, shape{2}}, types::random_key{});
  CHECK(sample[0] == 127);
  CHECK(mask[0] == 2);
}

TEST_CASE("compose gives each transform a stream of its own, in a list inside a list too") {
  std::vector<float> sample{0};
  std::vector<types::random_key> keys;
  const note_key note{&keys};
  const compose nested{note, compose<note_key, note_key>{note, note}, note};
  std::set<std::array<std::uint32_t, 4>> numbers;
  const types::random_key key = detail::sample_key(1, 2, 3);
  nested(std::span<float>(sample), shape{1}, key);
  nested(std::span<float>(sample), shape{1}, key);
  nested(std::span<float>(sample), shape{1}, detail::sample_key(1, 2, 4));
  nested(std::span<float>(sample), shape{1}, detail::sample_key(1, 3, 3));
  REQUIRE(keys.size() == 16);
  for (const types::random_key& each : keys) numbers.insert(ops::random_block(each, 0));
  CHECK(numbers.size() == 12); // the repeated sample of the same epoch has the same four streams
  for (std::size_t i = 0; i < 4; ++i) CHECK(keys[i] == keys[4 + i]);
}

TEST_CASE("crops and flips in a loader depend on seed, epoch and sample, not on how batches are made") {
  const auto data = numbered_images(20);
  const auto expected = pictures(data, {.prefetch = 0, .seed = 3});
  REQUIRE(expected.size() == 20 * 108);
  CHECK(pictures(data, {.prefetch = 3, .seed = 3}) == expected);
  CHECK(pictures(data, {.rows = 5, .prefetch = 1, .seed = 3}) == expected);
  CHECK_FALSE(pictures(data, {.prefetch = 0, .seed = 4}) == expected);
  CHECK_FALSE(pictures(data, {.prefetch = 0, .seed = 3}, {2, 0}) == expected);
  // A job that is resumed after its first batch sees the same pictures as one that was never stopped.
  const auto rest = pictures(data, {.seed = 3}, {1, 1});
  CHECK(rest == std::vector<float>(expected.begin() + 8 * 108, expected.end()));
}

TEST_CASE("a sample is cropped and flipped independently, all ways to do both are seen") {
  const auto data = numbered_images(1);
  std::set<std::vector<float>> seen;
  for (std::uint64_t epoch = 0; epoch < 700; ++epoch) seen.insert(pictures(data, {.prefetch = 0}, {epoch, 0}));
  CHECK(seen.size() == 50); // 25 places, mirrored or not; the probability that one is never seen is below 50 (49/50)^700 < 4e-5
}

} // namespace compose_tests
