// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/activation.hpp>

namespace cairn::detail {

// The options of a call besides the plain function.
template <class T>
struct request {
  pass why = pass::forward;
  bool tape = true; // of a forward: a backward follows
  bool in_place = false;
  bool on_input = false;               // of a backward: the input gradients lie on the inputs
  tensor_set used = all_tensors;       // of a backward: the outputs that have a gradient
  tensor_set wanted = all_tensors;     // ... the inputs whose gradient is made
  bool gradients = true;               // ... whether those of the parameters are made
  activation apply = activation::none; // `then` or `before`
  const T* addend = nullptr;
  const layer_sums* over_ranks = nullptr;
  std::size_t gap = 0; // unused elements after each row of the last extent of outputs[0]
};

} // namespace cairn::detail
