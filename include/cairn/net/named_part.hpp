// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include <cairn/core/config.hpp>

// Parts of a composite that have names of their own, as the submodules of a module of PyTorch.
namespace cairn::detail {

// A layer that is a part of a composite. Its parameters are named after Name::text in place of the number of a place: with the
// text "norm1", in a composite at place 3, "3.norm1.weight".
template <class Name, class Layer>
struct named_part : Layer {
  static constexpr std::string_view own_name = Name::text;
};

// The own name of a layer, empty for one that has a place.
template <class Layer>
inline constexpr std::string_view own_name = [] {
  if constexpr (requires { Layer::own_name; }) return std::string_view(Layer::own_name);
  else return std::string_view{};
}();

} // namespace cairn::detail
