// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "layers.hpp"

namespace checked_network_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

template <class Model, class Diagnostic>
constexpr bool names = std::is_same_v<typename network_diagnostic<Model>::type, Diagnostic>;
template <class Model>
constexpr bool right = names<Model, nothing_wrong>;

using In = Linear<4, 8>;
using Same = Linear<8, 8>;

struct late {
  static constexpr reads backward_reads = reads::nothing;
  static tensor outputs(const arguments& in) { return in[0]; }
};

} // namespace

TEST_CASE("checked_network: right networks have no diagnostic") {
  static_assert(right<Sequential<In, ReLU, Repeat<3, Residual<Same, ReLU>>>>);
  static_assert(right<checkpoint<sqrt_n, Sequential<In, checkpoint<store_all, Sequential<Same, Same>>>>>);
  static_assert(right<Sequential<Input<2, 2>, Flatten, In>> && right<In>);
  static_assert(right_network<Sequential<In, ReLU>>);
}

TEST_CASE("checked_network: the first joint that does not fit, however deep") {
  static_assert(names<Sequential<In, ReLU, In, Same, In>, joint<2, ReLU, dims<8>, In>>);
  static_assert(names<Sequential<In, Residual<Same, checkpoint<sqrt_n, Sequential<ReLU, In>>>>, joint<1, ReLU, dims<8>, In>>);
  // The diagnostic names a block that does not take its input as the consumer, also if the block begins with a block.
  using Block = Residual<Sequential<Residual<In>>>;
  static_assert(names<Sequential<In, Block>, joint<1, In, dims<8>, Block>>);
}

TEST_CASE("checked_network: blocks that end otherwise than they begin") {
  using Widens = Residual<Same, Linear<8, 9>>;
  static_assert(names<Sequential<In, Widens>, residual_ends<Widens, dims<8>, dims<9>>>);
  static_assert(names<Sequential<In, Residual<Same, Widens>>, residual_ends<Widens, dims<8>, dims<9>>>);
  static_assert(names<Sequential<In, Repeat<2, Sequential<ReLU, Linear<8, 9>>>>, repeated_joint<3, Linear<8, 9>, dims<9>, ReLU>>);
}

TEST_CASE("checked_network: parts that are wrong by themselves come before shapes") {
  static_assert(names<Sequential<In, In, int>, checked_layer<int>>);
  static_assert(names<Sequential<In, Residual<>>, empty_residual<Residual<>>>);
  static_assert(names<Sequential<In, Repeat<0, Same>>, empty_repeat<Repeat<0, Same>>>);
  static_assert(names<checkpoint<Same, In>, checked_policy<Same, 1, policy_fault::no_plan>>);
  using Nothing = checkpoint<sqrt_n, Sequential<Sequential<>>>;
  static_assert(names<Nothing, empty_checkpoint<Nothing>> && names<Sequential<In, Nothing>, empty_checkpoint<Nothing>>);
  static_assert(names<Sequential<>, empty_network<Sequential<>>>);
}

TEST_CASE("checked_network: shapes that the compiler cannot know") {
  static_assert(names<Sequential<Residual<ReLU>, In>, begins_with<ReLU>>);
  static_assert(names<Sequential<In, late, Same>, shape_at_run_time<1, late>>);
}

TEST_CASE("checked_network: values of several tensors are shown whole, with the constants") {
  using testing::GatedPair, testing::Split, testing::WhereEven;
  using NoMask = Sequential<Inputs<dims<8>, constant<9>>, Same, testing::Masked<>>;
  static_assert(names<NoMask, joint<2, Same, tensors_of<dims<8>, constant<9>>, testing::Masked<>>>);
  using NoCount = Sequential<Inputs<dims<8>, integer_constant<7>, batch_integer_constant<>>, Same, testing::Times<>>;
  static_assert(
      names<NoCount, joint<2, Same, tensors_of<dims<8>, integer_constant<7>, batch_integer_constant<>>, testing::Times<>>>);
  static_assert(names<Sequential<Inputs<dims<8>, integers<8>>, ReLU, GatedPair>,
                      joint<2, ReLU, tensors_of<dims<8>, integers<8>>, GatedPair>>);
  static_assert(names<Sequential<In, Split, Residual<Same, ReLU, In>>, joint<2, ReLU, tensors_of<dims<8>, dims<8>>, In>>);
  // The message for a block that fits shows only what the block takes.
  using Widens = Residual<Same, Linear<8, 9>>;
  static_assert(names<Sequential<In, Split, Widens>, residual_ends<Widens, dims<8>, dims<9>>>);
  static_assert(right<Sequential<Inputs<dims<8>, integers<8>>, Same, WhereEven, Residual<Same>, WhereEven>>);
}

TEST_CASE("checked_network: a layer whose outputs are all unused, in blocks too") {
  using testing::First, testing::Split, testing::Swap;
  using Two = Inputs<dims<8>, dims<8>>;
  static_assert(names<Sequential<Two, Same, Swap>, unused<1, Same>>);
  static_assert(names<Sequential<Two, checkpoint<sqrt_n, Sequential<Same, Swap, First>>>, unused<0, Same>>);
  using Deep = Residual<checkpoint<store_all, Sequential<Swap, Residual<Same>, First, ReLU, Split>>>;
  static_assert(right<Sequential<Two, Residual<Deep, First>>>);
  using Deeper = Residual<Swap, checkpoint<store_all, Sequential<Same, Swap, Residual<Same>, First>>>;
  static_assert(names<Sequential<In, Split, Residual<Deeper, ReLU>>, unused<0, Same>>);
  // Each of the two outputs alone leaves a stage unused; both together do not.
  using Both = checkpoint<store_all, Sequential<Same, Swap, Same>>;
  static_assert(right<Sequential<Two, Both, testing::GatedPair>> && right<Sequential<Two, Repeat<2, Both>, testing::GatedPair>>);
  static_assert(names<Sequential<Two, Both, First>, unused<0, Same>>);
}

namespace {

// Accepts all layers except ReLU, and all groups except those that are repeated twice.
struct question {
  template <class Part>
  static constexpr bool layer = !std::is_same_v<Part, ReLU>;
  template <class Group>
  static constexpr bool group = true;
};
template <class Block>
constexpr bool question::group<Repeat<2, Block>> = false;

template <class Net>
constexpr bool fine = holds<question, Net>;
template <class Net>
using wrong = typename first_wrong<question, Net>::type;
using Fine = Linear<3, 3>;

} // namespace

TEST_CASE("checked_network: a question is asked of every layer and block") {
  static_assert(fine<Sequential<>> && fine<Sequential<Fine, Repeat<3, Residual<Fine>>>>);
  static_assert(!fine<ReLU> && !fine<Sequential<Fine, Repeat<3, Residual<Fine, ReLU>>>>);
  static_assert(!fine<Sequential<checkpoint<sqrt_n, Sequential<Fine, ReLU>>>>);
  static_assert(!fine<Sequential<Residual<Repeat<2, Fine>>>>);
}

TEST_CASE("checked_network: the first that is wrong is named, a group before what is in it") {
  static_assert(std::is_same_v<wrong<Sequential<Fine, Repeat<3, Residual<Fine, ReLU>>, int>>, ReLU>);
  static_assert(std::is_same_v<wrong<Sequential<Fine, Repeat<2, ReLU>>>, Repeat<2, ReLU>>);
  static_assert(std::is_same_v<wrong<checkpoint<sqrt_n, Sequential<Sequential<>, Fine, ReLU>>>, ReLU>);
}

} // namespace checked_network_tests
