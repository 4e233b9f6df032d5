// SPDX-License-Identifier: MIT
#include <cairn/data/images/image_folder.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <cairn/core/error.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/dataset_fingerprint.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_horizontal_flip.hpp>
#include <cairn/data/random_split.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/weighted_sampler.hpp>
#include <doctest/doctest.h>

#include "../folder.hpp"
#include "reference_images.hpp"

namespace image_folder_tests {

using namespace cairn;
using namespace testing;
namespace fs = std::filesystem;

static_assert(dataset<vision::image_folder<float>>);
static_assert(dataset<vision::image_folder<double>>);

namespace {

// Copies an image of tests/reference/images into a folder, under any name.
void put(const folder& here, const std::string& path, const std::string& image = "colour_8.png") {
  fs::create_directories((here.path / path).parent_path());
  fs::copy_file(reference_image(image), here.path / path, fs::copy_options::overwrite_existing);
}
// Three classes with files of both formats, and with names that are no part of it.
struct photos : folder {
  photos() {
    put(*this, "dog/b.jpg", "colour.jpg");
    put(*this, "dog/a.PNG", "palette_8.png");
    put(*this, "cat/z.jpeg", "grey.jpg");
    put(*this, "cat/a-b/2.png", "interlaced.png");
    put(*this, "cat/a/1.png", "grey_16.png");
    put(*this, "cat/b.png", "colour_8.png");
    put(*this, "Zebra/1.png", "dot.png");
    put(*this, "beside.png");
    put(*this, ".hidden/1.png");
    put(*this, "cat/.hidden.png");
    put(*this, "cat/.hidden/1.png");
    std::ofstream(path / "cat/notes.txt") << "no image";
    std::ofstream(path / "cat/png") << "no image";
  }
};

template <class T = float>
std::pair<std::vector<T>, std::int32_t> sample(const vision::image_folder<T>& data, std::size_t index) {
  std::vector<T> numbers(data.sample_shape().size());
  std::array<std::int32_t, 1> label{};
  data.read(index, numbers, label);
  return {numbers, label[0]};
}
template <class F>
std::string said_by(const F& f) {
  try {
    f();
  } catch (const file_error& thrown) {
    return thrown.what();
  }
  return {};
}
std::string said_of(const folder& here) {
  return said_by([&] { vision::image_folder(here.path, shape{4, 4, 3}); });
}

} // namespace

TEST_CASE("image_folder: classes and files are sorted as by torchvision, and what is hidden or of another ending is left out") {
  const photos here;
  const vision::image_folder data(here.path, shape{8, 6, 3});
  CHECK(data.classes() == std::vector<std::string>{"Zebra", "cat", "dog"});
  CHECK(data.size() == 7);
  // ImageFolder sorts the folders of a class by their paths, then the files of each.
  const std::vector<std::string> files{"Zebra/1.png",   "cat/b.png", "cat/z.jpeg", "cat/a/1.png",
                                       "cat/a-b/2.png", "dog/a.PNG", "dog/b.jpg"};
  REQUIRE(data.size() == files.size());
  for (std::size_t i = 0; i < files.size(); ++i) CHECK(data.path(i) == (here.path / files[i]).string());
  const auto labels = data.labels();
  CHECK(std::vector<std::int32_t>(labels.begin(), labels.end()) == std::vector<std::int32_t>{0, 1, 1, 1, 1, 2, 2});
  CHECK(data.sample_shape() == shape{8, 6, 3});
  CHECK(data.targets_per_sample() == 1);
  const vision::image_folder with_slash(here.path.string() + "/", shape{8, 6, 3});
  CHECK(sample(with_slash, 6) == sample(data, 6));
}

TEST_CASE_TEMPLATE("image_folder: a sample is the file, fitted and scaled by its channels", T, float, double) {
  const photos here;
  const vision::image_folder<T> data(here.path, shape{8, 6, 3},
                                     {.fit = vision::image_fit::crop, .scales = {{0.5, 0.25}, {0, 1}, {0.25, 2}}});
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto image = vision::fit_image(vision::read_image(data.path(i)), 8, 6, vision::image_fit::crop);
    const auto [numbers, label] = sample(data, i);
    CHECK(label == data.labels()[i]);
    std::vector<T> expected;
    constexpr std::array<vision::pixel_scale, 3> scales{{{0.5, 0.25}, {0, 1}, {0.25, 2}}};
    for (std::size_t k = 0; k < image.pixels.size(); ++k)
      expected.push_back(static_cast<T>((image.pixels[k] / 255.0 - scales[k % 3].mean) / scales[k % 3].deviation));
    CHECK(numbers == expected);
  }
  CHECK(data.black() == vision::pixel_value{-2, 0, -0.125});
  CHECK(data.white() == vision::pixel_value{2, 1, 0.375});
}

TEST_CASE("image_folder: images of one channel are grey, and those that fit keep their bytes") {
  const photos here;
  for (const shape& extents : {shape{11, 13}, shape{11, 13, 1}}) {
    const vision::image_folder<double> data(here.path, extents);
    const auto image = vision::read_image(reference_image("colour_8.png"), {.channels = 1});
    const auto numbers = sample(data, 1).first;
    REQUIRE(numbers.size() == image.pixels.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == image.pixels[i] / 255.0);
  }
}

TEST_CASE("image_folder: three threads of a loader give the order and the bits of none, and of one") {
  const folder here;
  const std::array<const char*, 6> kinds{"colour_8.png", "colour.jpg",     "progressive.jpg",
                                         "ink.jpg",      "interlaced.png", "palette_4.png"};
  for (std::size_t i = 0; i < 60; ++i)
    put(here, "class" + std::to_string(i % 3) + "/" + std::to_string(i) + ".png", kinds[i % 6]);
  const vision::image_folder data(here.path, shape{10, 9, 3});
  const auto pass = [&](std::size_t prefetch, std::size_t threads) {
    loader batches{data, sampler{}, batch<7>{}, vision::random_horizontal_flip{}, {.prefetch = prefetch, .threads = threads}};
    std::vector<float> numbers;
    std::vector<std::int32_t> labels;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& [images, targets] : batches)
        for (std::size_t row = 0; row < images.rows(); ++row) {
          const float* const image = images.row(row);
          numbers.insert(numbers.end(), image, image + data.sample_shape().size());
          labels.push_back(targets.row(row)[0]);
        }
    return std::pair{numbers, labels};
  };
  const auto alone = pass(0, 1);
  CHECK(alone.second.size() == 120);
  CHECK(pass(2, 1) == alone);
  CHECK(pass(6, 3) == alone);
}

TEST_CASE("image_folder: it can be split, drawn from by weights, and ends a pass by the error of a damaged file") {
  const photos here;
  const vision::image_folder data(here.path, shape{4, 4, 3});
  const auto parts = random_split(data, {0.5, 0.5}, seed{3});
  CHECK(parts[0].size() + parts[1].size() == data.size());
  CHECK(samplers::balanced(data.labels()).size() == data.size());
  std::ofstream(here.path / "cat/b.png") << "damaged";
  loader batches{data, sequential_sampler{}, batch<1>{}, {.prefetch = 3, .threads = 2}};
  std::size_t seen = 0;
  const std::string said = said_by([&] {
    for (const auto& [images, targets] : batches) seen += images.rows();
  });
  CHECK(seen == 1);
  CHECK(said.find((here.path / "cat/b.png").string() + ": expected a PNG or JPEG image, found bytes of no known format") !=
        said.npos);
  fs::remove(here.path / "dog/b.jpg");
  CHECK(said_by([&] { sample(data, 6); }).find("dog/b.jpg: expected a PNG or JPEG file, found No such file") !=
        std::string::npos);
}

TEST_CASE("image_folder: its fingerprint changes with names, contents and options, and not with the place") {
  const photos here;
  const photos moved;
  const auto of = [](const folder& place, types::image_folder_options how = {}) {
    return vision::image_folder(place.path, shape{4, 4, 3}, std::move(how)).fingerprint();
  };
  const auto first = of(here);
  CHECK(first != 0);
  CHECK(of(here) == first);
  CHECK(of(moved) == first);
  CHECK(of(here, {.most_pixels = 5000}) == first);
  CHECK(of(here, {.fit = vision::image_fit::crop}) != first);
  CHECK(of(here, {.scales = {{0.5, 1}}}) != first);
  CHECK(of(here, {.scales = {{0, 0.5}}}) != first);
  CHECK(detail::fingerprint_of(vision::image_folder(here.path, shape{4, 4, 3})) !=
        detail::fingerprint_of(vision::image_folder(here.path, shape{4, 4, 1})));

  fs::rename(moved.path / "cat/b.png", moved.path / "cat/c.png");
  CHECK(of(moved) != first);
  fs::rename(moved.path / "cat/c.png", moved.path / "dog/b.png");
  CHECK(of(moved) != first);
  fs::rename(moved.path / "dog/b.png", moved.path / "cat/b.png");
  CHECK(of(moved) == first);
  auto bytes = bytes_of((moved.path / "cat/b.png").string()); // as long as before
  bytes[100] ^= 1;
  std::ofstream(moved.path / "cat/b.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  CHECK(of(moved) != first);
  const vision::image_folder data(here.path, shape{4, 4, 3});
  fs::remove(here.path / "cat/b.png");
  CHECK(data.fingerprint() == 0);
}

TEST_CASE("image_folder: its fingerprint knows the sizes of all files, though it reads few of many") {
  const folder here;
  for (std::size_t i = 0; i < 150; ++i) put(here, "dots/" + std::to_string(100 + i) + ".png", "dot.png");
  const auto of_folder = [&] { return vision::image_folder(here.path, shape{1, 1}).fingerprint(); };
  const auto first = of_folder();
  CHECK(of_folder() == first);
  for (const char* name : {"101.png", "180.png"}) { // the first of these is not read
    std::ofstream(here.path / "dots" / name, std::ios::binary | std::ios::app) << 'x';
    CHECK(of_folder() != first);
    put(here, "dots/" + std::string(name), "dot.png");
    CHECK(of_folder() == first);
  }
}

TEST_CASE("image_folder: symbolic links are followed, but not in a circle") {
  const photos here;
  const folder other;
  put(other, "fish/1.png");
  put(other, "2.png");
  fs::create_directory_symlink(other.path / "fish", here.path / "fish");
  fs::create_symlink(other.path / "2.png", here.path / "dog/c.png");
  const vision::image_folder data(here.path, shape{4, 4, 3});
  CHECK(data.classes() == std::vector<std::string>{"Zebra", "cat", "dog", "fish"});
  CHECK(data.size() == 9);
  fs::create_directory_symlink(here.path / "cat/a", here.path / "cat/aa"); // the same files under two names
  CHECK(vision::image_folder(here.path, shape{4, 4, 3}).size() == 10);
  fs::create_directory_symlink(here.path / "cat", here.path / "cat/a/again");
  CHECK(said_of(here).find("cat/a/again': expected a folder or an image, found a link to a folder that it lies in") !=
        std::string::npos);
}

TEST_CASE("image_folder: a folder that cannot be a dataset is an error that says why") {
  folder here;
  CHECK(said_of(here) ==
        "image_folder: '" + here.path.string() + "': expected a folder for each class, with its images in it, found no folder");
  put(here, "1.png");
  CHECK(said_of(here).ends_with("found no folder"));
  CHECK(said_by([&] {
          vision::image_folder(here.path / "none", shape{4, 4, 3});
        }).ends_with("none': expected a folder, found No such file or directory; check the path"));
  CHECK(said_by([&] { vision::image_folder(here.path / "1.png", shape{4, 4, 3}); }).find("found Not a directory") !=
        std::string::npos);
  put(here, "cat/1.png");
  fs::create_directories(here.path / "dog/inside");
  std::ofstream(here.path / "dog/1.webp") << "other";
  std::ofstream(here.path / "dog/inside/2.txt") << "other";
  CHECK(said_of(here).ends_with(
      "dog': expected at least one file whose name ends in .png, .jpg or .jpeg, found none among 2 files; "
      "put images into it, or remove the folder"));
  put(here, "dog/1.png");
  CHECK(said_of(here).empty());
  fs::create_symlink(here.path / "gone", here.path / "dog/gone.txt");
  CHECK(said_of(here).empty());
  fs::create_symlink(here.path / "gone", here.path / "dog/gone.png");
  CHECK(said_of(here).ends_with("dog/gone.png': expected a folder or an image, found No such file or directory"));
  fs::remove(here.path / "dog/gone.png");
  REQUIRE(::mkfifo((here.path / "dog/pipe.png").c_str(), 0600) == 0);
  CHECK(said_of(here).ends_with("dog/pipe.png': expected a folder or an image, found a pipe, a device or a socket"));
}

TEST_CASE("image_folder refuses shapes and options that do not fit") {
  const photos here;
  const auto make = [&](const shape& extents, types::image_folder_options how = {}) {
    vision::image_folder<float>(here.path, extents, std::move(how));
  };
  CHECK_THROWS_WITH_AS(make(shape{4, 4, 2}), doctest::Contains("expected images (height, width, 3)"), input_error);
  CHECK_THROWS_AS(make(shape{4, 0, 3}), input_error);
  CHECK_THROWS_WITH_AS(make(shape{4}), doctest::Contains("found samples of rank 1"), input_error);
  CHECK_THROWS_WITH_AS(make(shape{4, 4, 3}, {.scales = {{}, {}}}), doctest::Contains("one for each of 3 channels, found 2"),
                       input_error);
  CHECK_THROWS_AS(make(shape{4, 4, 3}, {.scales = {}}), input_error);
  CHECK_THROWS_WITH_AS(make(shape{4, 4, 3}, {.scales = {{0, 0}}}),
                       doctest::Contains("image_folder: expected a positive deviation"), input_error);
  const vision::image_folder small(here.path, shape{4, 4, 3}, {.most_pixels = 1});
  CHECK(sample(small, 0).second == 0);
  CHECK(said_by([&] { sample(small, 1); }).find("cat/b.png: expected an image of at most 1 pixels") != std::string::npos);
}

} // namespace image_folder_tests
