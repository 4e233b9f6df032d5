// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/initialized.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

namespace initialized_tests {

using namespace cairn;

namespace {

using Small = normal_weights<percent<2>>;
using Smaller = normal_weights<percent<2>, 4>;
using Words = Embedding<9, 4>;
using Product = Linear<4, 4>;
template <class Part>
using small = initialized<Part, Small>;
template <class Layer, class Start = Small>
using started = detail::started<Layer, Start>;

// Every kind of part.
template <class Out>
using Whole = Sequential<Inputs<integers<3>>, Words, checkpoint<sqrt_n, Residual<LayerNorm<4>, Product, ReLU, Out>>,
                         Sequential<Repeat<2, frozen<Sequential<Product, Dropout<>>>>>, Gated<Product, Product>,
                         Concat<Sequential<Product, ReLU>, Linear<4, 2>>, Residual<shortcut<Linear<6, 4>>, Linear<6, 4>>,
                         Tied<Linear<4, 9>, Words>>;

// The parts of a part, and those with a start that has another one for the last layers of residual sums.
struct Start : Small {
  using last_of_sum = Smaller;
};
template <class Part, std::size_t I>
using part_of = detail::pack_element<I, typename detail::made_of<Part>::parts>;
template <class Block, std::size_t I = 0>
using chain = part_of<initialized<Block, Start>, I>;

template <class One, class Other>
constexpr bool same_function = std::is_same_v<detail::function_of<One>, detail::function_of<Other>>;
template <class Net>
constexpr std::uint64_t print = blueprint_of<Net, 4>::network_hash;

} // namespace

TEST_CASE("initialized: layers are replaced in every part of a network, and those without parameters are not") {
  static_assert(std::is_same_v<small<ReLU>, ReLU> && std::is_same_v<small<Product>, started<Product>>);
  static_assert(std::is_same_v<small<Sequential<Product, Sequential<ReLU, Product>>>,
                               Sequential<started<Product>, Sequential<ReLU, started<Product>>>>);
  static_assert(std::is_same_v<small<checkpoint<sqrt_n, Product>>, checkpoint<sqrt_n, started<Product>>>);
  static_assert(std::is_same_v<small<Repeat<3, frozen<Product>>>, Repeat<3, frozen<started<Product>>>>);
  static_assert(std::is_same_v<small<Gated<Product, ReLU>>, Gated<started<Product>, ReLU>>);
  static_assert(std::is_same_v<small<Tied<Linear<4, 9>, Words>>, Tied<started<Linear<4, 9>>, started<Words>>>);
  static_assert(
      std::is_same_v<detail::made_of<small<Residual<Product, ReLU>>>::parts, detail::pack<Sequential<started<Product>, ReLU>>>);
}

TEST_CASE("initialized: the innermost start is that of a layer") {
  using Last = initialized<Product, Smaller>;
  static_assert(std::is_same_v<small<Last>, Last>);
  static_assert(std::is_same_v<small<Sequential<Product, Last>>, Sequential<started<Product>, started<Product, Smaller>>>);
}

TEST_CASE("initialized: the function stays, and so do plans, and ranks with different starts refuse each other") {
  using Net = Whole<Product>;
  static_assert(same_function<Net, small<Net>> && same_function<Net, small<Whole<initialized<Product, Smaller>>>>);
  static_assert(same_function<small<Net>, checkpoint<recompute_all, initialized<Net, Smaller>>>);
  static_assert(!same_function<small<Sequential<Product, ReLU>>, small<Sequential<ReLU, Product>>>);
  static_assert(print<Net> != print<small<Net>> && print<small<Net>> != print<initialized<Net, Smaller>>);
  static_assert(print<small<Net>> != print<small<Whole<initialized<Product, Smaller>>>>);
  static_assert(peak_activation_bytes<Net, 4> == peak_activation_bytes<small<Net>, 4>);
  static_assert(blueprint_of<Net, 4>::parameter_block == blueprint_of<small<Net>, 4>::parameter_block);
}

TEST_CASE("initialized: a block whose parts follow from its arguments keeps them") {
  using Block = DenseBlock<2, 4>;
  static_assert(detail::made_of<small<Block>>::parts::size == detail::made_of<Block>::parts::size);
  static_assert(!std::is_same_v<small<Block>, Block> && same_function<Sequential<Block>, Sequential<small<Block>>>);
}

TEST_CASE("initialized: the last layer with parameters of each residual sum has a start of its own") {
  using Last = started<Product, Smaller>;
  using Other = started<Product, Start>;
  static_assert(std::is_same_v<initialized<Sequential<Product, Product>, Start>, Sequential<Other, Other>>); // no sum
  static_assert(std::is_same_v<chain<Residual<Product, ReLU, Product, Dropout<>>>, Sequential<Other, ReLU, Last, Dropout<>>>);
  static_assert(std::is_same_v<chain<Residual<shortcut<Product>, Product, ReLU>, 0>, Sequential<Other>>);
  static_assert(std::is_same_v<chain<Residual<shortcut<Product>, Product, ReLU>, 1>, Sequential<Last, ReLU>>);
  static_assert(std::is_same_v<chain<Residual<>>, Sequential<>>); // which is refused as without a start
  // It is found in Sequentials and in what adds a schedule only. Of Repeat and Gated, no layer ends the sum.
  static_assert(std::is_same_v<chain<Residual<Product, checkpoint<sqrt_n, Sequential<Product, Product>>>>,
                               Sequential<Other, checkpoint<sqrt_n, Sequential<Other, Last>>>>);
  static_assert(std::is_same_v<chain<Residual<Repeat<2, Product>>>, Sequential<Repeat<2, Other>>>);
  static_assert(std::is_same_v<chain<Residual<Gated<Product, Product>>>, Sequential<Gated<Other, Other>>>);
  static_assert(std::is_same_v<chain<Residual<Product, started<Product>>>, Sequential<Other, started<Product>>>);
  static_assert(std::is_same_v<chain<Residual<Words, Tied<Linear<4, 9>, Words>>>,
                               Sequential<started<Words, Start>, Tied<started<Linear<4, 9>, Smaller>, started<Words, Start>>>>);

  static_assert(
      std::is_same_v<small<detail::named_part<detail::linear1, Product>>, detail::named_part<detail::linear1, started<Product>>>);

  // In a part whose parts follow from its arguments, too.
  using Attention = detail::made_of<initialized<MultiheadAttention<4, 2>, Start>>::parts;
  using InSum = detail::made_of<part_of<chain<Residual<MultiheadAttention<4, 2>>>, 0>>::parts;
  static_assert(std::is_same_v<detail::pack_element<2, Attention>, started<attention::out_proj<4>, Start>>);
  static_assert(std::is_same_v<detail::pack_element<0, InSum>, started<attention::in_proj<4, 12>, Start>>);
  static_assert(std::is_same_v<detail::pack_element<2, InSum>, started<attention::out_proj<4>, Smaller>>);
  static_assert(same_function<Sequential<Residual<MultiheadAttention<4, 2>>>,
                              initialized<Sequential<Residual<MultiheadAttention<4, 2>>>, Start>>);
}

TEST_CASE("initialized: a trainer's weights start so, under the names that they have anyway") {
  constexpr std::size_t words = 17, width = 64;
  using Table = Embedding<words, width>;
  using Up = Linear<width, width>;
  using Net = Sequential<Inputs<integers<>>, Table, Residual<LayerNorm<width>, Up, initialized<Up, Smaller>>,
                         Tied<Linear<width, words, false>, Table>>;
  const auto start_of = []<class Model>(std::type_identity<Model>) {
    trainer<Model, CrossEntropyLoss, SGD, batch<2>> train{SGD{}, {.seed = 3}};
    std::map<std::string, std::vector<float>> all;
    train.for_each([&](const types::named_parameter<float>& p) { all[p.name].assign(p.numbers.begin(), p.numbers.end()); });
    return all;
  };
  const auto plain = start_of(std::type_identity<Net>{});
  const auto own = start_of(std::type_identity<checkpoint<sqrt_n, small<Net>>>{});
  CHECK(own.size() == 7);
  const auto deviation = [&](const std::string& name) {
    double squares = 0;
    for (const float x : own.at(name)) squares += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(squares / static_cast<double>(own.at(name).size()));
  };
  for (const auto& [name, numbers] : plain) REQUIRE(own.at(name).size() == numbers.size());
  CHECK(deviation("0.weight") == doctest::Approx(0.02).epsilon(0.1));
  CHECK(deviation("1.1.weight") == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation("1.2.weight") == doctest::Approx(0.01).epsilon(0.05));
  CHECK(deviation("1.1.bias") == 0);
  CHECK(deviation("1.2.bias") == 0);
  CHECK(own.at("1.0.weight") == plain.at("1.0.weight"));
  CHECK(own.at("1.0.bias") == plain.at("1.0.bias"));
}

TEST_CASE("initialized: a language model with tied weights starts at the loss of guessing") {
  constexpr std::size_t words = 17, width = 64;
  using Table = Embedding<words, width>;
  using Net = Sequential<Inputs<integers<>>, Table, Residual<LayerNorm<width>, Linear<width, width>>,
                         Tied<Linear<width, words, false>, Table>>;
  const std::vector<std::int32_t> tokens{0, 3, 16, 5, 7, 7, 2, 1}, targets{3, 0, 2, 2, 15, 9, 8, 4};
  trainer<Net, CrossEntropyLoss, SGD, batch<8>> plain{SGD{}, {.seed = 3}};
  trainer<small<Net>, CrossEntropyLoss, SGD, batch<8>> own{SGD{}, {.seed = 3}};
  CHECK(plain.evaluate_loss(tokens, targets) > 4);
  CHECK(own.evaluate_loss(tokens, targets) == doctest::Approx(std::log(17.0)).epsilon(0.02));
  own.copy_parameters(plain); // the start is no part of the function
  CHECK(own.evaluate_loss(tokens, targets) == plain.evaluate_loss(tokens, targets));

  // The same in strips: the tied layer inside is found, and it is the same function.
  using Head = head_in_strips<Tied<Linear<width, words, false>, Table>, 3>;
  using InStrips = Sequential<Inputs<integers<>>, Table, Residual<LayerNorm<width>, Linear<width, width>>, Head>;
  static_assert(same_function<small<InStrips>, Net>);
  trainer<small<InStrips>, CrossEntropyLoss, SGD, batch<8>> strips{SGD{}, {.seed = 3}};
  CHECK(strips.evaluate_loss(tokens, targets) == doctest::Approx(std::log(17.0)).epsilon(0.02));
  strips.copy_parameters(plain);
  CHECK(strips.evaluate_loss(tokens, targets) == plain.evaluate_loss(tokens, targets));
}

} // namespace initialized_tests
