// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>

namespace cairn {

// How a chain stands in the chain around it: it is the whole network; it is a stage that computes what its chain
// computes; or it is a stage that adds its input to that.
enum class role : unsigned char { root, nested, residual };

namespace detail {

// What is one stage and has a chain inside. A layer has none.
template <class T>
struct composite {
  static constexpr bool is = false;
};
template <class Policy, class Net>
struct composite<checkpoint<Policy, Net>> {
  static constexpr bool is = true;
  static constexpr role as = role::nested;
  using body = Net;
  using policy = Policy;
};
template <class... Layers>
struct composite<Residual<Layers...>> {
  static constexpr bool is = true;
  static constexpr role as = role::residual;
  using body = Sequential<Layers...>;
  using policy = store_all;
};
// A whole network, as the user gives it: a checkpoint around everything is the plan of everything, and a fused update
// can be around that.
template <class Model>
struct whole {
  using body = Model;
  using policy = store_all;
  static constexpr bool fused = false;
};
template <class Policy, class Net>
struct whole<checkpoint<Policy, Net>> {
  using body = Net;
  using policy = Policy;
  static constexpr bool fused = false;
};
template <class Model>
struct whole<fused_update<Model>> : whole<Model> {
  static constexpr bool fused = true;
};

// The network inside a fused update, with its policy.
template <class Model>
struct without_fusion {
  using type = Model;
};
template <class Model>
struct without_fusion<fused_update<Model>> : without_fusion<Model> {};

} // namespace detail

} // namespace cairn
