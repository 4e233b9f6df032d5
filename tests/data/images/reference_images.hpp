// SPDX-License-Identifier: MIT
// The images of tests/reference/images, and what Pillow and torchvision read from them (tests/reference/image_files.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <cairn/data/images/image_options.hpp>
#include <doctest/doctest.h>

#include "../folder.hpp"

namespace testing {

inline std::string reference_image(const std::string& name) { return CAIRN_TEST_DATA_DIR "/images/" + name; }

inline std::vector<std::uint8_t> bytes_of(const std::string& path) {
  const std::string text = contents(path);
  REQUIRE(!text.empty());
  return {text.begin(), text.end()};
}

// A line of pixels.txt or fitted.txt.
struct expected_image {
  std::string file;
  std::string how; // the number of channels, or the way to fit
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> pixels;

  std::size_t channels() const { return pixels.size() / height / width; }
};

inline std::vector<expected_image> expected_images(const std::string& list) {
  std::ifstream in(reference_image(list));
  std::vector<expected_image> out;
  std::string digits;
  for (expected_image next; in >> next.file >> next.how >> next.height >> next.width >> digits; out.push_back(next)) {
    next.pixels.clear();
    for (std::size_t i = 0; i < digits.size(); i += 2)
      next.pixels.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

} // namespace testing
