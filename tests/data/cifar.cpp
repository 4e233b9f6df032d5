// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <cairn/data/cifar.hpp>
#include <cairn/data/dataset.hpp>

#include "folder.hpp"

namespace cifar_tests {

using namespace cairn;
using namespace cairn::detail;

static_assert(dataset<decltype(cifar_images<float>::train)>);

namespace {

// Records of pictures (2, 2) in place of (32, 32): the rules are the same.
constexpr cifar_format small10{.name = "CIFAR-10", .folder = "inside", .classes = {10, 0}, .side = 2};
constexpr cifar_format small100{.name = "CIFAR-100", .folder = "inside", .classes = {20, 100}, .side = 2, .chosen = 1};
static_assert(small10.record() == 13 && small100.record() == 14);
static_assert(cifar10_format.record() == 3073 && cifar100_format.record() == 3074);

std::string numbered(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}
// Pictures, each of a single grey.
std::string pictures(std::size_t count, std::size_t labels = 1) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += std::string(labels, static_cast<char>(i % 10)) + std::string(3072, static_cast<char>(i % 256));
  return text;
}
void write(const std::filesystem::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string fault_of(const std::string& bytes, const cifar_format& format, std::size_t wanted = 0) {
  return file_fault(bytes, [&](const std::string& path) { read_cifar_files({path}, wanted, format); });
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string fault_in(const std::filesystem::path& folder, cifar_files which) {
  try {
    read_cifar10(folder, which);
  } catch (const file_error& e) {
    return e.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("records of CIFAR are a label and three planes, which become pixels of three channels") {
  const folder here;
  const std::string path = here.path / "two.bin";
  write(path, '\7' + numbered(12) + '\0' + std::string(12, '\xFF'));
  const auto read = read_cifar_files({path}, 2, small10);
  CHECK(read.labels == std::vector<std::uint8_t>{7, 0});
  std::vector<std::uint8_t> expected{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
  expected.resize(24, 255);
  CHECK(read.pixels == expected);
}

TEST_CASE("records of CIFAR from several files, and more of them than a piece that is read at once") {
  const folder here;
  std::string first, second;
  for (int i = 0; i < 150; ++i) first += static_cast<char>(i % 10) + std::string(12, static_cast<char>(i));
  for (int i = 0; i < 3; ++i) second += '\1' + std::string(12, '\2');
  write(here.path / "a", first);
  write(here.path / "b", second);
  const auto read = read_cifar_files({here.path / "a", here.path / "b"}, 0, small10);
  REQUIRE(read.labels.size() == 153);
  REQUIRE(read.pixels.size() == 153 * 12);
  for (std::size_t i = 0; i < 153; ++i) {
    CHECK(read.labels[i] == (i < 150 ? i % 10 : 1));
    CHECK(read.pixels[i * 12] == (i < 150 ? i : 2));
    CHECK(read.pixels[i * 12 + 11] == (i < 150 ? i : 2));
  }
}

TEST_CASE("a record of CIFAR-100 has two labels, of which one is chosen") {
  const folder here;
  const std::string path = here.path / "one.bin";
  write(path, std::string("\x13\x63") + numbered(12));
  CHECK(read_cifar_files({path}, 0, small100).labels == std::vector<std::uint8_t>{99});
  auto coarse = small100;
  coarse.chosen = 0;
  CHECK(read_cifar_files({path}, 0, coarse).labels == std::vector<std::uint8_t>{19});
  CHECK(read_cifar_files({path}, 0, coarse).pixels[1] == 4);
}

TEST_CASE("a wrong label of CIFAR is an error with its place") {
  const std::string good = '\x09' + std::string(12, 'p');
  CHECK(fault_of(good + good, small10).empty());
  CHECK(contains(fault_of(good + '\x0A' + std::string(12, 'p'), small10),
                 ", byte 13: expected a label from 0 to 9 of picture 1, found 10; the file is damaged"));
  const std::string both = std::string("\x13\x63") + std::string(12, 'p');
  CHECK(fault_of(both + both, small100).empty());
  CHECK(contains(fault_of(both + std::string("\x14\x00", 2) + std::string(12, 'p'), small100),
                 ", byte 14: expected a coarse label from 0 to 19 of picture 1, found 20"));
  CHECK(contains(fault_of(both + std::string("\x00\x64", 2) + std::string(12, 'p'), small100),
                 ", byte 15: expected a fine label from 0 to 99 of picture 1, found 100"));
  // The error names the first wrong label, in whichever piece of the file it is.
  std::string many;
  for (int i = 0; i < 200; ++i) many += static_cast<char>(i == 131 || i == 170 ? 200 : 0) + std::string(12, 'p');
  CHECK(contains(fault_of(many, small10), ", byte 1703: expected a label from 0 to 9 of picture 131, found 200"));
}

TEST_CASE("a file of CIFAR of a wrong size is an error that says what is there") {
  const std::string good = '\x09' + std::string(12, 'p');
  CHECK(contains(fault_of("", small10),
                 ", byte 0: expected whole pictures of 13 bytes, found the end of the file after 0 of them"));
  CHECK(contains(fault_of(good + "\x01", small10),
                 "found the end of the file after 1 of them and 1 bytes; the file was cut short"));
  CHECK(contains(fault_of(good.substr(1), small10), "after 0 of them and 12 bytes"));
  CHECK(contains(fault_of(good, small10, 2), ", byte 13: expected 2 pictures of 13 bytes, 26 in all, found the end of the file; "
                                             "get the file again, or read what is there by cifar_files::a_part"));
  CHECK(
      contains(fault_of(good + good, small10, 1), ", byte 13: expected 1 pictures of 13 bytes, 13 in all, found 13 more bytes"));
  CHECK(contains(fault_of("\x1F\x8B" + std::string(11, 'z'), small10), "found a gzip file; gunzip it first"));
}

TEST_CASE("read_cifar10 reads pictures (32, 32, 3), each channel with its scale") {
  const folder here;
  for (int batch = 1; batch < 3; ++batch) write(here.path / ("data_batch_" + std::to_string(batch) + ".bin"), pictures(4));
  write(here.path / "test_batch.bin", pictures(2));
  CHECK(has_cifar10(here.path));
  const auto read = read_cifar10(here.path, cifar_files::a_part);
  CHECK(read.train.size() == 8);
  CHECK(read.test.size() == 2);
  CHECK(read.train.sample_shape() == shape{32, 32, 3});
  std::vector<float> picture(3072);
  std::array<std::int32_t, 1> label{};
  read.train.read(7, picture, label);
  CHECK(label[0] == 3);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const double mean = cifar10_scale[channel].mean;
    CHECK(picture[3069 + channel] == static_cast<float>((3 / 255.0 - mean) / cifar10_scale[channel].deviation));
    CHECK(read.train.black()[channel] == static_cast<float>(-mean / cifar10_scale[channel].deviation));
  }
  std::vector<double> unscaled(3072);
  constexpr std::array<pixel_scale, 3> plain{};
  read_cifar10<double>(here.path, cifar_files::a_part, plain).train.read(2, unscaled, label);
  CHECK(unscaled == std::vector<double>(3072, 2 / 255.0));
}

TEST_CASE("read_cifar10 says which file is missing, and what lies there in its place") {
  const folder here;
  const auto place = here.path / "cifar-10-batches-bin"; // the folder in the archive
  CHECK_FALSE(has_cifar10(here.path));
  CHECK(contains(fault_in(here.path, cifar_files::a_part),
                 "/data_batch_1.bin: expected a file of the binary version of CIFAR-10, found No such file or directory; "
                 "check the path, and that the archive was unpacked whole"));
  std::filesystem::create_directory(place);
  write(place / "data_batch_1.bin", pictures(3));
  CHECK(has_cifar10(here.path));
  CHECK(contains(fault_in(here.path, cifar_files::a_part), "cifar-10-batches-bin/test_batch.bin: expected a file"));
  write(place / "test_batch.bin.gz", "z");
  CHECK(contains(fault_in(here.path, cifar_files::a_part), "test_batch.bin.gz is there: gunzip it first"));
  write(place / "test_batch.bin", pictures(1));
  CHECK(fault_in(here.path, cifar_files::a_part) == "no error");
  // A missing file between others is an error even for a part.
  write(place / "data_batch_4.bin", pictures(3));
  write(place / "data_batch_2", "pickled");
  CHECK(
      contains(fault_in(here.path, cifar_files::a_part), "data_batch_2 is there, of the version for Python: get the binary one"));
  CHECK(
      contains(fault_in(here.path, cifar_files::all),
               "data_batch_1.bin, byte 9219: expected 10000 pictures of 3073 bytes, 30730000 in all, found the end of the file"));
  std::filesystem::remove(place / "data_batch_1.bin");
  std::filesystem::create_directory(place / "data_batch_1.bin");
  CHECK(contains(fault_in(here.path, cifar_files::a_part), "found Is a directory"));
}

TEST_CASE("read_cifar100 reads its two files, with fine or coarse labels") {
  const folder here;
  std::string bytes;
  for (int i = 0; i < 3; ++i) bytes += std::string{static_cast<char>(i), static_cast<char>(90 + i)} + std::string(3072, '\x33');
  write(here.path / "train.bin", bytes);
  write(here.path / "test.bin", bytes.substr(0, 3074));
  const auto fine = read_cifar100(here.path, cifar100_labels::fine, cifar_files::a_part);
  CHECK(fine.train.size() == 3);
  CHECK(fine.test.size() == 1);
  CHECK(fine.train.labels()[2] == 92);
  CHECK(read_cifar100(here.path, cifar100_labels::coarse, cifar_files::a_part).train.labels()[2] == 2);
  std::vector<float> picture(3072);
  std::array<std::int32_t, 1> label{};
  fine.test.read(0, picture, label);
  CHECK(picture[2] == static_cast<float>((51 / 255.0 - 112.4 / 255) / (70.4 / 255)));
  CHECK_THROWS_WITH_AS(read_cifar100(here.path), doctest::Contains("expected 50000 pictures of 3074 bytes"), file_error);
}

TEST_CASE("the real CIFAR-10, where CAIRN_DATA says it is") {
  const char* const data = std::getenv("CAIRN_DATA");
  if (data == nullptr || !has_cifar10(std::filesystem::path(data) / "cifar10")) return;
  const auto read = read_cifar10(std::filesystem::path(data) / "cifar10", cifar_files::a_part); // the part may be all of it
  CHECK(read.train.sample_shape() == shape{32, 32, 3});
  CHECK(read.train.size() >= 1000);
  std::array<int, 10> seen{};
  for (const std::uint8_t label : read.train.labels()) ++seen.at(label);
  for (const int times : seen) CHECK(times > static_cast<int>(read.train.size()) / 15);
  // The published means and deviations are those of these pixels, channel by channel, so the planes are where they belong.
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0, squares = 0, count = 0;
    for (std::size_t i = channel; i < read.train.pixels().size(); i += 3, ++count) {
      const double pixel = read.train.pixels()[i] / 255.0;
      sum += pixel;
      squares += pixel * pixel;
    }
    const auto& scale = cifar10_scale[channel];
    CHECK(sum / count == doctest::Approx(scale.mean).epsilon(0.01));
    CHECK(squares / count == doctest::Approx(scale.mean * scale.mean + scale.deviation * scale.deviation).epsilon(0.02));
  }
}

} // namespace cifar_tests
