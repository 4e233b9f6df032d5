// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::ops {

// The numbers in which a model keeps the packed weights of its products. A product of few rows takes as long as its weight takes
// to be read, so fewer bytes are a quicker answer. Sums are not narrower: see multiply_by_packed.hpp and multiply_by_bytes.hpp.
enum class weight_format : unsigned char {
  own,      // those of the network: the answers have the bits of the trainer's
  bfloat16, // rounded to bfloat16: half of the bytes; the bits that a network has whose weights were rounded so
  int8,     // integers from -127 to 127, times a float for each output feature: a quarter of the bytes
};

// The weight (n, k) of products (m, k) x (n, k)^T a second time, in the order in which the kernels of this machine read it. It
// belongs to the weight at `of`. A product of few rows spends most of its time to bring its weight into this order; an owner of
// weights that seldom change does it once.
template <class T>
struct packed_weight {
  const T* of = nullptr;
  const void* data = nullptr; // null: there is none
  weight_format format = weight_format::own;

  // Whether it can be read in place of that weight.
  bool replaces(const T* weight) const { return data != nullptr && of == weight; }
};

} // namespace cairn::ops
