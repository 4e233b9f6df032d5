// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/dataset_fingerprint.hpp>
#include <cairn/data/image_part.hpp>
#include <cairn/data/images/fit_image.hpp>
#include <cairn/data/images/folder_images.hpp>
#include <cairn/data/images/image_options.hpp>
#include <cairn/data/images/read_image.hpp>
#include <cairn/data/pixel_scale.hpp>
#include <cairn/data/pixel_value.hpp>

namespace cairn::types {

// Options of a vision::image_folder, by name.
struct image_folder_options {
  vision::image_fit fit = vision::image_fit::scale;      // how images of other extents get those of a sample
  std::vector<vision::pixel_scale> scales{{}};           // one, or one for each channel
  std::size_t most_pixels = image_options{}.most_pixels; // of a file, height x width
};

} // namespace cairn::types

namespace cairn::vision {

// A folder of PNG and JPEG files as a dataset of labelled images (height, width, channels), as torchvision's ImageFolder:
//
//   photos/cat/1.png, photos/cat/holidays/2.jpg, photos/dog/3.jpeg …
//   const vision::image_folder data("photos", shape{64, 64, 3}, {.fit = vision::image_fit::crop});
//   loader batches{data, sampler{}, batch<64>{}, {.prefetch = 4, .threads = 4}};
//
// Each folder in `root` is a class; its number, by the sorted names, is the target. Files in folders inside a class belong to it;
// hidden names, files beside the classes and files with other endings than .png, .jpg and .jpeg are ignored. The constructor
// finds and sorts all files, and reads none of them. read() reads, decodes and fits one image, in milliseconds rather than
// microseconds, and may be called from several threads: let several of a loader's threads do it. No image is kept in memory.
//
// decode_image says how files become bytes, fit_image how these get other extents. A byte then becomes a number of type T by the
// pixel_scale of its channel, as in an image_dataset.
template <class T = float>
class image_folder {
public:
  using input_type = T;
  using target_type = std::int32_t;

  // `image` is (height, width, 3), or (height, width, 1) or (height, width) for grey images. Throws input_error for another shape
  // and for options that do not fit; file_error for a folder without classes, for a class without images, and for what cannot
  // be read.
  image_folder(std::string root, const shape& image, types::image_folder_options how = {})
      : root_(std::move(root)), image_(image), extents_(checked(image, how)), how_(std::move(how)),
        values_(how_.scales, "image_folder"), found_(detail::images_in(root_)) {
    for (const detail::folder_image& each : found_.images) labels_.push_back(each.label);
  }

  std::size_t size() const { return labels_.size(); }
  const shape& sample_shape() const { return image_; }
  static constexpr std::size_t targets_per_sample() { return 1; }

  // Throws file_error, which names the file, if the file has gone or is damaged.
  void read(std::size_t index, std::span<T> input, std::span<target_type> target) const {
    const auto image = fit_image(read_image(path(index), {.channels = extents_.channels, .most_pixels = how_.most_pixels}),
                                 extents_.height, extents_.width, how_.fit);
    values_.read(image.pixels.data(), input);
    target[0] = labels_[index];
  }

  // The names of the classes: target k is classes()[k].
  const std::vector<std::string>& classes() const { return found_.classes; }
  // The class of each sample, for samplers::balanced and others, without reading an image.
  std::span<const std::int32_t> labels() const { return labels_; }
  // The file of a sample.
  std::string path(std::size_t index) const { return root_ + "/" + found_.images[index].path(); }

  // The value of a black pixel: transforms fill margins with it. And of a white one.
  pixel_value black() const { return values_.value_of(0); }
  pixel_value white() const { return values_.value_of(255); }

  // A hash of the names below the root and the sizes of all files, of the bytes of up to 64 of them, and of the options that
  // change a sample; not of where the root is. 0 if one of those files cannot be read.
  std::uint64_t fingerprint() const {
    std::vector<std::uint64_t> words{static_cast<std::uint64_t>(how_.fit)};
    for (const pixel_scale& scale : how_.scales)
      for (const double number : {scale.mean, scale.deviation}) words.push_back(std::bit_cast<std::uint64_t>(number));
    for (const detail::folder_image& each : found_.images) {
      const std::string name = each.path();
      words.push_back(detail::quick_checksum(std::as_bytes(std::span(name))));
      words.push_back(each.bytes);
    }
    const std::size_t count = std::min(size(), detail::fingerprint_samples);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t sample = size() <= detail::fingerprint_samples ? k : detail::fingerprint_sample(k, size());
      try {
        const auto bytes = detail::image_bytes(path(sample));
        words.push_back(detail::quick_checksum(std::as_bytes(std::span(bytes))));
      } catch (const file_error&) { // training may never read this sample
        return 0;
      }
    }
    return std::max<std::uint64_t>(detail::checksum_of_words(words), 1);
  }

private:
  static detail::image_extents checked(const shape& image, const types::image_folder_options& how) {
    const detail::image_extents of = detail::extents_of_image(image, "image_folder");
    if (image.size() == 0 || (of.channels != 1 && of.channels != 3))
      throw input_error(
          "image_folder: expected images (height, width, 3), (height, width, 1) or (height, width), of at least one "
          "pixel, found " +
          detail::words_of_extents(of.height, of.width) + " with " + std::to_string(of.channels) + " channels");
    if (how.scales.size() != 1 && how.scales.size() != of.channels)
      throw input_error("image_folder: expected one of .scales, or one for each of " + std::to_string(of.channels) +
                        " channels, found " + std::to_string(how.scales.size()));
    return of;
  }

  std::string root_;
  shape image_;
  detail::image_extents extents_;
  types::image_folder_options how_;
  detail::scaled_pixels<T> values_;
  detail::folder_images found_;
  std::vector<target_type> labels_; // of found_.images
};

} // namespace cairn::vision
