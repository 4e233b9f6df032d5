// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <cairn/data/cifar.hpp>

#include "pictures.hpp"

// CIFAR-10 from a folder; without one from $CAIRN_DATA/cifar10; without that generated pictures. A part of CIFAR-10 is enough.
// A line on `out`, unless it is null, says which and how many. A named folder must be right; the folder in CAIRN_DATA may be
// missing.
inline cairn::vision::cifar_images<float> found_pictures(std::string folder, std::FILE* out = stdout,
                                                         const generated_options& generated = {}) {
  if (const char* root = std::getenv("CAIRN_DATA"); folder.empty() && root != nullptr) {
    folder = std::string(root) + "/cifar10";
    if (!cairn::vision::has_cifar10(folder)) folder.clear();
  }
  if (!folder.empty()) {
    auto pictures = cairn::vision::read_cifar10(folder, cairn::vision::cifar_files::a_part);
    const bool whole = pictures.train.size() == 50000 && pictures.test.size() == 10000;
    if (out != nullptr)
      std::fprintf(out, "pictures: CIFAR-10 from %s, %s%zu to train with and %zu to test with\n", folder.c_str(),
                   whole ? "" : "a part of it: ", pictures.train.size(), pictures.test.size());
    return pictures;
  }
  if (out != nullptr)
    std::fprintf(out, "pictures: generated ones, as neither --data nor CAIRN_DATA names a folder with CIFAR-10\n");
  return generated_pictures(generated);
}
