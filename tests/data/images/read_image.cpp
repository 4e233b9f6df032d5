// SPDX-License-Identifier: MIT
#include <cairn/data/images/read_image.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "../folder.hpp"
#include "reference_images.hpp"

namespace read_image_tests {

using namespace cairn;
using namespace testing;

namespace {

template <class F>
std::string said_by(const F& f) {
  try {
    f();
  } catch (const file_error& thrown) {
    return thrown.what();
  }
  return {};
}
std::string said_of(std::span<const std::uint8_t> bytes, const types::image_options& how = {}) {
  return said_by([&] { vision::decode_image(bytes, how, "this image"); });
}
bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

// Where a part of a JPEG begins, by the second byte of its marker.
std::size_t place_of(const std::vector<std::uint8_t>& bytes, std::uint8_t marker) {
  const std::array<std::uint8_t, 2> both{0xFF, marker};
  const auto found = std::search(bytes.begin(), bytes.end(), both.begin(), both.end());
  REQUIRE(found != bytes.end());
  return static_cast<std::size_t>(found - bytes.begin());
}

} // namespace

TEST_CASE("read_image: PNGs of every kind are Pillow's bytes, JPEGs differ by 2 at most") {
  const auto all = expected_images("pixels.txt");
  CHECK(all.size() == 56);
  for (const auto& each : all) {
    INFO(each.file << " with " << each.how << " channels");
    const auto channels = static_cast<std::size_t>(std::stoi(each.how));
    const auto image = vision::read_image(reference_image(each.file), {.channels = channels});
    CHECK(image.height == each.height);
    CHECK(image.width == each.width);
    CHECK(image.channels == channels);
    if (each.file.ends_with(".png")) {
      CHECK(image.pixels == each.pixels);
      continue;
    }
    REQUIRE(image.pixels.size() == each.pixels.size()); // another version of the library may round differently
    int farthest = 0;
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      farthest = std::max(farthest, std::abs(image.pixels[i] - each.pixels[i]));
    CHECK(farthest <= 2);
  }
}

TEST_CASE("read_image: ink and colours are converted as Pillow does it, rounded") {
  const std::array<std::uint8_t, 4> ink{128, 0, 255, 200};
  std::array<std::uint8_t, 3> colour{};
  detail::ink_to_colour(ink.data(), colour.data());
  CHECK(colour == std::array<std::uint8_t, 3>{100, 0, 200}); // 200 - 99.6
  CHECK(detail::grey_of(colour.data()) == 53);               // 29.9 + 22.8
  for (unsigned value = 0; value < 256; ++value) {
    colour.fill(static_cast<std::uint8_t>(value));
    CHECK(detail::grey_of(colour.data()) == value);
  }
}

TEST_CASE("read_image: the first bytes decide about the format, not the name") {
  const folder here;
  std::filesystem::copy_file(reference_image("grey.jpg"), here.path / "grey.png");
  std::filesystem::copy_file(reference_image("grey_8.png"), here.path / "no ending");
  CHECK(vision::read_image(here.path / "grey.png").pixels == vision::read_image(reference_image("grey.jpg")).pixels);
  CHECK(vision::read_image(here.path / "no ending").pixels == vision::read_image(reference_image("grey_8.png")).pixels);
}

TEST_CASE("read_image: bytes after the end of an image are ignored") {
  for (const char* name : {"colour_8.png", "colour.jpg"}) {
    auto bytes = bytes_of(reference_image(name));
    const auto before = vision::decode_image(bytes);
    bytes.resize(bytes.size() + 100, 0xAB);
    CHECK(vision::decode_image(bytes).pixels == before.pixels);
  }
}

TEST_CASE("read_image: an image that ends early is an error, wherever it ends") {
  for (const char* name : {"colour_8.png", "interlaced_palette.png", "dot.png", "grey.jpg", "progressive.jpg", "ink.jpg"}) {
    const auto bytes = bytes_of(reference_image(name));
    std::size_t accepted = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::vector<std::uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      const std::string said = said_of(part);
      if (!said.starts_with("this image: expected a ")) ++accepted;
    }
    INFO(name);
    CHECK(accepted == 0);
  }
}

TEST_CASE("read_image: any changed byte gives an image or an error") {
  for (const char* name : {"palette_4.png", "interlaced_1.png", "grey.jpg", "progressive.jpg"}) {
    const auto bytes = bytes_of(reference_image(name));
    std::size_t refused = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      for (const unsigned change : {0xFFU, 0x01U}) {
        auto changed = bytes;
        changed[i] = static_cast<std::uint8_t>(changed[i] ^ change);
        refused += said_of(changed, {.most_pixels = 100000}).empty() ? 0 : 1;
      }
    INFO(name);
    CHECK(refused > bytes.size() / 4);
  }
}

TEST_CASE("read_image: errors name the file, the reason and the way out") {
  const folder here;
  const auto said_of_text = [&](const std::string& text) {
    return file_fault(text, [](const std::string& path) { vision::read_image(path); });
  };
  CHECK(has(said_of_text(""), ": expected a PNG or JPEG image, found an empty file; convert it, or leave it out"));
  CHECK(has(said_of_text("hello"), "found bytes of no known format"));
  CHECK(has(said_of_text("GIF89a"), "found what seems to be GIF"));
  CHECK(has(said_of_text(std::string("II*\0", 4)), "found what seems to be TIFF"));
  CHECK(has(said_of_text("\x89PNG\r\n\x1A\n"),
            "expected a whole and sound PNG file, found a damaged one: the file ends too early"));
  CHECK(has(said_of_text("\xFF\xD8\xFF"), "expected a whole and sound JPEG file, found a damaged one: "));
  CHECK(has(said_by([&] { vision::read_image(here.path / "none.png"); }),
            "none.png: expected a PNG or JPEG file, found No such file"));
  CHECK(has(said_by([&] { vision::read_image(here.path); }), "found Is a directory; check the path"));

  auto bytes = bytes_of(reference_image("colour_8.png"));
  bytes[bytes.size() - 20] ^= 1; // in the checksum of the pixels, or before it
  CHECK(has(said_of(bytes), "a damaged one: "));
  auto early = bytes_of(reference_image("grey.jpg"));
  early[early.size() - 40] = 0xFF; // an end in the midst of the coded pixels, after which libjpeg only warns
  early[early.size() - 39] = 0xD9;
  CHECK(said_of(early).starts_with("this image: expected a whole and sound JPEG file, found a damaged one: Corrupt JPEG data"));

  CHECK_THROWS_WITH_AS(vision::read_image(reference_image("dot.png"), {.channels = 2}),
                       doctest::Contains("expected 1 or 3 channels, found 2"), input_error);
  CHECK_THROWS_AS(vision::read_image(reference_image("dot.png"), {.channels = 4}), input_error);
}

TEST_CASE("read_image: an image with more pixels than allowed is refused before it is unpacked") {
  for (const char* name : {"colour_8.png", "grey_1.png"}) {
    const auto bytes = bytes_of(reference_image(name)); // 11 x 13
    CHECK(said_of(bytes, {.most_pixels = 143}).empty());
    CHECK(said_of(bytes, {.most_pixels = 142}) ==
          "this image: expected an image of at most 142 pixels, found 11 x 13; a larger .most_pixels reads it");
  }
  auto jpeg = bytes_of(reference_image("grey.jpg")); // 21 x 35
  CHECK(said_of(jpeg, {.most_pixels = 735}).empty());
  CHECK(has(said_of(jpeg, {.most_pixels = 734}), "at most 734 pixels, found 21 x 35"));
  const std::size_t frame = place_of(jpeg, 0xC0);
  jpeg[frame + 5] = jpeg[frame + 7] = 0xFF; // 65301 x 65315
  CHECK(has(said_of(jpeg), "at most 134217728 pixels, found 65301 x 65315"));
}

TEST_CASE("read_image: a JPEG of more than a thousand scans is refused") {
  // A grey image becomes one of three colours, each in scans of its own that have the pixels of the grey one.
  const auto grey = bytes_of(reference_image("grey.jpg"));
  const auto from = [&](std::size_t first, std::size_t end) {
    return std::vector<std::uint8_t>(grey.begin() + static_cast<std::ptrdiff_t>(first),
                                     grey.begin() + static_cast<std::ptrdiff_t>(end));
  };
  const std::size_t frame = place_of(grey, 0xC0), scan = place_of(grey, 0xDA);
  const auto with_scans = [&](std::size_t most) {
    auto bytes = from(0, frame + 9);
    bytes[frame + 3] = 17; // bytes of this part
    for (const std::uint8_t part : std::array<std::uint8_t, 10>{3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0}) bytes.push_back(part);
    const auto tables = from(frame + 13, scan);
    bytes.insert(bytes.end(), tables.begin(), tables.end());
    for (std::size_t k = 0; k < most; ++k) {
      auto one = from(scan, grey.size() - 2);
      one[5] = static_cast<std::uint8_t>(k % 3 + 1);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    bytes.insert(bytes.end(), {0xFF, 0xD9});
    return bytes;
  };
  const auto of_grey = vision::decode_image(grey);
  const auto of_three = vision::decode_image(with_scans(3));
  CHECK(of_three.pixels.size() == of_grey.pixels.size());
  CHECK(of_three.pixels != of_grey.pixels);
  CHECK(vision::decode_image(with_scans(999)).pixels == of_three.pixels);
  CHECK(has(said_of(with_scans(1002)), "a damaged one: it has more than 1000 scans"));
}

TEST_CASE("read_image: threads decode at the same time, errors included") {
  const auto png = bytes_of(reference_image("interlaced.png")), jpeg = bytes_of(reference_image("progressive.jpg"));
  const auto of_png = vision::decode_image(png), of_jpeg = vision::decode_image(jpeg);
  const std::span<const std::uint8_t> cut(jpeg.data(), jpeg.size() / 2);
  std::array<int, 3> wrong{};
  std::vector<std::thread> threads;
  for (int& mine : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (vision::decode_image(png).pixels != of_png.pixels) ++mine;
        if (said_of(cut).empty()) ++mine;
        if (vision::decode_image(jpeg).pixels != of_jpeg.pixels) ++mine;
      }
    });
  for (auto& each : threads) each.join();
  CHECK(wrong == std::array<int, 3>{});
}

} // namespace read_image_tests
