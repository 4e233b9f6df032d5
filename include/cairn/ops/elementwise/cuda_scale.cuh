// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::detail {

// An update whose scale is known to the GPU alone: Element is sgd_element or another function object that begins with its
// coefficients and the scale.
template <class Element, class T, class Coefficients>
struct with_scale_of_device {
  Coefficients c;
  template <class... More>
  CAIRN_DEVICE void operator()(T& p, More&... more) const {
    const T scale = static_cast<T>(c.factor == nullptr ? c.scale : c.scale * *c.factor);
    Element{c, scale}(p, more...);
  }
};

} // namespace cairn::detail
