// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/image_dataset.hpp>

namespace cairn::vision {

// The binary version of CIFAR-10 and CIFAR-100 (Krizhevsky: Learning multiple layers of features from tiny images. 2009;
// cifar-10-binary.tar.gz, cifar-100-binary.tar.gz). A file has no header, only records, one after another:
//   CIFAR-10    a label 0 … 9, then 3072 bytes of pixels           data_batch_1.bin … data_batch_5.bin, test_batch.bin
//   CIFAR-100   a coarse label 0 … 19, a fine one 0 … 99, then 3072 bytes of pixels                train.bin, test.bin
// The pixels are three planes (32, 32): red, green, blue. They are reordered to (32, 32, 3) once, when they are read.

// Pictures (32, 32, 3) with labels, to train on and to test with.
template <class T>
struct cifar_images {
  image_dataset<T> train;
  image_dataset<T> test;
};

// Mean and standard deviation of each channel of the training pixels, as in fb.resnet.torch and in DenseNet's own program.
// (The deviations 0.2023, 0.1994, 0.2010 that one often meets are means of the deviations of single pictures.)
inline constexpr std::array<pixel_scale, 3> cifar10_scale{pixel_scale{.mean = 125.3 / 255, .deviation = 63.0 / 255},
                                                          pixel_scale{.mean = 123.0 / 255, .deviation = 62.1 / 255},
                                                          pixel_scale{.mean = 113.9 / 255, .deviation = 66.7 / 255}};
inline constexpr std::array<pixel_scale, 3> cifar100_scale{pixel_scale{.mean = 129.3 / 255, .deviation = 68.2 / 255},
                                                           pixel_scale{.mean = 124.1 / 255, .deviation = 65.4 / 255},
                                                           pixel_scale{.mean = 112.4 / 255, .deviation = 70.4 / 255}};

// The files that a folder must have. `all`: every file, each with all of its pictures. `a_part`: in each file any number of
// whole pictures, and for CIFAR-10 as many batches as there are, from the first on.
enum class cifar_files { all, a_part };

// The label of a picture of CIFAR-100: one of 100 classes, or one of the 20 that they are grouped into.
enum class cifar100_labels { fine, coarse };

} // namespace cairn::vision

namespace cairn::detail {

struct cifar_format {
  const char* name;                // of the data set
  const char* folder;              // that its archive is unpacked to
  std::array<unsigned, 2> classes; // of each label; 0 for a label that does not exist
  std::size_t side = 32;           // of a picture, in pixels
  std::size_t chosen = 0;          // label
  constexpr std::size_t labels() const { return classes[1] == 0 ? 1 : 2; }
  constexpr std::size_t plane() const { return side * side; }
  constexpr std::size_t record() const { return labels() + 3 * plane(); } // bytes
};
inline constexpr cifar_format cifar10_format{.name = "CIFAR-10", .folder = "cifar-10-batches-bin", .classes = {10, 0}};
inline constexpr cifar_format cifar100_format{.name = "CIFAR-100", .folder = "cifar-100-binary", .classes = {20, 100}};

struct cifar_records {
  std::vector<std::uint8_t> pixels; // (pictures, height, width, 3)
  std::vector<std::uint8_t> labels; // (pictures)
};

[[noreturn]] inline void refuse_cifar_file(const std::string& path, const cifar_format& format, const std::string& reason) {
  std::string text = path;
  text.append(": expected a file of the binary version of ").append(format.name);
  text.append(", found ").append(reason);
  const std::string python = path.substr(0, path.size() - std::min<std::size_t>(path.size(), 4)); // without .bin
  const std::string packed = path + ".gz";
  if (file_exists(packed)) text.append("; ").append(packed).append(" is there: gunzip it first");
  else if (file_exists(python))
    text.append("; ").append(python).append(" is there, of the version for Python: get the binary one");
  else text.append("; check the path, and that the archive was unpacked whole");
  throw file_error(text);
}

// The number of pictures in a file, from its size. The size is checked here, before memory is allocated. `wanted` is the
// number that the file must have; 0: any number.
inline std::size_t count_cifar_pictures(open_file& file, const std::string& path, std::size_t wanted,
                                        const cifar_format& format) {
  const std::uint64_t size = file.size();
  if (size == file.no_size) refuse_cifar_file(path, format, file.fault());
  std::array<std::uint8_t, 2> start{};
  if (size >= 2 && file.read(start.data(), 2, 0) && start[0] == 0x1F && start[1] == 0x8B)
    wrong_bytes(path, 0, "a file of the binary version", "a gzip file", "gunzip it first");
  const std::uint64_t pictures = size / format.record();
  const std::uint64_t expected = std::uint64_t{wanted} * format.record();
  if (expected != 0 && size != expected)
    wrong_bytes(path, std::min(size, expected),
                std::to_string(wanted) + " pictures of " + std::to_string(format.record()) + " bytes, " +
                    std::to_string(expected) + " in all",
                size < expected ? "the end of the file" : std::to_string(size - expected) + " more bytes",
                "get the file again, or read what is there by cifar_files::a_part");
  if (pictures == 0 || size % format.record() != 0)
    wrong_bytes(path, size, "whole pictures of " + std::to_string(format.record()) + " bytes",
                "the end of the file after " + std::to_string(pictures) + " of them and " +
                    std::to_string(size % format.record()) + " bytes",
                "the file was cut short or is no file of this format: get it again");
  return static_cast<std::size_t>(pictures);
}

// Reorders three planes (height, width) to pixels (height, width, 3).
inline void turn_cifar_planes(const std::uint8_t* planes, std::size_t plane, std::uint8_t* to) {
  for (std::size_t i = 0; i < plane; ++i, to += 3) {
    to[0] = planes[i];
    to[1] = planes[plane + i];
    to[2] = planes[2 * plane + i];
  }
}

// Checks the labels of one record and returns the chosen one; `offset` is where the record begins.
inline std::uint8_t cifar_label(const std::uint8_t* record, const std::string& path, std::uint64_t offset,
                                const cifar_format& format) {
  for (std::size_t k = 0; k < format.labels(); ++k) {
    if (record[k] < format.classes[k]) continue;
    std::string expected = format.labels() == 1 ? "a label" : k == 0 ? "a coarse label" : "a fine label";
    expected.append(" from 0 to ").append(std::to_string(format.classes[k] - 1));
    expected.append(" of picture ").append(std::to_string(offset / format.record()));
    wrong_bytes(path, offset + k, expected, std::to_string(record[k]),
                "the file is damaged, or of another data set: get it again");
  }
  return record[format.chosen];
}

// Reads the pictures of all files, one after another; each file has `wanted` of them, 0: any number. It reads all sizes,
// allocates once, then reads the files in pieces of 64 pictures.
inline cifar_records read_cifar_files(const std::vector<std::string>& paths, std::size_t wanted, const cifar_format& format) {
  std::size_t total = 0;
  for (const std::string& path : paths) {
    open_file file(path, O_RDONLY);
    total += count_cifar_pictures(file, path, wanted, format);
  }
  const std::size_t record = format.record();
  const std::size_t pixels = 3 * format.plane();
  constexpr std::size_t piece = 64;
  cifar_records all;
  std::vector<std::uint8_t> bytes;
  try {
    if (total > all.pixels.max_size() / pixels) throw std::bad_alloc(); // before the product could wrap around
    all.pixels.resize(total * pixels);
    all.labels.resize(total);
    bytes.resize(std::min(total, piece) * record);
  } catch (const std::bad_alloc&) {
    throw input_error(paths[0] + ": expected pictures that fit into memory, found " + std::to_string(total) + " of " +
                      std::to_string(pixels) + " bytes; read fewer files");
  }

  std::size_t done = 0;
  for (const std::string& path : paths) {
    open_file file(path, O_RDONLY);
    // A file may have grown since its size was read: take no more than there is room for.
    const std::size_t here = std::min(count_cifar_pictures(file, path, wanted, format), total - done);
    for (std::size_t first = 0; first < here; first += piece) {
      const std::size_t count = std::min(piece, here - first);
      const std::uint64_t offset = std::uint64_t{first} * record;
      if (!file.read(bytes.data(), count * record, offset))
        wrong_bytes(path, offset, std::to_string(count * record) + " readable bytes", "an error of the file system",
                    "check the permissions and the disk");
      for (std::size_t k = 0; k < count; ++k, ++done) {
        const std::uint8_t* const from = bytes.data() + k * record;
        all.labels[done] = cifar_label(from, path, offset + k * record, format);
        turn_cifar_planes(from + format.labels(), format.plane(), all.pixels.data() + done * pixels);
      }
    }
  }
  all.labels.resize(done);
  all.pixels.resize(done * pixels);
  return all;
}

template <class T>
image_dataset<T> read_cifar(const std::vector<std::string>& paths, std::size_t wanted, const cifar_format& format,
                            const std::array<pixel_scale, 3>& scale) {
  auto all = read_cifar_files(paths, wanted, format);
  return {shape{format.side, format.side, 3}, std::move(all.pixels), std::move(all.labels), scale};
}

// The training batches of CIFAR-10: all five, or for a part those up to the last one that is there. A missing batch between
// two others is therefore noticed.
inline std::vector<std::string> cifar10_batches(const std::string& root, bool all) {
  const auto path = [&](std::size_t number) { return root + "data_batch_" + std::to_string(number) + ".bin"; };
  std::size_t count = 5;
  while (!all && count > 1 && !file_exists(path(count))) --count;
  std::vector<std::string> paths;
  for (std::size_t number = 1; number <= count; ++number) paths.push_back(path(number));
  return paths;
}

// The folder itself, or the one that the archive was unpacked to inside it.
inline std::string cifar_folder(const std::string& folder, const cifar_format& format, const char* first_file) {
  const std::string inner = folder + "/" + format.folder;
  return !file_exists(folder + "/" + first_file) && file_exists(inner + "/" + first_file) ? inner : folder;
}

} // namespace cairn::detail

namespace cairn::vision {

// Reads CIFAR-10 from a folder with its six files, or with the folder cifar-10-batches-bin of its archive. A pixel is scaled
// for its channel when a batch is made. Throws a file_error that names the file, the byte, what was expected and what was
// found if a file is missing, has another size, or has a label out of range.
template <class T = float>
cifar_images<T> read_cifar10(const std::string& folder, cifar_files which = cifar_files::all,
                             const std::array<pixel_scale, 3>& scale = cifar10_scale) {
  const std::string root = detail::cifar_folder(folder, detail::cifar10_format, "data_batch_1.bin") + "/";
  const bool all = which == cifar_files::all;
  const std::size_t each = all ? 10000 : 0;
  const auto& format = detail::cifar10_format;
  return {detail::read_cifar<T>(detail::cifar10_batches(root, all), each, format, scale),
          detail::read_cifar<T>({root + "test_batch.bin"}, each, format, scale)};
}

// The same for CIFAR-100, with 100 classes or 20. The folder of its archive is cifar-100-binary.
template <class T = float>
cifar_images<T> read_cifar100(const std::string& folder, cifar100_labels labels = cifar100_labels::fine,
                              cifar_files which = cifar_files::all, const std::array<pixel_scale, 3>& scale = cifar100_scale) {
  detail::cifar_format format = detail::cifar100_format;
  format.chosen = labels == cifar100_labels::fine ? 1 : 0;
  const std::string root = detail::cifar_folder(folder, format, "train.bin") + "/";
  const std::size_t all = which == cifar_files::all ? 1 : 0;
  return {detail::read_cifar<T>({root + "train.bin"}, all * 50000, format, scale),
          detail::read_cifar<T>({root + "test.bin"}, all * 10000, format, scale)};
}

// Whether the files for read_cifar10 are there; read_cifar10 checks whether they are sound.
inline bool has_cifar10(const std::string& folder) {
  return detail::file_exists(detail::cifar_folder(folder, detail::cifar10_format, "data_batch_1.bin") + "/data_batch_1.bin");
}

} // namespace cairn::vision
