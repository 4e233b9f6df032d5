// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cairn/data/mixup.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/data/class_probabilities.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_horizontal_flip.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/data/transform.hpp>
#include <doctest/doctest.h>

namespace mixup_tests {

using namespace cairn;
using detail::sample_key;
using detail::symmetric_beta;
using vision::class_probabilities;
using vision::mixup;

namespace {

constexpr std::size_t samples = 40, pixels = 6, classes = 4;

// Sample i has the numbers i, i + 1/16, …, as (1, 6) pixels, and the class i % 4.
template <class T>
auto some_data() {
  std::vector<T> x(samples * pixels);
  std::vector<std::int32_t> y(samples);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i / pixels) + static_cast<T>(i % pixels) / T{16};
  for (std::size_t i = 0; i < samples; ++i) y[i] = static_cast<std::int32_t>(i % classes);
  return tensor_dataset{sample_array<T>{shape{1, pixels}, x}, sample_array<std::int32_t>{shape{}, y}};
}

// Shares from independent uniform numbers.
std::vector<double> many_shares(double alpha) {
  std::vector<double> all(200'000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto block = ops::random_block(types::random_key{.seed = 7}, i);
    all[i] = symmetric_beta(alpha, (block[0] + 1.0) * 0x1p-32, block[1] * 0x1p-32);
  }
  return all;
}
double mean_of(const std::vector<double>& all, auto f) {
  double sum = 0;
  for (const double x : all) sum += f(x);
  return sum / static_cast<double>(all.size());
}

template <class Dataset, class... Transform>
std::vector<float> epoch_of(const Dataset& soft, std::size_t threads, std::uint64_t seed, std::uint64_t epoch,
                            const Transform&... each) {
  std::vector<float> all;
  loader batches{soft, sequential_sampler{}, batch<8>{}, mixup{soft, {.alpha = 0.7}, each...},
                 types::loader_options{.threads = threads, .seed = seed}};
  for (const auto& [x, y] : batches.set_epoch(epoch)) {
    all.insert(all.end(), x.begin(), x.end());
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

} // namespace

TEST_CASE("mixup: shares have the moments of Beta(alpha, alpha), and lie between 0 and 1") {
  for (const double alpha : {0.05, 0.2, 0.5, 1.0, 2.0, 8.0}) {
    CAPTURE(alpha);
    const std::vector<double> all = many_shares(alpha);
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    CHECK(*least >= 0);
    CHECK(*most <= 1);
    CHECK(mean_of(all, [](double x) { return x; }) == doctest::Approx(0.5).epsilon(0.01));
    const double variance = 1 / (4 * (2 * alpha + 1)), fourth = 3 / (16 * (2 * alpha + 1) * (2 * alpha + 3));
    CHECK(mean_of(all, [](double x) { return (x - 0.5) * (x - 0.5); }) == doctest::Approx(variance).epsilon(0.01));
    CHECK(mean_of(all, [](double x) { return std::pow(x - 0.5, 4); }) == doctest::Approx(fourth).epsilon(0.02));
  }
}

TEST_CASE("mixup: shares have the distributions that are known in closed form") {
  const auto below = [](const std::vector<double>& all, double x) {
    return mean_of(all, [x](double s) { return s < x ? 1 : 0; });
  };
  const std::vector<double> even = many_shares(1), arcs = many_shares(0.5);
  for (const double x : {0.05, 0.25, 0.5, 0.8}) {
    CHECK(std::abs(below(even, x) - x) < 0.005);
    CHECK(std::abs(below(arcs, x) - 2 / std::acos(-1.0) * std::asin(std::sqrt(x))) < 0.005);
  }
}

TEST_CASE("mixup: a share is a number at the ends of what is drawn, and for a very small alpha") {
  for (const double alpha : {1e-6, 0.2, 1.0, 1e6})
    for (const double u : {0x1p-32, 0.5, 1.0})
      for (const double v : {0.0, 0.25, 0.5, 0.75, 1 - 0x1p-32}) {
        const double share = symmetric_beta(alpha, u, v);
        CHECK((share >= 0 && share <= 1));
      }
  CHECK(symmetric_beta(0.2, 1, 0) == 0.5);
  CHECK(symmetric_beta(1e-6, 0x1p-32, 0) == 1);
  CHECK(symmetric_beta(1e-6, 0x1p-32, 0.5) == 0);
}

TEST_CASE_TEMPLATE("mixup: a sample and its targets are mixed with those of the partner that is drawn", T, float, double) {
  const auto whole = some_data<T>();
  const class_probabilities soft{whole, classes};
  const mixup mixed{soft, {.alpha = 0.7}};
  static_assert(detail::sample_and_target_transform<std::remove_cvref_t<decltype(mixed)>, T, T>);
  std::vector<std::size_t> partners(samples);
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch)
    for (std::size_t i = 0; i < samples; ++i) {
      const auto key = sample_key(3, epoch, i);
      const auto of = mixed.draw(key);
      ++partners[of.partner];
      std::vector<T> x(pixels), y(classes), other(pixels), others(classes);
      soft.read(i, std::span(x), std::span(y));
      soft.read(of.partner, std::span(other), std::span(others));
      const auto own = static_cast<T>(of.share), rest = static_cast<T>(1 - of.share);
      std::vector<T> found = x, targets = y;
      mixed(std::span(found), std::span(targets), whole.sample_shape(), key);
      T sum = 0;
      for (std::size_t j = 0; j < pixels; ++j) REQUIRE(found[j] == own * x[j] + rest * other[j]);
      for (std::size_t j = 0; j < classes; ++j) REQUIRE(targets[j] == own * y[j] + rest * others[j]);
      for (const T target : targets) sum += target;
      REQUIRE(std::abs(sum - 1) < T(1e-6));
    }
  CHECK(*std::min_element(partners.begin(), partners.end()) > 20); // 50 each, with a standard deviation of 7
  CHECK(*std::max_element(partners.begin(), partners.end()) < 85);
}

TEST_CASE("mixup: the same samples for any number of threads, and others in another epoch or of another seed") {
  const auto whole = some_data<float>();
  const class_probabilities soft{whole, classes};
  const std::vector<float> first = epoch_of(soft, 1, 5, 2);
  CHECK(first.size() == samples * (pixels + classes));
  CHECK(epoch_of(soft, 1, 5, 2) == first);
  CHECK(epoch_of(soft, 3, 5, 2) == first);
  CHECK(epoch_of(soft, 1, 5, 3) != first);
  CHECK(epoch_of(soft, 1, 6, 2) != first);
}

TEST_CASE("mixup: several threads that mix at once do not disturb each other") {
  const auto whole = some_data<double>();
  const class_probabilities soft{whole, classes};
  const mixup mixed{soft, {.alpha = 0.7}};
  const auto all_of = [&] {
    std::vector<double> all;
    for (std::size_t i = 0; i < 5 * samples; ++i) {
      std::vector<double> x(pixels), y(classes);
      soft.read(i % samples, std::span(x), std::span(y));
      mixed(std::span(x), std::span(y), whole.sample_shape(), sample_key(1, i / samples, i % samples));
      all.insert(all.end(), x.begin(), x.end());
    }
    return all;
  };
  const std::vector<double> expected = all_of();
  std::vector<std::vector<double>> found(3);
  std::vector<std::thread> threads;
  for (auto& own : found) threads.emplace_back([&] { own = all_of(); });
  for (std::thread& each : threads) each.join();
  for (const auto& own : found) CHECK(own == expected);
}

TEST_CASE("mixup: a loader that goes on in the middle of an epoch reads what it would have read") {
  const auto whole = some_data<float>();
  const class_probabilities soft{whole, classes};
  loader batches{soft, sequential_sampler{}, batch<8>{}, mixup{soft}, types::loader_options{.seed = 5}};
  std::vector<float> all, rest;
  for (const auto& [x, y] : batches.set_epoch(4)) all.insert(all.end(), x.begin(), x.end());
  batches.go_to({4, 3});
  for (const auto& [x, y] : batches) rest.insert(rest.end(), x.begin(), x.end());
  CHECK(rest == std::vector<float>(all.begin() + 3 * 8 * pixels, all.end()));
}

TEST_CASE("mixup: a transform is called for a sample and for its partner, with random numbers of their own") {
  const auto whole = some_data<float>();
  const class_probabilities soft{whole, classes};
  const auto negate = [](std::span<float> x, const shape&, const types::random_key&) {
    for (float& each : x) each = -each;
  };
  const std::vector<float> plain = epoch_of(soft, 1, 5, 2), turned = epoch_of(soft, 1, 5, 2, negate);
  const auto of_batch = 8 * (pixels + classes); // its images, then its targets
  for (std::size_t i = 0; i < plain.size(); ++i) REQUIRE(turned[i] == (i % of_batch < 8 * pixels ? -plain[i] : plain[i]));

  std::vector<std::uint64_t> seeds;
  const auto note = [&](std::span<float>, const shape&, const types::random_key& key) { seeds.push_back(key.seed); };
  const mixup noted{soft, {}, note};
  std::vector<float> x(pixels), y(classes);
  noted(std::span(x), std::span(y), whole.sample_shape(), sample_key(1, 2, 3));
  REQUIRE(seeds.size() == 2);
  CHECK(seeds[0] != seeds[1]);
  CHECK(epoch_of(soft, 3, 5, 2, vision::random_horizontal_flip{}) == epoch_of(soft, 1, 5, 2, vision::random_horizontal_flip{}));
  CHECK(epoch_of(soft, 1, 5, 2, vision::random_horizontal_flip{}) != plain);
}

TEST_CASE("mixup: options and samples that do not fit are errors") {
  const auto whole = some_data<float>();
  const class_probabilities soft{whole, classes};
  for (const double alpha : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_WITH_AS((mixup{soft, {.alpha = alpha}}),
                         doctest::Contains("mixup: expected an alpha above 0, such as 0.2, found "), input_error);
  const tensor_dataset none{sample_array{shape{2}, std::vector<float>{}}, sample_array{shape{1}, std::vector<float>{}}};
  CHECK_THROWS_WITH_AS((mixup{none}), doctest::Contains("found one without any"), input_error);
  std::vector<float> x(pixels + 1), y(classes);
  CHECK_THROWS_WITH_AS(mixup{soft}(std::span(x), std::span(y), whole.sample_shape(), sample_key(1, 2, 3)),
                       doctest::Contains("expected samples of 6 numbers with 4 targets, as its dataset has, found 7 and 4"),
                       input_error);
}

} // namespace mixup_tests
