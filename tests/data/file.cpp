// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/data/cifar.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/data/npy.hpp>
#include <doctest/doctest.h>

#include "folder.hpp"
#include "system_calls.hpp"

namespace file_tests {

using namespace cairn;

namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat facts{};
  REQUIRE(::lstat(path.c_str(), &facts) == 0);
  return facts.st_mode;
}
template <class F>
std::string text_of(F f) {
  try {
    f();
  } catch (const file_error& fault) {
    return fault.what();
  }
  return "threw nothing";
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("a file is replaced as a whole and nothing stays beside it") {
  const folder here;
  const auto path = here.path / "a.svg";
  files::write_file_atomically(path, "old and longer");
  CHECK(contents(path) == "old and longer");
  files::write_file_atomically(path, std::string("new\0", 4));
  CHECK(contents(path) == std::string("new\0", 4));
  CHECK(here.files() == 1);
}

TEST_CASE("a reader of the old file keeps it whole") {
  const folder here;
  const auto path = here.path / "a.svg";
  files::write_file_atomically(path, "old");
  std::ifstream in(path);
  files::write_file_atomically(path, "new");
  std::string text;
  in >> text;
  CHECK(text == "old");
}

TEST_CASE("a write that fails names the file and leaves nothing behind") {
  const folder here;
  CHECK_THROWS_WITH_AS(files::write_file_atomically(here.path / "no" / "a.svg", "x"), doctest::Contains("no/a.svg"), file_error);
  // A file cannot replace a folder: this fails at the very end, after the temporary file has been written.
  std::filesystem::create_directory(here.path / "taken");
  CHECK_THROWS_WITH_AS(files::write_file_atomically(here.path / "taken", "x"), doctest::Contains("cannot replace"), file_error);
  CHECK(here.files() == 1);
}

TEST_CASE("a file is whole on the disk before it takes its name, and the name is before the call ends") {
  const folder here;
  const std::string path = here.path / "a.svg", top = std::filesystem::canonical(here.path);
  for (const std::string_view text : {"new", "another text", ""}) {
    const testing::recording all;
    files::write_file_atomically(path, text);
    const std::size_t rename = all.first([&](const auto& call) { return call.name == "rename" && call.to == path; });
    REQUIRE(rename < all.calls().size());
    const std::string part = all.calls()[rename].path;
    const std::size_t sync =
        all.first([&](const auto& call) { return call.name == "fsync" && has(part, call.path.substr(top.size())); });
    CHECK(sync < rename);
    CHECK(all.calls()[sync].bytes == text.size());
    const auto is_folder = [&](const auto& call) { return call.name == "fsync" && call.path == top; };
    CHECK(all.first(is_folder, rename) < all.calls().size());
    CHECK(contents(path) == text);
  }
}

TEST_CASE("a name that another process takes first, or a link in its place, is left alone") {
  const folder here;
  const auto path = here.path / "a.svg";
  files::write_file_atomically(here.path / "victim", "whole");
  std::vector<std::string> taken;
  {
    const testing::recording all([&](const std::string& part, int flags) {
      if ((flags & O_CREAT) == 0 || taken.size() == 2) return;
      taken.push_back(part);
      if (taken.size() == 1) std::ofstream(part) << "theirs";
      else std::filesystem::create_symlink("victim", part);
    });
    files::write_file_atomically(path, "new");
  }
  REQUIRE(taken.size() == 2);
  CHECK(taken[0] != taken[1]);
  CHECK(contents(path) == "new");
  CHECK(contents(taken[0]) == "theirs");
  CHECK(std::filesystem::is_symlink(taken[1]));
  CHECK(contents(here.path / "victim") == "whole");
}

TEST_CASE("what a killed process left beside a file goes with the next write, also of the same process number, and no more") {
  const folder here;
  const auto path = here.path / "a.svg";
  const std::string own = ".part-" + std::to_string(::getpid()) + "-";
  const auto make = [&](const std::string& name) {
    std::ofstream(here.path / name) << "x";
    return here.path / name;
  };
  const auto dead = make("a.svg" + own + "123456789"), of_container = make("a.svg.part-1-0");
  const auto other = make("b.svg.part-1-0"), longer = make("a.svg.part-one"), prefixed = make("aa.svg.part-1-0");
  const auto alive = make("a.svg.part-1-1");
  std::optional<detail::open_file> writer;
  writer.emplace(alive, O_WRONLY);
  REQUIRE(writer->lock());
  files::write_file_atomically(path, "new");
  CHECK_FALSE(std::filesystem::exists(dead));
  CHECK_FALSE(std::filesystem::exists(of_container));
  for (const auto& stays : {other, longer, prefixed, alive}) CHECK(std::filesystem::exists(stays));
  writer.reset(); // as the system does when a process is killed
  files::write_file_atomically(path, "newer");
  CHECK_FALSE(std::filesystem::exists(alive));
  CHECK(contents(path) == "newer");
}

TEST_CASE("processes that write one file at once all succeed, and SIGKILL leaves nothing that stays") {
  const folder here;
  const auto path = here.path / "a.svg";
  const std::string text(20'000, 'x');
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    if (children.push_back(::fork()); children.back() == 0) {
      bool fine = true;
      for (int k = 0; k < (i == 3 ? 1'000'000 : 40) && fine; ++k)
        fine = text_of([&] { files::write_file_atomically(path, text); }) == "threw nothing";
      ::_exit(fine ? 0 : 1);
    }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (i == 3) ::kill(children[i], SIGKILL);
    int status = -1;
    ::waitpid(children[i], &status, 0);
    CHECK((i == 3 ? WIFSIGNALED(status) : status == 0));
  }
  files::write_file_atomically(path, text + "y");
  CHECK(contents(path) == text + "y");
  CHECK(here.files() == 1);
}

TEST_CASE("a symbolic link stays one, and what it leads to is replaced or made") {
  const folder here;
  std::filesystem::create_directory(here.path / "far");
  files::write_file_atomically(here.path / "far" / "a", "old");
  std::filesystem::create_symlink("far/b", here.path / "second");
  std::filesystem::create_symlink(here.path / "second", here.path / "first");
  std::filesystem::create_symlink("a", here.path / "far" / "b");
  files::write_file_atomically(here.path / "first", "new");
  for (const char* link : {"first", "second", "far/b"}) CHECK(std::filesystem::is_symlink(here.path / link));
  CHECK_FALSE(std::filesystem::is_symlink(here.path / "far" / "a"));
  CHECK(contents(here.path / "far" / "a") == "new");
  std::filesystem::remove(here.path / "far" / "a");
  files::write_file_atomically(here.path / "first", "made");
  CHECK(contents(here.path / "far" / "a") == "made");
  std::filesystem::create_symlink("round", here.path / "round");
  CHECK(has(text_of([&] { files::write_file_atomically(here.path / "round", "x"); }), "cannot follow the links of '"));
  CHECK(here.files() == 4);
}

TEST_CASE("mode and owner of a file stay") {
  const folder here;
  const auto path = here.path / "a";
  files::write_file_atomically(path, "old");
  for (const mode_t mode : {0600U, 0644U, 0755U, 0666U}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    files::write_file_atomically(path, "new");
    CHECK((mode_of(path) & 07777U) == mode);
  }
  if (::geteuid() != 0) return; // only root can change a file's owner
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  files::write_file_atomically(path, "newer");
  struct stat facts{};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK(facts.st_uid == 65534);
  CHECK((facts.st_mode & 07777U) == 0666);
}

TEST_CASE("a device, a pipe and an open file of /proc are written into, and stay what they are") {
  const folder here;
  const auto pipe = here.path / "pipe", null = here.path / "null", log = here.path / "log";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(has(text_of([&] { files::write_file_atomically(pipe, "x"); }), "nobody reads this pipe"));
  {
    detail::open_file reader(pipe, O_RDONLY); // does not wait for a writer
    REQUIRE(reader);
    std::string said(3, ' ');
    files::write_file_atomically(pipe, "new");
    const int end = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK); // any reader of the pipe gets the bytes
    CHECK(::read(end, said.data(), 3) == 3);
    CHECK(said == "new");
    ::close(end);
  }
  CHECK(S_ISFIFO(mode_of(pipe)));
  if (::geteuid() == 0 && ::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0) {
    if (text_of([&] { files::write_file_atomically(null, "x"); }) != "threw nothing")
      MESSAGE("devices cannot be used in this folder");
    CHECK(S_ISCHR(mode_of(null)));
  }
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644); // as a shell's >> does for /dev/stdout
  CHECK(::write(out, "1 ", 2) == 2);
  files::write_file_atomically("/dev/fd/" + std::to_string(out), "2 ");
  CHECK(::write(out, "3", 1) == 1);
  ::close(out);
  CHECK(contents(log) == "1 2 3");
}

TEST_CASE("a pipe in the place of a file is an error of every reader, and none waits for it") {
  const folder here;
  const std::string pipe = here.path / "data_batch_1.bin";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  constexpr std::string_view found = "expected an ordinary file, found a pipe, a device or a socket";
  detail::open_file file(pipe, O_RDONLY);
  CHECK(file.size() == file.no_size);
  CHECK(file.fault() == found);
  CHECK(has(text_of([&] { files::read_npy<float>(pipe); }), found));
  CHECK(has(text_of([&] { files::read_idx<std::uint8_t>(pipe); }), found));
  CHECK(has(text_of([&] { vision::read_cifar10<float>(here.path); }), found));
}

TEST_CASE("the names in a folder: none is a folder that is not there, and any other reason an error") {
  const folder here;
  CHECK(detail::names_in(here.path / "no").empty());
  files::write_file_atomically(here.path / "a", "x");
  auto names = detail::names_in(here.path);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{".", "..", "a"});
  CHECK(has(text_of([&] { detail::names_in(here.path / "a"); }),
            "cannot read the folder '" + (here.path / "a").string() + "': Not a dir"));
  std::filesystem::permissions(here.path, static_cast<std::filesystem::perms>(0333));
  CHECK(has(said_by_nobody([&] { detail::names_in(here.path); }), "': Permission denied"));
  CHECK(said_by_nobody([&] { files::write_file_atomically(here.path / "b", "x"); }) == "threw nothing");
  std::filesystem::permissions(here.path, std::filesystem::perms::owner_all);
}

} // namespace file_tests
