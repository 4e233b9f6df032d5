// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/policies.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "layers.hpp"

namespace blueprint_tests {

using namespace cairn;
using testing::First;
using testing::GatedPair;
using testing::Split;

namespace {

template <std::size_t N, std::size_t Hidden>
using FFNet = Sequential<Linear<100, Hidden>, ReLU, Repeat<N, Sequential<Linear<Hidden, Hidden>, ReLU>>, Linear<Hidden, 1>>;
using Small = Sequential<Linear<100, 10>, ReLU, Linear<10, 1>>;

// A hidden value of 4 samples has 4 x 16 floats.
constexpr std::size_t value = 4 * 16 * sizeof(float);
using Wide = Linear<16, 16>;
using Two = Sequential<Wide, ReLU, Wide>;
using Eight = Sequential<Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide>;

// The same function as First, but it says that it depends on both tensors.
struct SaysBoth : First {
  static constexpr bool depends(std::size_t, std::size_t) { return true; }
};

// A Wide whose input gradient does not lie on its input.
struct Apart : Wide {
  static constexpr bool input_gradient_on_input = false;
};

} // namespace

TEST_CASE("blueprint: the number of parameters") {
  static_assert(blueprint_of<Small, 8>::parameters == 1'021);
  static_assert(blueprint_of<FFNet<3, 100>, 8>::parameters == 40'501);
  static_assert(blueprint_of<checkpoint<sqrt_n, FFNet<3, 100>>, 8, double>::parameters == 40'501);
}

TEST_CASE("blueprint: the peak of a small network, computed by hand") {
  // The ReLU's output takes the place of the first product. At the peak, the second Linear's backward has its input, the gradient
  // of its output (in the output's place) and the gradient of its input.
  static_assert(peak_activation_bytes<Two, 4> == 3 * value);
  // Without a second Linear only the output is live, and its gradient takes its place.
  static_assert(peak_activation_bytes<Sequential<Wide>, 4> == value);
  // Only the second Linear's backward reads the output of the Dropout, so the gradient of its input takes that value's place. The
  // ReLU's output is read once more.
  static_assert(peak_activation_bytes<Sequential<Wide, ReLU, Dropout<>, Wide>, 4> == 3 * value);
  static_assert(peak_activation_bytes<Sequential<Wide, ReLU, Dropout<>, Apart>, 4> == 4 * value);
  // Of three values of 64 columns at the second Linear's backward, the GELU's input and output and the output's gradient, two
  // remain, beside the gradient of the network's output.
  static_assert(peak_activation_bytes<Sequential<Linear<16, 64>, GELU, Linear<64, 16>>, 4> == 2 * 4 * value + value);
  // Seven hidden values, and two gradients at the last Linear.
  static_assert(peak_activation_bytes<Eight, 4> == 9 * value);
  // Rows are rounded up to whole lines of 64 bytes: 3 x 5 floats are 60 bytes.
  static_assert(peak_activation_bytes<Sequential<Linear<5, 5>>, 3> == 64);
  static_assert(peak_activation_bytes<Sequential<Linear<5, 5>>, 3, double> == 128);
}

TEST_CASE("blueprint: a Flatten at the front costs nothing") {
  using flat = Sequential<Input<4, 4>, Flatten, Wide, ReLU, Wide>;
  static_assert(peak_activation_bytes<flat, 4> == peak_activation_bytes<Two, 4>);
  static_assert(blueprint_of<flat, 4>::evaluated::arena == blueprint_of<Two, 4>::evaluated::arena);
  static_assert(peak_activation_bytes<checkpoint<recompute_all, flat>, 4> ==
                peak_activation_bytes<checkpoint<recompute_all, Two>, 4>);
  // A Flatten inside a block costs nothing either: the block's tape is the same without it.
  using inside = Sequential<Wide, checkpoint<store_all, Sequential<Flatten, Wide, ReLU, Wide>>, Wide>;
  using without = Sequential<Wide, checkpoint<store_all, Two>, Wide>;
  static_assert(blueprint_of<inside, 4>::stages[1].tape.at(4) == blueprint_of<without, 4>::stages[1].tape.at(4));
  static_assert(blueprint_of<inside, 4>::stages[1].reads_input);
  // A block that writes its output in one product must not take the place of what that product reads.
  static_assert(!blueprint_of<Sequential<Wide, Residual<Flatten, Wide>>, 4>::stages[1].in_place_forward);
  static_assert(blueprint_of<Sequential<Wide, Residual<Flatten, ReLU, Wide>>, 4>::stages[1].in_place_forward);
  // Elsewhere a Flatten takes the place of its input, if nothing else reads that.
  static_assert(peak_activation_bytes<Sequential<Wide, Flatten, Wide>, 4> == peak_activation_bytes<Sequential<Wide, Wide>, 4>);
}

TEST_CASE("blueprint: a policy costs what it says") {
  // Only the input is stored. Besides it there are the value that a backward reads and its input, or two gradients.
  static_assert(peak_activation_bytes<checkpoint<recompute_all, Eight>, 4> == 3 * value);
  static_assert(peak_activation_bytes<checkpoint<sqrt_n, Eight>, 4> < 7 * value);
  static_assert(peak_activation_bytes<checkpoint<every<1>, Eight>, 4> == 9 * value);
}

TEST_CASE("blueprint: evaluation needs two activations, however long the network is") {
  static_assert(blueprint_of<Two, 4>::evaluated::memory.arena == 2 * value);
  static_assert(blueprint_of<Eight, 4>::evaluated::memory.arena == 2 * value);
  static_assert(blueprint_of<checkpoint<sqrt_n, Eight>, 4>::evaluated::memory.arena == 2 * value);
}

TEST_CASE("blueprint: parameters lie in the order in which backward finishes them") {
  using b = blueprint_of<Sequential<Linear<4, 20>, ReLU, Residual<LayerNorm<20>, Linear<20, 20, false>>, Linear<20, 3>>, 2>;
  // With the padding, 60 + 3 floats take 64 + 16. Inside the block there are 400 and 20 + 20 floats, and then 80 + 20.
  static_assert(b::parameter_begin == std::array<std::size_t, 5>{80 + 400 + 64, 80 + 400 + 64, 80, 0, 80 + 400 + 64 + 80 + 32});
  static_assert(detail::pack_element<0, b::inner<2>::type>::parameter_begin == std::array<std::size_t, 3>{400, 0, 464});
  static_assert(b::tensors == 7);
  constexpr auto ends = [] {
    std::array<detail::gradient_end, b::tensors> list{};
    std::size_t leaf = 0;
    b::write_ends(list.data(), 0, leaf);
    return list;
  }();
  constexpr std::array<std::size_t, 7> expected{64, 80, 480, 512, 544, 624, 656};
  constexpr std::array<std::size_t, 7> leaves{0, 0, 1, 2, 2, 4, 4};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CHECK(ends[i].end == expected[i]);
    CHECK(ends[i].leaf == leaves[i]);
  }
}

TEST_CASE("blueprint: two chains have the same numbers only if they are the same") {
  using base = blueprint_of<FFNet<2, 16>, 8>;
  static_assert(base::network_hash == blueprint_of<FFNet<2, 16>, 8>::network_hash);
  // The policy around a network and the batch do not change its hash.
  static_assert(base::network_hash == blueprint_of<checkpoint<sqrt_n, FFNet<2, 16>>, 8>::network_hash);
  static_assert(base::network_hash == blueprint_of<FFNet<2, 16>, 9>::network_hash);
  static_assert(base::schedule_hash != blueprint_of<checkpoint<recompute_all, FFNet<2, 16>>, 8>::schedule_hash);
  // Depth, width, kinds of layers and blocks change it.
  static_assert(base::network_hash != blueprint_of<FFNet<3, 16>, 8>::network_hash);
  static_assert(base::network_hash != blueprint_of<FFNet<2, 17>, 8>::network_hash);
  static_assert(blueprint_of<Sequential<Wide, ReLU>, 8>::network_hash !=
                blueprint_of<Sequential<Wide, Dropout<>>, 8>::network_hash);
  static_assert(blueprint_of<Sequential<Wide, ReLU>, 8>::network_hash !=
                blueprint_of<Sequential<Residual<Wide, ReLU>>, 8>::network_hash);
  // The layers of a block inside change the network's hash; its policy changes only the schedule's.
  using block = blueprint_of<Sequential<checkpoint<store_all, Sequential<Wide, ReLU, Wide>>>, 8>;
  using other = blueprint_of<Sequential<checkpoint<recompute_all, Sequential<Wide, ReLU, Wide>>>, 8>;
  static_assert(block::network_hash == other::network_hash);
  static_assert(block::schedule_hash != other::schedule_hash);
  static_assert(block::network_hash !=
                blueprint_of<Sequential<checkpoint<store_all, Sequential<Wide, Wide, Wide>>>, 8>::network_hash);
}

TEST_CASE("blueprint: a stage is what its layer or its block says of itself") {
  using b = blueprint_of<Sequential<Linear<4, 8>, Residual<Linear<8, 8>, ReLU>>, 2>;
  static_assert(detail::same_spelling(b::stages[0].type, detail::spelling<Linear<4, 8>>()));
  static_assert(b::stages[0].output.per_sample == 8 * sizeof(float) && b::stages[0].parameters == 40);
  static_assert(b::element_of[0].adds && !b::element_of[1].adds); // a block adds to nothing
  static_assert(detail::same_spelling(b::stages[1].type, detail::spelling<Residual<Linear<8, 8>, ReLU>>()));
  static_assert(b::stages[1].leaves == 2 && b::stages[1].parameters == 72);
  CHECK(!detail::same_spelling(b::stages[0].type, b::stages[1].type));
}

TEST_CASE("blueprint: a stage's output has all tensors, also those that went past") {
  using b = blueprint_of<Sequential<Wide, Split, Linear<16, 8>, Residual<Linear<8, 8>, ReLU>, Linear<8, 16>, GatedPair>, 4>;
  static_assert(b::stages[1].output.at(4) == 2 * value && b::stages[2].output.at(4) == value + value / 2);
  static_assert(b::stages[3].output.at(4) == value + value / 2 && b::stages[3].in_place_backward);
  static_assert(b::whole.value_bytes(3) == value + value / 2);
  // The block's own chain does not see the tensor that goes past.
  using inside = detail::pack_element<0, b::inner<3>::type>;
  static_assert(inside::inputs.size() == 1 && inside::outputs.size() == 1);
}

TEST_CASE("blueprint: the gradient of an output that is not used has no bytes") {
  using dropped = blueprint_of<Sequential<Wide, Split, Wide, Apart, First, Wide>, 4>;
  using used = blueprint_of<Sequential<Wide, Split, Wide, Apart, SaysBoth, Wide>, 4>;
  static_assert(dropped::whole.value_bytes(2) == 2 * value && dropped::whole.gradient_bytes(2) == value);
  static_assert(used::whole.gradient_bytes(2) == 2 * value);
  // Three values stay, two of them of two tensors. The most is live in the forward that makes the last value but one, beside the
  // two tensors that it is made from; or, if the second has a gradient, in the backward of the last Linear but one, with a
  // gradient of two tensors on either side.
  static_assert(dropped::trained::memory.arena == 5 * value + 2 * value + value);
  static_assert(used::trained::memory.arena == 5 * value + 4 * value);
  CHECK(dropped::trained::memory.bound < used::trained::memory.bound);
}

TEST_CASE("blueprint: a constant costs no bytes") {
  using with = blueprint_of<Sequential<Inputs<dims<16>, constant<16>>, Wide, testing::Masked<>, Wide>, 4>;
  using without = blueprint_of<Sequential<Inputs<dims<16>>, Wide, Wide>, 4>;
  static_assert(with::trained::memory.arena == without::trained::memory.arena);
  static_assert(with::network_hash != without::network_hash);
  // One of integers neither, and another type or another extent of a constant is another network to the other ranks.
  using counted = blueprint_of<Sequential<Inputs<dims<16>, integer_constant<16>>, Wide, testing::Times<>, Wide>, 4>;
  using once = blueprint_of<Sequential<Inputs<dims<16>, batch_integer_constant<16>>, Wide, testing::Times<>, Wide>, 4>;
  using single = blueprint_of<Sequential<Inputs<dims<16>, integer_constant<>>, Wide, testing::Times<>, Wide>, 4>;
  using real = blueprint_of<Sequential<Inputs<dims<16>, constant<16>>, Wide, ReLU, Wide>, 4>;
  using number = blueprint_of<Sequential<Inputs<dims<16>, integer_constant<16>>, Wide, ReLU, Wide>, 4>;
  static_assert(counted::trained::memory.arena == without::trained::memory.arena);
  static_assert(counted::network_hash != once::network_hash && counted::network_hash != single::network_hash);
  static_assert(real::network_hash != number::network_hash);
}

TEST_CASE("blueprint: integers and tensors of a whole batch have the bytes that they need") {
  // In a network of doubles tokens take the bytes of their integers too, and have no gradient.
  using tokens = blueprint_of<Sequential<Inputs<dims<16>, integers<16>>, Wide, testing::WhereEven, Wide>, 4, double>;
  static_assert(tokens::whole.value_bytes(2) == 2 * value + value && tokens::whole.gradient_bytes(2) == 2 * value);
  // The mean over a batch is one tensor for all samples, with a gradient.
  using mean = blueprint_of<Sequential<Wide, testing::BatchMean, testing::Centered, Wide>, 4>;
  static_assert(mean::whole.value_bytes(2) == value + value / 4 && mean::whole.gradient_bytes(2) == value + value / 4);
  // Its tape has an integer for each sample, and one sum.
  static_assert(mean::whole.tape_bytes(1) == 2 * detail::alignment);
  static_assert(blueprint_of<Sequential<Linear<3, 3>, testing::BatchMean, testing::Centered>, 40>::whole.tape_bytes(1) ==
                detail::align_up(40 * sizeof(std::int32_t)) + detail::alignment);
}

TEST_CASE("blueprint: a thousand residual blocks are packed without a gap") {
  using Deep =
      checkpoint<sqrt_n, Sequential<Linear<32, 64>, Repeat<1000, Residual<LayerNorm<64>, Linear<64, 64>, ReLU>>, Linear<64, 10>>>;
  using plan = blueprint_of<Deep, 64>::trained;
  static_assert(plan::arena == detail::chosen<plan, detail::part::whole>.bound);
}

} // namespace blueprint_tests
