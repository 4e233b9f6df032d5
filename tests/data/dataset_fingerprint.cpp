// SPDX-License-Identifier: MIT
#include <cairn/data/dataset_fingerprint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include <cairn/data/image_dataset.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/target_transform.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

namespace dataset_fingerprint_tests {

using namespace cairn;
using detail::fingerprint_of;

namespace {

constexpr std::size_t width = 3;

template <class Input = float, class Target = int>
tensor_dataset<Input, Target> counted(std::size_t size, std::size_t odd = ~std::size_t{0}, bool odd_target = false) {
  std::vector<Input> x(size * width);
  std::vector<Target> y(size);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Input>(i % 100);
  for (std::size_t i = 0; i < size; ++i) y[i] = static_cast<Target>(i % 10);
  if (odd < size && odd_target) y[odd] += 1;
  else if (odd < size) x[odd * width + width - 1] += 1;
  return {shape{width}, std::move(x), 1, std::move(y)};
}

// Records which samples are read. It can be made to read at random or to throw.
struct watched {
  using input_type = float;
  using target_type = int;
  std::size_t count = 1000;
  bool is_random = false;
  std::size_t lost = ~std::size_t{0}; // read() throws for this one
  mutable std::vector<std::size_t> read_so_far{};

  std::size_t size() const { return count; }
  static shape sample_shape() { return {width}; }
  static std::size_t targets_per_sample() { return 1; }
  void read(std::size_t i, std::span<float> input, std::span<int> target) const {
    if (i == lost) throw std::runtime_error("no such picture");
    read_so_far.push_back(i);
    for (float& x : input) x = is_random ? static_cast<float>(read_so_far.size()) : static_cast<float>(i);
    target[0] = 0;
  }
};

// Has a fingerprint of its own, and cannot be read.
struct numbered {
  using input_type = float;
  using target_type = int;
  std::uint64_t number = 1;

  static std::size_t size() { return 100; }
  static shape sample_shape() { return {width}; }
  static std::size_t targets_per_sample() { return 1; }
  static void read(std::size_t, std::span<float>, std::span<int>) { throw std::logic_error("read() was called"); }
  std::uint64_t fingerprint() const { return number; }
};
static_assert(detail::fingerprinted_dataset<numbered> && !detail::fingerprinted_dataset<watched>);

} // namespace

TEST_CASE("dataset_fingerprint: equal datasets have equal numbers, others another") {
  std::set<std::uint64_t> seen;
  const auto is_new = [&](const auto& data) { return seen.insert(fingerprint_of(data)).second; };
  for (const std::size_t size : {0U, 1U, 2U, 63U, 64U, 65U, 1000U}) {
    CHECK(is_new(counted(size)));
    CHECK_FALSE(is_new(counted(size)));
    if (size == 0) continue;
    for (const std::size_t odd : std::set<std::size_t>{0, size - 1}) {
      CHECK(is_new(counted(size, odd)));
      CHECK(is_new(counted(size, odd, true)));
    }
  }
  CHECK(is_new(counted(64, 30))); // of a small dataset all samples are read
  CHECK(is_new(counted<double>(64)));
  CHECK(is_new(counted<float, float>(64)));
  CHECK(is_new(counted<float, unsigned>(64)));
  const auto same = counted(64);
  CHECK_FALSE(is_new(view_dataset{same.inputs(), same.targets()}));
  const auto& x = same.inputs();
  CHECK(is_new(tensor_dataset<float, int>{shape{1, width}, {x.data(), x.data() + x.size()}, 1, std::vector<int>(64)}));
  CHECK(is_new(tensor_dataset{sample_array{shape{2}, std::vector<float>{1, 2, 3, 4}},
                              sample_array{shape{}, std::vector<int>{5, 6}}, sample_array{shape{}, std::vector<int>{7, 8}}}));
  CHECK(is_new(tensor_dataset{sample_array{shape{2}, std::vector<float>{1, 2, 3, 4}},
                              sample_array{shape{}, std::vector<int>{5, 7}}, sample_array{shape{}, std::vector<int>{7, 8}}}));
  const vision::image_dataset<float> images({2, 1}, {1, 2, 3, 4}, {0, 1}), scaled({2, 1}, {1, 2, 3, 4}, {0, 1}, {.mean = 0.5});
  CHECK(is_new(images));
  CHECK(is_new(scaled));
}

TEST_CASE("dataset_fingerprint: as many samples are read of any dataset, each twice, from the first to the last") {
  const watched many;
  CHECK(fingerprint_of(many) != 0);
  REQUIRE(many.read_so_far.size() == 2 * detail::fingerprint_samples);
  CHECK(many.read_so_far.front() == 0);
  CHECK(many.read_so_far.back() == 999);
  CHECK(std::set(many.read_so_far.begin(), many.read_so_far.end()).size() == detail::fingerprint_samples);
  const watched few{.count = 5};
  CHECK(fingerprint_of(few) != 0);
  CHECK(few.read_so_far == std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  for (const std::size_t size : {std::size_t{65}, std::size_t{60'000}, ~std::size_t{0}}) { // no product overflows 64 bits
    CHECK(detail::fingerprint_sample(0, size) == 0);
    CHECK(detail::fingerprint_sample(detail::fingerprint_samples - 1, size) == size - 1);
    for (std::size_t k = 1; k < detail::fingerprint_samples; ++k)
      CHECK(detail::fingerprint_sample(k - 1, size) < detail::fingerprint_sample(k, size));
  }
}

TEST_CASE("dataset_fingerprint: a dataset that reads at random, or throws, cannot be told from another") {
  CHECK(fingerprint_of(watched{.is_random = true}) == 0);
  CHECK(fingerprint_of(watched{.lost = 0}) == 0);
  CHECK(fingerprint_of(watched{.lost = 999}) == 0);
  CHECK(fingerprint_of(watched{.lost = 1}) == fingerprint_of(watched{})); // sample 1 is not among the 64
  struct without_memory : watched {
    void read(std::size_t, std::span<float>, std::span<int>) const { throw std::bad_alloc(); }
  };
  CHECK_THROWS_AS(fingerprint_of(without_memory{}), std::bad_alloc);
}

TEST_CASE("dataset_fingerprint: a dataset that knows its number is not read, and neither are parts of it") {
  const numbered one{1}, two{2}, unknown{0};
  CHECK(fingerprint_of(one) == fingerprint_of(numbered{1}));
  CHECK(fingerprint_of(one) != fingerprint_of(two));
  CHECK(fingerprint_of(unknown) == 0);
  const subset first(one, {1, 2}), same(one, {1, 2}), turned(one, {2, 1}), other(two, {1, 2}), lost(unknown, {1, 2});
  CHECK(fingerprint_of(first) != 0);
  CHECK(fingerprint_of(first) == fingerprint_of(same));
  CHECK(fingerprint_of(first) != fingerprint_of(turned));
  CHECK(fingerprint_of(first) != fingerprint_of(other));
  CHECK(fingerprint_of(lost) == 0);
  const auto negated = [](int label) { return -label; };
  const numbered same_one{1};
  CHECK(fingerprint_of(target_transform{one, negated}) == fingerprint_of(target_transform{same_one, negated}));
}

TEST_CASE("dataset_fingerprint: parts and other targets of a dataset are known by what is read of them") {
  const auto data = counted(100), other = counted(100, 7);
  const std::vector<std::size_t> with{1, 7}, without{1, 8};
  CHECK(fingerprint_of(subset(data, with)) != fingerprint_of(subset(other, with)));
  CHECK(fingerprint_of(subset(data, without)) == fingerprint_of(subset(other, without)));
  const target_transform plus(data, [](int label) { return label + 1; });
  const target_transform minus(data, [](int label) { return label - 1; });
  CHECK(fingerprint_of(plus) != fingerprint_of(minus));
}

TEST_CASE("dataset_fingerprint: a loader reads the samples once, when it is asked, and before the transform") {
  const watched data;
  const auto twice = [](std::span<float> sample, const shape&, const types::random_key&) {
    for (float& x : sample) x *= 2;
  };
  loader batches{data, sequential_sampler{}, batch<8>{}, twice, {.prefetch = 0}};
  CHECK(data.read_so_far.empty());
  const std::uint64_t number = batches.dataset_fingerprint();
  CHECK(number == fingerprint_of(watched{}));
  CHECK(batches.dataset_fingerprint() == number);
  CHECK(data.read_so_far.size() == 2 * detail::fingerprint_samples);
}

} // namespace dataset_fingerprint_tests
