// SPDX-License-Identifier: MIT
// What tests of files have in common.
#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

// A folder of its own, removed at the end.
struct folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("cairn-test-" + std::to_string(::getpid()) + "-" + std::to_string(next()));
  folder() { std::filesystem::create_directory(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path); }
  auto files() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }

private:
  static unsigned next() {
    static std::atomic<unsigned> count{0};
    return count++;
  }
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
