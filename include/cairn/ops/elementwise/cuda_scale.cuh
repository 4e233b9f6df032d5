// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::detail {

// An update whose scale only the GPU knows. Element is sgd_element or another function object whose first members are its
// coefficients and the scale. A thread reads the scale once.
template <class Element, class T, class Coefficients>
struct with_scale_of_device {
  Coefficients c;
  CAIRN_DEVICE Element prepared() const {
    return Element{c, static_cast<T>(c.factor == nullptr ? c.scale : c.scale * *c.factor)};
  }
};

} // namespace cairn::detail
