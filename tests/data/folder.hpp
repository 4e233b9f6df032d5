// SPDX-License-Identifier: MIT
// Folders, files and processes for tests of files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

// A folder of its own, removed at the end.
struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cairn-test-" + std::to_string(::getpid()) + "-" + std::to_string(next()));
  folder() { std::filesystem::create_directory(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path); }
  auto files() const { return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()); }

private:
  static unsigned next() {
    static std::atomic<unsigned> count{0};
    return count++;
  }
};

// Returns the text of the file_error that read(path) throws for a file of these bytes, or "". The text must name the file.
template <class Read>
std::string file_fault(const std::string& bytes, Read read) {
  const folder here;
  const std::string path = here.path / "file";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    read(path);
  } catch (const cairn::file_error& wrong) {
    CHECK(std::string(wrong.what()).find(path) != std::string::npos);
    return wrong.what();
  }
  return {};
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the text of the error that f() throws in a process that is not root's, for which file modes count.
template <class F>
std::string said_by_nobody(F f) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "threw nothing";
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    try {
      f();
    } catch (const cairn::error& fault) {
      text = fault.what();
    }
    ::_exit(::write(ends[1], text.data(), text.size()) < 0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 256> some{};
  for (ssize_t got = 0; (got = ::read(ends[0], some.data(), some.size())) > 0;)
    text.append(some.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}
