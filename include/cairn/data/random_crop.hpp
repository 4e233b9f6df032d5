// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/pixel_value.hpp>
#include <cairn/data/random_shift.hpp>

namespace cairn::vision {

// torchvision's RandomCrop(side of the image, padding): puts `padding` pixels of margin on each side of an image and cuts
// out a part of the image's own extents, every place equally likely. That is a shift by up to `padding` pixels in each
// direction, so random_shift does it. (To cut out a smaller part would change the shape of a sample; a transform cannot.)
//
// torchvision pads with 0 before it normalises, so the margin is black. Here an image is normalised already, and 0 would
// be the mean colour: give the black of the dataset, random_crop{.padding = 4, .fill = data.train.black()}.
struct random_crop {
  std::size_t padding = 4;
  pixel_value fill = 0;

  template <class T>
  void operator()(std::span<T> sample, const shape& image, const types::random_key& key) const {
    random_shift::move_at_random(sample, image, key, padding, fill, "random_crop");
  }
};

} // namespace cairn::vision
