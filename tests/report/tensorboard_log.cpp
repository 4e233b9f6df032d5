// SPDX-License-Identifier: MIT
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <cairn/report/tensorboard_log.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "fake_run.hpp"

namespace tensorboard_log_tests {

using namespace cairn;

namespace {

// Returns the payloads of a file's records and checks their checksums. (tests/checks/event_files.py tests that TensorBoard reads
// the same.)
std::vector<std::string> payloads(const std::string& file) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t out = 0;
    for (std::size_t i = bytes; i-- > 0;) out = out << 8U | static_cast<unsigned char>(file.at(at + i));
    return out;
  };
  std::vector<std::string> out;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = static_cast<std::size_t>(number(at, 8));
    CHECK(number(at + 8, 4) == detail::masked_crc32c(file.substr(at, 8)));
    out.push_back(file.substr(at + 12, length));
    CHECK(number(at + 12 + length, 4) == detail::masked_crc32c(out.back()));
    at += 16 + length;
  }
  return out;
}

// An event without its time, which comes first and takes 9 bytes.
std::string without_time(const std::string& payload) {
  REQUIRE(payload.size() > 9);
  CHECK(payload[0] == '\x09');
  return payload.substr(9);
}

} // namespace

TEST_CASE("tensorboard_log: records of the version, the start and the values, byte for byte") {
  const folder here;
  tensorboard_log log{here.path / "runs/a"};
  log.write(300, {{"train_loss", 0.5}, {"lr", -2.0}});
  const auto events = payloads(contents(log.file()));
  REQUIRE(events.size() == 3);
  CHECK(events[0].size() == 24);
  CHECK(without_time(events[0]) == "\x1a\x0d"
                                   "brain.Event:2");
  CHECK(without_time(events[1]) == "\x10\xac\x02\x3a\x02\x08\x01"); // step 300, session_log {status: START}
  std::string values = "\x10\xac\x02\x2a\x1e\x0a\x11\x0a\x0a"
                       "train_loss\x15";
  values += std::string("\0\0\0\x3f", 4) +
            "\x0a\x09\x0a\x02"
            "lr\x15" +
            std::string("\0\0\0\xc0", 4);
  CHECK(without_time(events[2]) == values);
}

TEST_CASE("tensorboard_log: the name says when, where and by which process, and no file is written over") {
  const folder here;
  tensorboard_log first{here.path}, second{here.path};
  CHECK(first.file().empty());
  first.write(1, {{"a", 1}});
  second.write(1, {{"a", 1}});
  CHECK(first.file() != second.file());
  CHECK(here.files() == 2);
  const std::string name = std::filesystem::path(first.file()).filename();
  CHECK(name.find("events.out.tfevents.1") == 0);
  CHECK(name.find("." + std::to_string(::getpid()) + ".") != std::string::npos);
}

TEST_CASE("tensorboard_log: long names and large steps") {
  const folder here;
  tensorboard_log log{here.path};
  const std::string name(300, 'n');
  log.write(std::uint64_t{1} << 40, {{name, 1}});
  const auto events = payloads(contents(log.file()));
  CHECK(events[2].find("\x0a\xac\x02" + name) != std::string::npos);
  CHECK(without_time(events[2]).find("\x10\x80\x80\x80\x80\x80\x20\x2a") == 0);
}

TEST_CASE("tensorboard_log: a folder that cannot be made is an error") {
  tensorboard_log log{"/proc/cairn/a"};
  CHECK_THROWS_WITH_AS(log.write(1, {{"a", 1}}), doctest::Contains("/proc/cairn"), file_error);
}

TEST_CASE("tensorboard_log: as a callback it writes on rank 0 only") {
  const folder here;
  tensorboard_log log{here.path}, other{here.path};
  testing::fake_run run{.at_step = 5, .own_rank = 1, .measured = {{"train_loss", 0.5}}};
  other.on_begin(run);
  other.on_log(run);
  other.on_epoch(run);
  CHECK(here.files() == 0);
  run.own_rank = 0;
  log.on_begin(run);
  CHECK(without_time(payloads(contents(log.file()))[1]).substr(0, 2) == "\x10\x06"); // step 6 is the first to come
  log.on_log(run);
  log.on_epoch(run);
  CHECK(payloads(contents(log.file())).size() == 4);
  CHECK(here.files() == 1);
}

} // namespace tensorboard_log_tests
