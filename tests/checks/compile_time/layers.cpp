// SPDX-License-Identifier: MIT
// LAYERS layers, no two alike.
#include <cstddef>
#include <utility>

#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

template <std::size_t... I>
auto distinct(std::index_sequence<I...>) -> cairn::Sequential<cairn::Linear<I + 1, I + 2>...>;

#if LAYERS > 0
using Net = decltype(distinct(std::make_index_sequence<LAYERS>{}));
static_assert(cairn::peak_activation_bytes<Net, 64> > 0);
#endif
