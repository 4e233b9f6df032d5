// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/data/xtensor.hpp>
#include <cairn/train/samples.hpp>
#include <xtensor/xview.hpp>

#include "training.hpp"

namespace samples_tests {

using namespace cairn;
using testing::has;
using testing::samples;
using testing::text_of;

namespace {

using Net = Sequential<Linear<testing::features, 8>, ReLU, Linear<8, testing::classes>>;
using net_trainer = trainer<Net, CrossEntropyLoss, SGD, batch<6>>;
using row_major = xt::xarray<float, xt::layout_type::row_major>;
using column_major = xt::xarray<float, xt::layout_type::column_major>;

} // namespace

TEST_CASE("samples: what numbers are") {
  static_assert(detail::numbers<std::vector<float>> && detail::numbers<std::span<const float>> &&
                detail::numbers<std::array<int, 3>>);
  static_assert(detail::numbers<tensor_view<const double>> && detail::numbers<row_major> &&
                detail::numbers<xt::xtensor<float, 2>>);
  static_assert(!detail::numbers<std::list<float>> && !detail::numbers<float> && !detail::numbers<std::vector<std::string>>);
  static_assert(std::is_same_v<detail::number_of<std::span<const float>>, float>);
  static_assert(std::is_same_v<detail::number_of<std::vector<unsigned char>>, unsigned char>);
}

TEST_CASE("samples: every kind of array is read in place and gives the same bits") {
  const samples s(4, 1);
  net_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  const double want = t.step(s.x, s.y);
  std::array<float, 40> x{};
  std::array<int, 4> y{};
  std::copy(s.x.begin(), s.x.end(), x.begin());
  std::copy(s.y.begin(), s.y.end(), y.begin());
  CHECK(t.step(x, y) == want);
  CHECK(t.step(std::span(x), std::span<const int>(y)) == want);
  CHECK(t.step(tensor_view<const float>(x.data(), 4, {10}), y) == want);

  row_major array = xt::adapt(s.x, std::vector<std::size_t>{4, 10});
  const xt::xtensor<float, 2> tensor = array;
  const xt::xtensor<int, 1> targets = xt::adapt(s.y, std::vector<std::size_t>{4});
  CHECK(t.step(array, targets) == want);
  CHECK(t.step(tensor, y) == want);
  CHECK(t.step(xt::adapt(s.x, std::array<std::size_t, 2>{4, 10}), y) == want);
  CHECK(t.step(as_view(array), y) == want);
  CHECK(t.step(xt::xarray<float>(xt::adapt(s.x, std::vector<std::size_t>{40})), y) == want); // one axis: all numbers in a row
}

TEST_CASE("samples: targets may be any integers") {
  const samples s(4, 1);
  net_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  const double want = t.step(s.x, s.y);
  CHECK(t.step(s.x, std::vector<unsigned char>(s.y.begin(), s.y.end())) == want);
  CHECK(t.step(s.x, std::vector<long>(s.y.begin(), s.y.end())) == want);
}

TEST_CASE("samples: a part of an array is read where it lies") {
  const samples s(6, 1);
  net_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  const double want = t.evaluate_loss(std::span(s.x).subspan(20, 20), std::span(s.y).subspan(2, 2));
  const row_major array = xt::adapt(s.x, std::vector<std::size_t>{6, 10});
  const auto rows = xt::view(array, xt::range(2, 4), xt::all());
  CHECK(t.evaluate_loss(rows, std::span(s.y).subspan(2, 2)) == want);
}

TEST_CASE("samples: an array that is not in row-major order without gaps is refused") {
  const samples s(4, 1);
  net_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  const column_major turned = xt::adapt(s.x, std::vector<std::size_t>{4, 10});
  const std::string text = text_of([&] { t.step(turned, s.y); });
  CHECK(has(text, "row-major"));
  CHECK(has(text, "expected"));
  CHECK(has(text, "a stride of 1 on axis 1"));
  CHECK(has(text, "found a stride of 4"));
  const row_major wide = xt::ones<float>({4, 20});
  const auto part = xt::view(wide, xt::all(), xt::range(0, 10));
  CHECK(has(text_of([&] { t.step(part, s.y); }), "a stride of 10 on axis 0), found a stride of 20"));
}

TEST_CASE("samples: the first axis counts the samples") {
  net_trainer t{SGD{.learning_rate = 0}, {.seed = 3}};
  const row_major turned = xt::ones<float>({10, 4});
  const std::string text = text_of([&] { t.step(turned, std::vector<int>(4)); });
  CHECK(has(text, "expected samples of the shape (10), found samples of the shape (4)"));
}

TEST_CASE("samples: an array that knows its extents has samples of the shape that is expected") {
  trainer<Sequential<Linear<392, 4>>, CrossEntropyLoss, SGD, batch<64>> t{SGD{.learning_rate = 0}, {.seed = 3}};
  const std::vector<float> pixels(32 * 784);
  const tensor_view<const float> images(pixels.data(), 32, shape{28, 28});
  const std::string text = text_of([&] { t.step(images, std::vector<int>(32)); });
  CHECK(has(text, "expected samples of the shape (392), found samples of the shape (28, 28)"));
  CHECK(has(text_of([&] { t.evaluate(images); }), "(28, 28)"));
  const tensor_view<const float> halves(pixels.data(), 64, shape{14, 28}); // flattened implicitly
  CHECK(text_of([&] { t.step(halves, std::vector<int>(64)); }) == "");
  const shape channels_last{28, 28, 3}, channels_first{3, 28, 28};
  CHECK(text_of([&] { detail::check_sample(channels_last, channels_last, "here"); }) == "");
  CHECK(has(text_of([&] { detail::check_sample(channels_first, channels_last, "here"); }),
            "here: expected samples of the shape (28, 28, 3), found samples of the shape (3, 28, 28)"));
}

TEST_CASE("samples: rows are counted, and errors say where") {
  CHECK(detail::count_rows(std::vector<float>(12), shape{4}, 3, "here") == 3);
  CHECK(has(text_of([] { detail::count_rows(std::vector<float>(13), shape{4}, 9, "here"); }),
            "here: expected samples of 4 numbers, found 13 numbers"));
  CHECK(
      has(text_of([] { detail::count_rows(std::vector<float>(16), shape{4}, 3, "here"); }), "here: expected at most 3 samples"));
  CHECK(has(text_of([] { detail::count_rows(std::vector<float>(), shape{4}, 3, "here"); }), "found 0 numbers"));
}

} // namespace samples_tests
