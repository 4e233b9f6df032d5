// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/data/image_dataset.hpp>

namespace cairn {

// Images of handwritten digits (height, width, 1) with labels 0 … 9, to train on and to test with.
template <class T>
struct digit_images {
  image_dataset<T> train;
  image_dataset<T> test;
};

// Mean and standard deviation of MNIST's training pixels, as everybody uses them.
inline constexpr pixel_scale mnist_scale{.mean = 0.1307, .deviation = 0.3081};

} // namespace cairn
