// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/relu.hpp>
#include <cairn/net/composite.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

template <class T>
using composite = detail::composite<T>;
template <class T>
using whole = detail::whole<T>;

using Net = Sequential<ReLU, ReLU>;

} // namespace

TEST_CASE("composite: what is one stage with a chain inside") {
  static_assert(!composite<ReLU>::is);
  static_assert(!composite<Net>::is); // it is several stages
  static_assert(composite<Residual<ReLU>>::is && composite<Residual<ReLU>>::as == role::residual);
  static_assert(std::is_same_v<composite<Residual<ReLU, ReLU>>::body, Net>);
  static_assert(std::is_same_v<composite<Residual<ReLU>>::policy, store_all>);
  static_assert(composite<checkpoint<sqrt_n, Net>>::is &&
                composite<checkpoint<sqrt_n, Net>>::as == role::nested);
  static_assert(std::is_same_v<composite<checkpoint<sqrt_n, Net>>::body, Net>);
  static_assert(std::is_same_v<composite<checkpoint<sqrt_n, Net>>::policy, sqrt_n>);
}

TEST_CASE("composite: a checkpoint around everything is the plan of everything") {
  static_assert(std::is_same_v<whole<Net>::body, Net> && std::is_same_v<whole<Net>::policy, store_all>);
  static_assert(std::is_same_v<whole<checkpoint<every<3>, Net>>::body, Net>);
  static_assert(std::is_same_v<whole<checkpoint<every<3>, Net>>::policy, every<3>>);
  static_assert(!whole<Net>::fused && !whole<checkpoint<every<3>, Net>>::fused);
}

TEST_CASE("composite: a fused update around everything leaves body and policy as they are") {
  static_assert(whole<fused_update<Net>>::fused && whole<fused_update<checkpoint<every<3>, Net>>>::fused);
  static_assert(std::is_same_v<whole<fused_update<Net>>::body, Net>);
  static_assert(std::is_same_v<whole<fused_update<checkpoint<every<3>, Net>>>::body, Net>);
  static_assert(std::is_same_v<whole<fused_update<checkpoint<every<3>, Net>>>::policy, every<3>>);
}
