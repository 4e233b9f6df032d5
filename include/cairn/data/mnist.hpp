// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/data/image_dataset.hpp>

namespace cairn::vision {

// Images of handwritten digits (height, width, 1) with labels 0 … 9, to train on and to test with.
template <class T>
struct digit_images {
  image_dataset<T> train;
  image_dataset<T> test;
};

// Mean and standard deviation of MNIST's training pixels, as they are commonly used.
inline constexpr pixel_scale mnist_scale{.mean = 0.1307, .deviation = 0.3081};

} // namespace cairn::vision

namespace cairn::detail {

// Some archives write a dot for the second hyphen: train-images.idx3-ubyte.
inline std::string mnist_file(const std::string& folder, const std::string& stem, const char* suffix) {
  const std::string dotted = folder + "/" + stem + "." + suffix;
  return file_exists(dotted) ? dotted : folder + "/" + stem + "-" + suffix;
}

template <class T>
image_dataset<T> read_digits(const std::string& folder, const std::string& part, pixel_scale scale) {
  const auto image_path = mnist_file(folder, part + "-images", "idx3-ubyte");
  const auto label_path = mnist_file(folder, part + "-labels", "idx1-ubyte");
  auto images = read_idx<std::uint8_t>(image_path);
  auto labels = read_idx<std::uint8_t>(label_path);
  if (images.sample_shape.rank != 2)
    wrong_bytes(image_path, 3, "3 extents (images, height, width)", std::to_string(images.sample_shape.rank + 1),
                "check that images and labels have not changed places");
  if (labels.sample_shape.rank != 0)
    wrong_bytes(label_path, 3, "1 extent (labels)", std::to_string(labels.sample_shape.rank + 1),
                "check that images and labels have not changed places");
  if (labels.samples != images.samples)
    wrong_bytes(label_path, 4, "one label for each of the " + std::to_string(images.samples) + " images of " + image_path,
                std::to_string(labels.samples), "take both files from the same data set");
  for (std::size_t i = 0; i < labels.samples; ++i)
    if (labels.values[i] > 9)
      wrong_bytes(label_path, 8 + i, "a label from 0 to 9", std::to_string(labels.values[i]),
                  "the file is damaged, or not of digits: read it by read_idx");
  shape image = images.sample_shape;
  image.push_back(1);
  return {image, std::move(images.values), std::move(labels.values), scale};
}

} // namespace cairn::detail

namespace cairn::vision {

// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-… from a folder, as distributed and gunzipped; any file of
// that form will do. Throws a file_error that names the file, the byte, what was expected and what was found.
template <class T = float>
digit_images<T> read_mnist(const std::string& folder, pixel_scale scale = mnist_scale) {
  digit_images<T> digits{detail::read_digits<T>(folder, "train", scale), detail::read_digits<T>(folder, "t10k", scale)};
  if (!(digits.train.sample_shape() == digits.test.sample_shape()))
    throw file_error(folder + ": expected images of one size to train and to test with, found " +
                     std::to_string(digits.train.sample_shape().size()) + " and " +
                     std::to_string(digits.test.sample_shape().size()) + " pixels; take both from the same data set");
  return digits;
}

// Whether the files for read_mnist are there; read_mnist checks whether they are sound.
inline bool has_mnist(const std::string& folder) {
  return detail::file_exists(detail::mnist_file(folder, "train-images", "idx3-ubyte"));
}

} // namespace cairn::vision
