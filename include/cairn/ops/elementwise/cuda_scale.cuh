// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::detail {

// An update whose scale only the GPU knows, and with loss scaling whether it is made. Element is sgd_element or another function
// object whose first members are its coefficients and the scale. A thread reads each once.
template <class Element, class T, class Coefficients>
struct with_scale_of_device {
  Coefficients c;
  CAIRN_DEVICE Element prepared() const {
    return Element{c.decided(), static_cast<T>(c.factor == nullptr ? c.scale : c.scale * *c.factor)};
  }
  CAIRN_DEVICE bool skips() const { return c.decision.skips(); }
};

} // namespace cairn::detail
