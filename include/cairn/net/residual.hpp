// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// y = x + f(x), where f is the layers one after another; f(x) must have the shape of x
// (He, Zhang, Ren, Sun: Deep residual learning for image recognition, 2015).
template <class... Layers>
struct Residual {};

} // namespace cairn
