// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// One layer after another: the output of each is the input of the next. Layers, blocks and other Sequentials may
// stand in it; a Sequential inside another is the same chain written in two parts.
template <class... Layers>
struct Sequential {};

} // namespace cairn
