// SPDX-License-Identifier: MIT
// CIFAR: a file is read if and only if it has whole records of right labels, and its pixels are those of a second, plain reading.
// The pictures are (2, 2) in place of (32, 32), so that a file of a few bytes has several; beside that the format is the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/data/cifar.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

constexpr detail::cifar_format small10{.name = "CIFAR-10", .folder = "inside", .classes = {10, 0}, .side = 2};
constexpr detail::cifar_format small100{.name = "CIFAR-100", .folder = "inside", .classes = {20, 100}, .side = 2, .chosen = 1};

bool is_sound(std::span<const std::uint8_t> bytes, const detail::cifar_format& format) {
  if (bytes.empty() || bytes.size() % format.record() != 0) return false;
  for (std::size_t i = 0; i < bytes.size(); i += format.record())
    for (std::size_t k = 0; k < format.labels(); ++k)
      if (bytes[i + k] >= format.classes[k]) return false;
  return true;
}

void check(const std::string& path, std::span<const std::uint8_t> bytes, const detail::cifar_format& format) {
  const bool sound = is_sound(bytes, format);
  // Twice the same file, so that the second one is read behind the first.
  detail::cifar_records read;
  const bool was_read = fuzzing::reads(path, [&] { read = detail::read_cifar_files({path, path}, 0, format); });
  // Bytes that begin like a gzip file would have a wrong label too.
  fuzzing::require(was_read == sound, "a file is read if and only if it has whole records of right labels");
  if (!sound) return;
  const std::size_t count = bytes.size() / format.record();
  fuzzing::require(read.labels.size() == 2 * count && read.pixels.size() == 2 * count * 12, "every record is read");
  for (std::size_t i = 0; i < 2 * count; ++i) {
    const auto record = bytes.subspan(i % count * format.record(), format.record());
    fuzzing::require(read.labels[i] == record[format.chosen], "a picture has its label");
    for (std::size_t pixel = 0; pixel < 4; ++pixel)
      for (std::size_t channel = 0; channel < 3; ++channel)
        fuzzing::require(read.pixels[i * 12 + pixel * 3 + channel] == record[format.labels() + channel * 4 + pixel],
                         "a pixel is where it belongs");
  }
  // As many pictures as are there may be asked for, and no other number.
  const auto wanted = [&](std::size_t pictures) {
    return fuzzing::reads(path, [&] { detail::read_cifar_files({path}, pictures, format); });
  };
  fuzzing::require(wanted(count), "a file of as many pictures as are expected is read");
  fuzzing::require(!wanted(count + 1), "a file of fewer pictures than are expected is refused");
}

} // namespace

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t> bytes) {
  // By the length of a record: each refusal is an exception, which under a sanitizer takes the most time by far.
  check(path, bytes, bytes.size() % small100.record() == 0 ? small100 : small10);
}

void fuzzing::write_seeds(const std::string& folder) {
  const auto file = [](const std::string& labels, std::size_t pictures) {
    std::string out;
    for (std::size_t i = 0; i < pictures; ++i) out += labels + "rrrrggggbbbb";
    return out;
  };
  write_seed(folder + "ten", file("\x09", 3));
  write_seed(folder + "ten_long", file("\x01", 70));
  write_seed(folder + "hundred", file("\x13\x63", 2));
  write_seed(folder + "hundred_long", file("\x01\x02", 70));
  write_seed(folder + "wrong_label", file("\x0a", 1));
  write_seed(folder + "packed", "\x1f\x8b" + std::string(11, 'z'));
  write_seed(folder + "cut", file("\x09", 3).substr(1));
}
