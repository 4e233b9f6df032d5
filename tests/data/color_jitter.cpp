// SPDX-License-Identifier: MIT
#include <cairn/data/color_jitter.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/image_dataset.hpp>
#include <cairn/data/transform.hpp>
#include <doctest/doctest.h>

namespace color_jitter_tests {

using namespace cairn;
using vision::color_jitter;

static_assert(detail::sample_transform<color_jitter, float> && detail::sample_transform<color_jitter, double>);

namespace {

const std::vector<double> picture{0.1, 0.2, 0.8, 0.5, 0.5, 0.5, 0.9, 0.4, 0.1, 0.3, 0.7, 0.6, 0.0, 0.0, 0.25, 1.0, 1.0, 0.0};

// The greatest difference between one change of the picture and numbers of torchvision 0.29: adjust_brightness and so on.
double apart(void (*change)(std::span<double>, std::size_t, double), double factor, const std::vector<double>& expected,
             std::vector<double> of = picture, std::size_t channels = 3) {
  change(of, channels, factor);
  double most = of.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(of.size(), expected.size()); ++i) most = std::max(most, std::abs(of[i] - expected[i]));
  return most;
}
std::vector<double> jittered(const color_jitter& by, std::uint64_t round, std::vector<double> of = picture,
                             shape as = {2, 3, 3}) {
  by(std::span(of), as, detail::sample_key(5, round, 3));
  return of;
}
std::string said_of(const color_jitter& by, const shape& as = {2, 3, 3}) {
  try {
    jittered(by, 1, picture, as);
  } catch (const input_error& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

TEST_CASE("color_jitter: each change has torchvision's numbers") {
  constexpr double digits = 1e-6; // that are written here
  CHECK(apart(color_jitter::brighten<double>, 1.6,
              {0.16, 0.32, 1.0, 0.8, 0.8, 0.8, 1.0, 0.64, 0.16, 0.48, 1.0, 0.96, 0.0, 0.0, 0.4, 1.0, 1.0, 0.0}) < digits);
  CHECK(apart(color_jitter::contrasted<double>, 0.4,
              {0.313702, 0.353702, 0.593702, 0.473702, 0.473702, 0.473702, 0.633702, 0.433702, 0.313702, 0.393702, 0.553702,
               0.513702, 0.273702, 0.273702, 0.373702, 0.673702, 0.673702, 0.273702}) < digits);
  CHECK(apart(color_jitter::contrasted<double>, 1.7,
              {0.0, 0.020681, 1.0, 0.530681, 0.530681, 0.530681, 1.0, 0.360681, 0.0, 0.190681, 0.870681, 0.700681, 0.0, 0.0,
               0.105681, 1.0, 1.0, 0.0}) < digits);
  CHECK(apart(color_jitter::saturate<double>, 0.3,
              {0.196943, 0.226943, 0.406943, 0.499965, 0.499965, 0.499965, 0.630647, 0.480647, 0.390647, 0.488279, 0.608279,
               0.578279, 0.01995, 0.01995, 0.09495, 0.92013, 0.92013, 0.62013}) < digits);
  CHECK(apart(color_jitter::saturate<double>, 1.8,
              {0.0, 0.169208, 1.0, 0.50004, 0.50004, 0.50004, 1.0, 0.307832, 0.0, 0.084824, 0.804824, 0.624824, 0.0, 0.0, 0.4272,
               1.0, 1.0, 0.0}) < digits);
  CHECK(apart(color_jitter::turn<double>, 0.2,
              {0.8, 0.1, 0.76, 0.5, 0.5, 0.5, 0.44, 0.9, 0.1, 0.3, 0.32, 0.7, 0.25, 0.0, 0.2, 0.0, 1.0, 0.2}) < digits);
  CHECK(apart(color_jitter::turn<double>, -0.45,
              {0.69, 0.8, 0.1, 0.5, 0.5, 0.5, 0.1, 0.36, 0.9, 0.7, 0.32, 0.3, 0.175, 0.25, 0.0, 0.3, 0.0, 1.0}) < digits);
  const std::vector<double> gray{0.1, 0.5, 0.9, 0.3, 0.0, 1.0};
  CHECK(apart(color_jitter::contrasted<double>, 0.4, {0.32, 0.48, 0.64, 0.4, 0.28, 0.68}, gray, 1) < digits);
  CHECK(apart(color_jitter::saturate<double>, 0.4, gray, gray, 1) == 0);
  CHECK(apart(color_jitter::turn<double>, 0.4, gray, gray, 1) == 0);
}

TEST_CASE("color_jitter: factors fill their range, and the order of the changes is drawn") {
  double darkest = 9, brightest = 0;
  std::set<std::vector<double>> orders;
  for (std::uint64_t round = 0; round < 500; ++round) {
    const double factor = jittered({.brightness = 0.3}, round)[0] / picture[0]; // 0.1 is cut by no factor
    CHECK(factor > 0.7 - 1e-12);
    CHECK(factor < 1.3 + 1e-12);
    darkest = std::min(darkest, factor), brightest = std::max(brightest, factor);
  }
  CHECK(darkest < 0.72);
  CHECK(brightest > 1.28);
  for (std::uint64_t round = 0; round < 20; ++round) CHECK(jittered({.brightness = 3}, round)[0] >= 0); // the least factor is 0

  // All changes with the factors of one key, in the order that gives what the jitter gives: each of the 24 comes up.
  const auto key_of = [](std::uint64_t round) { return detail::sample_key(5, round, 3); };
  for (std::uint64_t round = 0; round < 400; ++round) {
    const color_jitter all{.brightness = 0.3, .contrast = 0.4, .saturation = 0.5, .hue = 0.3};
    const std::vector<double> expected = jittered(all, round);
    const auto at = [&](std::uint64_t k, double least, double most) {
      return least + (most - least) * ops::random_uniform<double>(key_of(round), k);
    };
    std::vector<int> order{0, 1, 2, 3};
    do {
      std::vector<double> image = picture;
      for (const int k : order) {
        if (k == 0) color_jitter::brighten<double>(image, 3, at(0, 0.7, 1.3));
        if (k == 1) color_jitter::contrasted<double>(image, 3, at(1, 0.6, 1.4));
        if (k == 2) color_jitter::saturate<double>(image, 3, at(2, 0.5, 1.5));
        if (k == 3) color_jitter::turn<double>(image, 3, at(3, -0.3, 0.3));
      }
      double apart = 0;
      for (std::size_t i = 0; i < image.size(); ++i) apart = std::max(apart, std::abs(image[i] - expected[i]));
      if (apart < 1e-12) orders.insert({order.begin(), order.end()});
    } while (std::next_permutation(order.begin(), order.end()));
  }
  CHECK(orders.size() == 24);
}

TEST_CASE("color_jitter: values lie between the dataset's black and white, and nothing changes without a width") {
  const vision::image_dataset<double> data(
      shape{1, 2, 3}, {0, 255, 51, 102, 255, 0}, {1},
      std::array{vision::pixel_scale{.mean = 0.5, .deviation = 0.25}, vision::pixel_scale{.mean = 0.1}, vision::pixel_scale{}});
  CHECK(data.white() == vision::pixel_value{2, 0.9, 1});
  std::vector<double> sample(6);
  std::int32_t label = 0;
  data.read(0, sample, std::span(&label, 1));
  const color_jitter none{.black = data.black(), .white = data.white()};
  const auto same = jittered(none, 1, sample, {1, 2, 3});
  for (std::size_t i = 0; i < 6; ++i) CHECK(same[i] == doctest::Approx(sample[i]));
  for (std::uint64_t round = 0; round < 50; ++round) {
    const auto changed =
        jittered({.brightness = 2, .contrast = 2, .saturation = 2, .hue = 0.5, .black = data.black(), .white = data.white()},
                 round, sample, {1, 2, 3});
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(changed[i] >= data.black()[i % 3] - 1e-12);
      CHECK(changed[i] <= data.white()[i % 3] + 1e-12);
    }
  }
}

TEST_CASE("color_jitter: what it cannot change is an error") {
  CHECK(said_of({}).empty());
  CHECK(said_of({}, {18}) ==
        "color_jitter: expected images (height, width) or (height, width, channels), found samples of rank 1");
  CHECK(said_of({}, {3, 3, 2}) == "color_jitter: expected images of 1 or 3 channels, found 2");
  CHECK(said_of({.hue = 0.6}).find("a hue from 0 to 0.5, found 0.000000, 0.000000, 0.000000 and 0.600000") != std::string::npos);
  CHECK_FALSE(said_of({.brightness = -1}).empty());
  CHECK_FALSE(said_of({.contrast = std::nan("")}).empty());
  CHECK(said_of({.black = {0, 0}}).find("one for each of the 3 channels of an image, found 2") != std::string::npos);
  CHECK(said_of({.black = 1}).find("expected a black below the white, found 1.000000 and 1.000000; take the dataset's") !=
        std::string::npos);
}

} // namespace color_jitter_tests
