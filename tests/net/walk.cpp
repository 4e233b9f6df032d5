// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/walk.hpp>
#include <cairn/plan/policies.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "layers.hpp"

namespace walk_tests {

using namespace cairn;
using namespace cairn::detail;
using testing::First;
using testing::GatedPair;
using testing::Lookup;
using testing::Masked;
using testing::Mix;
using testing::Split;
using testing::Swap;
using testing::WhereEven;

namespace {

template <class Body>
constexpr auto walked_through(const value_list& in, tensor_set used = 1, const tensor_list& constants = {}) {
  return walk<Body>::from(in, constants, used);
}
constexpr tensor one(std::size_t extent) { return tensor({extent}); }
constexpr std::size_t none = detail::no_fault;
constexpr tensor_list mask = tensors_of<dims<1>, constant<4>>::constants;

// The description that one layer gives a chain.
template <class L>
constexpr detail::description description_of(const value_list& value) {
  detail::description out{};
  detail::describe<L>(value, tensor_list{}, {}, out, nullptr);
  return out;
}
template <class Body>
constexpr detail::description chain_of(const value_list& value) {
  detail::description out{};
  detail::describe_chain<Body>(value, tensor_list{}, out);
  return out;
}

} // namespace

TEST_CASE("walk: each element has the value that arrives at it") {
  using Net = Sequential<Flatten, Linear<12, 5>, ReLU, Residual<Linear<5, 7>, Linear<7, 5>>,
                         checkpoint<sqrt_n, Sequential<Linear<5, 6>, ReLU>>, Linear<6, 2>>;
  constexpr auto w = walked_through<Net>(tensor({3, 4}));
  static_assert(w.fault == none && w.idle == none);
  static_assert(w.input(0)[0] == tensor({3, 4}) && w.input(1)[0] == one(12) && w.input(3)[0] == one(5));
  static_assert(w.input(4)[0] == one(5) && w.input(5)[0] == one(6));
  static_assert(w.output()[0] == one(2) && w.output().size() == 1);
}

TEST_CASE("walk: tensors of any rank go through") {
  constexpr auto w = walked_through<Sequential<Linear<4, 6>, ReLU>>(tensor({2, 3, 4}));
  static_assert(w.fault == none && w.output()[0] == tensor({2, 3, 6}));
}

TEST_CASE("walk: the joint that does not fit is known by stage and by element") {
  constexpr auto w = walked_through<Sequential<Linear<4, 6>, ReLU, Linear<5, 2>>>(one(4));
  static_assert(w.fault == 2 && w.fault_element == 2 && w.before_element == 1);
  static_assert(w.output()[0] == one(6)); // as far as it came
  constexpr auto first = walked_through<Sequential<Linear<4, 6>>>(one(3));
  static_assert(first.fault == 0 && first.before_element == none && first.output()[0] == one(3));
}

TEST_CASE("walk: a repeated block has to give what it takes") {
  constexpr auto w = walked_through<Sequential<Linear<4, 6>, Repeat<2, Linear<6, 7>>>>(one(4));
  static_assert(w.fault == 2 && w.fault_element == 1 && w.before_element == 1 && w.output()[0] == one(7));
  // Flatten takes anything, but one element cannot be two functions.
  static_assert(walked_through<Repeat<2, Flatten>>(tensor({2, 3})).fault == 1);
  static_assert(walked_through<Repeat<2, Flatten>>(one(6)).fault == none);
  static_assert(walked_through<Repeat<2, Split>>(one(4)).fault == 1);
  static_assert(walked_through<Repeat<2, Residual<Swap>>>({one(4), one(4)}).fault == none);
}

TEST_CASE("walk: a Repeat costs one block, however often it runs") {
  using Block = Sequential<Linear<4, 4>, ReLU, Residual<Linear<4, 4>>>;
  constexpr auto w = walked_through<Sequential<Repeat<500, Block>, Linear<4, 3>>>(one(4));
  static_assert(w.fault == none && w.output()[0] == one(3));
  constexpr auto inside = walked_through<Sequential<Repeat<20, Sequential<Repeat<20, Block>, ReLU>>, Linear<5, 3>>>(one(4));
  static_assert(inside.fault == 20 * (20 * 3 + 1) && inside.fault_element == 4 && inside.before_element == 3);
}

TEST_CASE("walk: tensors go past layers of one") {
  using Net = Sequential<Linear<4, 6>, Split, Linear<6, 5>, Residual<Linear<5, 5>>, Swap, ReLU>;
  constexpr auto w = walked_through<Net>(one(4), 0b11);
  static_assert(w.fault == none && w.idle == none);
  static_assert(w.input(2) == value_list{one(6), one(6)});
  static_assert(w.input(4) == value_list{one(5), one(6)});
  static_assert(w.output() == value_list{one(6), one(5)});
}

TEST_CASE("walk: constants are seen by every layer, in blocks too") {
  using Net = Sequential<Linear<4, 4>, Residual<ReLU, checkpoint<sqrt_n, Sequential<Masked<>>>>>;
  static_assert(walked_through<Net>(one(4), 1, mask).fault == none);
  constexpr auto no_mask = walked_through<Sequential<Linear<4, 4>, Masked<>>>(one(4));
  static_assert(no_mask.fault == 1 && no_mask.fault_element == 1 && no_mask.before_element == 0);
  static_assert(walked_through<Sequential<Linear<4, 5>, Masked<>>>(one(4), 1, mask).fault == 1); // a mask of other extents
}

TEST_CASE("walk: too few tensors do not fit") {
  static_assert(walked_through<Sequential<GatedPair>>(one(4)).fault == 0);
  static_assert(walked_through<Sequential<Residual<ReLU, GatedPair>>>(one(4)).fault == 0);
}

TEST_CASE("walk: integers have no gradient, and are another tensor") {
  constexpr tensor tokens = integers<6>::value;
  static_assert(walked_through<Sequential<ReLU>>(tokens).fault == 0);
  constexpr auto w = walked_through<Sequential<Lookup<9, 4>, ReLU>>(tokens);
  static_assert(w.fault == none && w.output()[0] == tensor({6, 4}) && w.gradients[0] == 0 && w.gradients[1] == 1);
  constexpr auto past = walked_through<Sequential<ReLU, WhereEven, ReLU>>({one(6), tokens}, 0b11);
  static_assert(past.fault == none && past.output() == value_list{one(6), tokens});
  static_assert(past.gradients[0] == 1 && past.gradients[1] == 1 && past.gradients[3] == 1);
}

TEST_CASE("walk: gradients are where the tensor is used") {
  // The gate is not used: First drops it.
  constexpr auto dropped = walked_through<Sequential<Linear<4, 4>, Split, ReLU, First>>(one(4));
  static_assert(dropped.gradients[0] == 1 && dropped.gradients[1] == 1 && dropped.gradients[2] == 1 &&
                dropped.gradients[3] == 1 && dropped.gradients[4] == 1);
  constexpr auto kept = walked_through<Sequential<Linear<4, 4>, Split, ReLU, GatedPair>>(one(4));
  static_assert(kept.gradients[2] == 0b11 && kept.gradients[3] == 0b11);
  // Each Mix needs one tensor more than the next one.
  constexpr value_list three{one(4), one(4), one(4)};
  constexpr auto mixed = walked_through<Sequential<Mix, Mix, Mix>>(three);
  static_assert(mixed.gradients[3] == 0b1 && mixed.gradients[2] == 0b11 && mixed.gradients[1] == 0b111);
  // A repeated block reserves what it needs in any repetition.
  constexpr auto repeated = walked_through<Repeat<3, Residual<Mix>>>(three);
  static_assert(repeated.gradients[2] == 0b11 && repeated.used[0] == 0b111);
  constexpr value_list two{one(4), one(4)};
  constexpr auto turned = walked_through<Repeat<2, checkpoint<sqrt_n, Sequential<Swap>>>>(two);
  static_assert(turned.gradients[1] == 0b10 && turned.used[0] == 0b11);
  // A residual block adds its first tensor, whatever its layers do with it.
  static_assert(walked_through<Residual<Swap>>(two, 1).gradients[0] == 0b11);
  static_assert(walked_through<checkpoint<sqrt_n, Sequential<Swap>>>(two, 1).gradients[0] == 0b10);
}

TEST_CASE("walk: a stage whose outputs are all unused") {
  constexpr value_list two{one(4), one(4)};
  static_assert(walked_through<Sequential<Linear<4, 4>, Swap>>(two).idle == 0);
  static_assert(walked_through<Sequential<Linear<4, 4>, Swap>>(two, 0b11).idle == none);
  // A block as such a stage.
  static_assert(walked_through<Sequential<Split, checkpoint<sqrt_n, Sequential<Linear<4, 4>>>, Swap>>(one(4)).idle == 1);
}

TEST_CASE("walk: what a layer and a chain take of a value, and what goes past") {
  constexpr value_list four{one(4), one(4), one(4), one(5)};
  constexpr auto mix = description_of<Mix>(four);
  static_assert(mix.accepts && mix.takes == 3 && mix.gives == 3 && mix.after == four);
  static_assert(mix.uses(0b0001) == 0b0011 && mix.uses(0b1001) == 0b1011 && mix.uses(0b1111) == 0b1111);
  constexpr auto gated = description_of<GatedPair>({one(4), one(4), one(5)});
  static_assert(gated.takes == 2 && gated.gives == 1 && gated.after == value_list{one(4), one(5)});
  static_assert(gated.uses(0b01) == 0b011 && gated.uses(0b11) == 0b111);
  constexpr auto relu = description_of<ReLU>({one(4), one(6)});
  static_assert(relu.takes == 1 && relu.gives == 1 && relu.uses(0b11) == 0b11 && relu.uses(0b01) == 0b01);
  // A chain takes as few as its layers need.
  static_assert(chain_of<Sequential<ReLU, Linear<4, 7>>>(four).takes == 1);
  constexpr auto chain = chain_of<Sequential<ReLU, GatedPair, Linear<4, 7>>>(four);
  static_assert(chain.takes == 2 && chain.gives == 1 && chain.after == value_list{one(7), one(4), one(5)});
  static_assert(chain.uses(0b001) == 0b0011 && chain.uses(0b010) == 0b0100 && chain.uses(0b100) == 0b1000);
  constexpr auto first = chain_of<Sequential<Swap, First>>(four);
  static_assert(first.takes == 2 && first.gives == 1 && first.uses(1) == 0b10);
  CHECK(!chain_of<Sequential<Linear<5, 5>>>(four).accepts);
}

TEST_CASE("walk: the first layer says what a network takes, however deep it stands") {
  using detail::natural_input;
  static_assert(natural_input<Sequential<Linear<7, 2>>>::tensors == tensor_list{one(7)});
  static_assert(natural_input<Sequential<Input<2, 3>, Flatten, Linear<6, 1>>>::tensors == tensor_list{tensor({2, 3})});
  static_assert(natural_input<Repeat<2, Residual<checkpoint<sqrt_n, Sequential<Linear<7, 7>>>>>>::tensors == tensor_list{one(7)});
  using several = natural_input<Sequential<Inputs<dims<2>, dims<3>, constant<4>>, ReLU>>;
  static_assert(several::tensors == tensor_list{one(2), one(3)} && several::constants == tensor_list{one(4).constant()});
  static_assert(natural_input<Sequential<Linear<7, 2>, Split, GatedPair>>::constants.size() == 0);
}

} // namespace walk_tests
