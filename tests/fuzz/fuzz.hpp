// SPDX-License-Identifier: MIT
// A fuzzer of a reader is one file: what it does with bytes that may be anything, and the seeds, files that are right or
// nearly so. libFuzzer calls it with seeds that it has changed, and keeps those that reach new code.
//
//   PROGRAM seeds FOLDER          writes the seeds
//   PROGRAM FOLDER -runs=1000000  is libFuzzer's own main function
//
// tests/checks/fuzz.py builds and runs all programs of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include <cairn/core/error.hpp>

namespace fuzzing {

// Each fuzzer has these two.
void look_at(const std::string& path, std::span<const std::uint8_t> bytes); // the same bytes twice: as a file and here
void write_seeds(const std::string& folder);                                // with a slash at its end

// Ends the program, which libFuzzer takes for a fault and keeps the bytes.
inline void require(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "fuzz: expected that %s\n", what);
  std::abort();
}

// Calls a reader, which may refuse the bytes in the way that it promises: by an error that names the file. Anything else that
// is thrown ends the program. Gives whether the bytes were read.
template <class Read>
bool reads(const std::string& path, Read&& read) {
  try {
    read();
    return true;
  } catch (const cairn::file_error& refused) {
    require(std::string_view(refused.what()).find(path) != std::string_view::npos, "an error names the file");
    return false;
  }
}

// A file in memory that is filled anew for each run, with a name in the file system.
class memory_file {
public:
  memory_file() : number_(::memfd_create("fuzz", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(number_)) {
    require(number_ >= 0, "memory can be a file");
  }
  const std::string& path() const { return path_; }
  void fill(std::span<const std::uint8_t> bytes) const {
    const bool filled =
        ::ftruncate(number_, 0) == 0 && ::pwrite(number_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    require(filled, "a file in memory can be written");
  }

private:
  int number_;
  std::string path_;
};

// Where a writer may write: a folder of this process in memory.
inline const std::string& scratch_path() {
  static const struct folder {
    std::filesystem::path place = "/dev/shm/cairn-fuzz-" + std::to_string(::getpid());
    std::string path = place / "again";
    folder() { std::filesystem::create_directory(place); }
    ~folder() {
      std::error_code ignored;
      std::filesystem::remove_all(place, ignored);
    }
  } here;
  return here.path;
}

inline void write_seed(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

} // namespace fuzzing

// Not inline: only libFuzzer calls them, and each program has this header in one file.
extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  if (*count == 3 && std::strcmp((*words)[1], "seeds") == 0) {
    fuzzing::write_seeds((*words)[2] + std::string("/"));
    std::exit(0);
  }
  return 0;
}
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzing::memory_file file;
  file.fill({data, size});
  fuzzing::look_at(file.path(), {data, size});
  return 0;
}
