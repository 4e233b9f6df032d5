// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <cairn/data/mnist.hpp>

#include "digits.hpp"

// MNIST from a folder; without one from $CAIRN_DATA/mnist; without that generated digits. A line on `out`, unless it is null,
// says which. A named folder must be right; the folder in CAIRN_DATA may be missing.
inline cairn::vision::digit_images<float> found_digits(std::string folder, std::FILE* out = stdout,
                                                       const generated_options& generated = {}) {
  if (const char* root = std::getenv("CAIRN_DATA"); folder.empty() && root != nullptr) {
    folder = std::string(root) + "/mnist";
    if (!cairn::vision::has_mnist(folder)) folder.clear();
  }
  if (!folder.empty()) {
    if (out != nullptr) std::fprintf(out, "digits: MNIST from %s\n", folder.c_str());
    return cairn::vision::read_mnist(folder);
  }
  if (out != nullptr) std::fprintf(out, "digits: generated ones, as neither --data nor CAIRN_DATA names a folder with MNIST\n");
  return generated_digits(generated);
}
