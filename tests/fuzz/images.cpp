// SPDX-License-Identifier: MIT
// PNG and JPEG: bytes and a file of the same bytes are read alike, and an image has the pixels that its extents say.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include <cairn/data/images/fit_image.hpp>
#include <cairn/data/images/read_image.hpp>

#include "fuzz.hpp"

using namespace cairn;

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t> bytes) {
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}}) {
    const types::image_options how{.channels = channels, .most_pixels = 1U << 14U};
    types::decoded_image a, b;
    const bool from_memory = reads(path, [&] { a = vision::decode_image(bytes, how, path); });
    const bool from_file = reads(path, [&] { b = vision::read_image(path, how); });
    require(from_memory == from_file, "a file is read if and only if its bytes are");
    if (!from_file) return;
    require(a.height == b.height && a.width == b.width && a.pixels == b.pixels, "a file gives what its bytes give");
    require(a.channels == channels && a.pixels.size() == a.height * a.width * channels && !a.pixels.empty(),
            "there are as many pixels as the extents say");
    require(vision::fit_image(a, 5, 7, vision::image_fit::crop).pixels.size() == 35 * channels, "an image can be fitted");
  }
}

void fuzzing::write_seeds(const std::string& folder) {
  for (const char* name : {"dot.png", "grey_1.png", "palette_transparent.png", "interlaced_palette.png", "colour_16.png",
                           "grey.jpg", "colour_444.jpg", "progressive.jpg", "ink.jpg", "turned.jpg"}) {
    std::ifstream file(CAIRN_TEST_DATA_DIR "/images/" + std::string(name), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    require(!bytes.empty(), "the images of tests/reference are there");
    write_seed(folder + name, bytes);
    write_seed(folder + name + std::string("-cut"), bytes.substr(0, bytes.size() * 3 / 4));
  }
}
