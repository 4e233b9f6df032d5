// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/flatten.hpp>
#include <cairn/layer/input.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checked_network.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

template <class Model, class Culprit>
constexpr bool names = std::is_same_v<typename detail::network_culprit<Model>::type, Culprit>;
template <class Model>
constexpr bool right = names<Model, detail::nothing_wrong>;

using In = Linear<4, 8>;
using Same = Linear<8, 8>;

struct late {
  static constexpr reads backward_reads = reads::nothing;
  static shape output_shape(const shape& in) { return in; }
};

} // namespace

TEST_CASE("checked_network: right networks have no culprit") {
  static_assert(right<Sequential<In, ReLU, Repeat<3, Residual<Same, ReLU>>>>);
  static_assert(right<checkpoint<sqrt_n, Sequential<In, checkpoint<store_all, Sequential<Same, Same>>>>>);
  static_assert(right<Sequential<Input<2, 2>, Flatten, In>> && right<In>);
  static_assert(detail::right_network<Sequential<In, ReLU>>);
}

TEST_CASE("checked_network: the first joint that does not fit, however deep") {
  static_assert(names<Sequential<In, ReLU, In, Same, In>, joint<2, ReLU, dims<8>, In>>);
  static_assert(names<Sequential<In, Residual<Same, checkpoint<sqrt_n, Sequential<ReLU, In>>>>,
                      joint<1, ReLU, dims<8>, In>>);
  // A block that does not take what it is given is itself the consumer, also when it begins with a block.
  using Block = Residual<Sequential<Residual<In>>>;
  static_assert(names<Sequential<In, Block>, joint<1, In, dims<8>, Block>>);
}

TEST_CASE("checked_network: blocks that end otherwise than they begin") {
  using Widens = Residual<Same, Linear<8, 9>>;
  static_assert(names<Sequential<In, Widens>, residual_ends<Widens, dims<8>, dims<9>>>);
  static_assert(names<Sequential<In, Residual<Same, Widens>>, residual_ends<Widens, dims<8>, dims<9>>>);
  static_assert(names<Sequential<In, Repeat<2, Sequential<ReLU, Linear<8, 9>>>>,
                      repeated_joint<3, Linear<8, 9>, dims<9>, ReLU>>);
}

TEST_CASE("checked_network: parts that are wrong by themselves come before shapes") {
  static_assert(names<Sequential<In, In, int>, checked_layer<int>>);
  static_assert(names<Sequential<In, Residual<>>, empty_residual<Residual<>>>);
  static_assert(names<Sequential<In, Repeat<0, Same>>, empty_repeat<Repeat<0, Same>>>);
  static_assert(names<checkpoint<Same, In>, checked_policy<Same, 1, policy_fault::no_plan>>);
  using Nothing = checkpoint<sqrt_n, Sequential<Sequential<>>>;
  static_assert(names<Nothing, empty_checkpoint<Nothing>> &&
                names<Sequential<In, Nothing>, empty_checkpoint<Nothing>>);
  static_assert(names<Sequential<>, empty_network<Sequential<>>>);
}

TEST_CASE("checked_network: shapes that nobody knows") {
  static_assert(names<Sequential<Residual<ReLU>, In>, begins_with<ReLU>>);
  static_assert(names<Sequential<In, late, Same>, shape_at_run_time<1, late>>);
}
