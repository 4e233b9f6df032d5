// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/embedding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "../train/quotients.hpp"
#include "alone.hpp"
#include "given.hpp"

namespace embedding_tests {

using namespace cairn;

namespace {

constexpr tensor words = tensor{3}.of(element::int32);

template <class Layer, class T>
double distance_from_torch(const std::string& name, const tensor& tokens_of_sample, std::size_t rows) {
  alone<Layer, T> own({tokens_of_sample}, rows);
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  const auto tokens = reference_numbers<std::int32_t>(name + "/input");
  std::copy(tokens.begin(), tokens.end(), x.view().integers(0));
  dy.assign(0, reference_numbers<T>(name + "/output_gradient"));
  own.parameters.assign(0, reference_numbers<T>(name + "/parameter0"));
  const auto y = own.forward(x);
  own.backward(x, y, dy, {.wanted = 0});
  return std::max(largest_difference(y.values(), reference_values(name + "/output")),
                  largest_difference(own.gradients.values(), reference_values(name + "/gradient0")));
}

using Padded = Embedding<7, 3, padding_idx<2>>;

// The function whose derivatives a layer with padding has: the padding token's row counts as a constant. The output for this
// token is not read from the weight, so a change of the row has no effect.
template <class Layer, std::int32_t Token>
struct Held : Layer {
  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    Layer::forward(queue, call);
    const std::size_t tokens = call.rows * call.in(0).size(), width = Layer::outputs(*call.given).last();
    for (std::size_t i = 0; i < tokens; ++i)
      if (call.inputs.integers(0)[i] == Token) std::fill_n(call.outputs[0] + i * width, width, T{1} / 2);
  }
};

// Returns the gradients of two micro-batches with padding among their tokens, compared with difference quotients.
template <class Model>
std::vector<double> padded_gradients() {
  trainer<Model, CrossEntropyLoss, SGD, batch<3>, double> t{SGD{.learning_rate = 0.1}, {.seed = 3}};
  std::size_t row = 0;
  t.for_each([&](const types::named_parameter<double>& p) { // not 0, as a program may load it, so that it has an effect
    if (p.numbers.size() == 7 * 3 && ++row == 1) std::fill_n(p.numbers.begin() + 2 * 3, 3, 0.25);
  });
  REQUIRE(row == 1);
  const std::vector<std::int32_t> first{1, 2, 2, 0, 5, 1, 2, 2, 6, 0, 4, 2}, second{2, 2, 2, 2, 3, 2, 1, 1};
  const std::vector<int> first_targets{0, 2, 1}, second_targets{1, 0};
  const auto loss = [&] { return (t.evaluate_loss(first, first_targets) + t.evaluate_loss(second, second_targets)) / 2; };
  const std::vector<double> quotients = testing::quotients_of(t, loss);
  t.accumulate(first, first_targets);
  t.step(second, second_targets);
  std::vector<double> all;
  t.for_each_gradient([&](const types::named_parameter<double>& p) {
    const bool table = p.numbers.size() == 7 * 3;
    for (std::size_t i = 0; i < p.numbers.size(); ++i) {
      const double quotient = quotients.at(all.size());
      if (table && i / 3 == 2) {
        CHECK(p.numbers[i] == 0);
        CHECK(quotient != 0); // it is read, but does not learn
      } else CHECK(p.numbers[i] == doctest::Approx(quotient).epsilon(1e-6).scale(1e-3));
      all.push_back(p.numbers[i]);
    }
  });
  CHECK(all.size() == quotients.size());
  return all;
}

} // namespace

static_assert(layer<Padded> && Padded::padding == 2 && Padded::parameters(given{words})[0].start.zeros_begin == 6);
static_assert(layer<Embedding<11, 6>>);
static_assert(Embedding<11, 6>::accepts(given{words}) && !Embedding<11, 6>::accepts(given{{3}}));
static_assert(Embedding<11, 6>::outputs(given{words}) == tensor{3, 6} && Embedding<11, 6>::outputs(given{words}).has_gradient);
static_assert(Embedding<11, 6>::outputs(given{tensor{}.of(element::int32)}) == tensor{6});
static_assert(Embedding<11, 6>::outputs(given{tensor{2, 5}.of(element::int32)}) == tensor{2, 5, 6});
static_assert(Embedding<11, 6>::parameters(given{words})[0].start.how == initial::law::normal);

TEST_CASE("Embedding: gradients") {
  CHECK(gradient_fault<Embedding<5, 3>>({words}) == "");
  CHECK(gradient_fault<Embedding<3, 1>>({tensor{}.of(element::int32)}) == "");
  CHECK(gradient_fault<Embedding<4, 19>>({tensor{2, 4}.of(element::int32)}) == "");
}

TEST_CASE("Embedding: gradients with a token that is padding, as if its row were constant") {
  const tensor eight = tensor{8}.of(element::int32); // has each of the tokens 0, 1 and 2
  CHECK(gradient_fault<Held<Embedding<5, 3, padding_idx<0>>, 0>>({words}) == "");
  CHECK(gradient_fault<Held<Embedding<5, 3, padding_idx<2>>, 2>>({eight}) == "");
  CHECK(gradient_fault<Held<Embedding<4, 19, padding_idx<1>>, 1>>({tensor{2, 4}.of(element::int32)}) == "");
  CHECK(gradient_fault<Held<Embedding<3, 1, padding_idx<2>>, 2>>({eight}) == "");
  CHECK(gradient_fault<Embedding<5, 3, padding_idx<4>>>({eight}) == ""); // a padding token that does not occur
  // The check finds a padding row that learns, and another row that does not.
  CHECK(gradient_fault<Held<Embedding<5, 3>, 2>>({eight}) != "");
  CHECK(gradient_fault<Held<Embedding<5, 3, padding_idx<1>>, 2>>({eight}) != "");
}

TEST_CASE("Embedding: with padding, every policy gives the gradients that are quotients of differences, and the same bits") {
  using First = Sequential<Padded, Flatten, Linear<12, 6>>;
  using Net = Sequential<Inputs<integers<4>>, First, Tanh, Linear<6, 6>, Tanh, Linear<6, 3>>;
  using Inner = Sequential<Inputs<integers<4>>, checkpoint<recompute_all, First>, Tanh, Linear<6, 6>, Tanh, Linear<6, 3>>;
  const std::vector<double> stored = padded_gradients<Net>();
  CHECK(padded_gradients<checkpoint<recompute_all, Net>>() == stored);
  CHECK(padded_gradients<checkpoint<sqrt_n, Net>>() == stored);
  CHECK(padded_gradients<checkpoint<every<2>, Net>>() == stored);
  CHECK(padded_gradients<checkpoint<revolve<2>, Net>>() == stored);
  CHECK(padded_gradients<checkpoint<budget_fraction<90>, Net>>() == stored);
  CHECK(padded_gradients<Inner>() == stored);
}

TEST_CASE("Embedding: PyTorch's numbers") {
  CHECK(distance_from_torch<Embedding<11, 6>, double>("embedding", words, 3) < 1e-12);
  CHECK(distance_from_torch<Embedding<11, 6>, float>("embedding", words, 3) < 1e-6);
}

TEST_CASE("Embedding: PyTorch's numbers with a token that is padding") {
  const tensor four = tensor{4}.of(element::int32);
  CHECK(distance_from_torch<Padded, double>("embedding_padding", four, 2) < 1e-12);
  CHECK(distance_from_torch<Padded, float>("embedding_padding", four, 2) < 1e-6);
}

TEST_CASE("Embedding: the row of a token that is padding starts at 0 and learns nothing") {
  using Net = Sequential<Inputs<integers<4>>, Padded, Flatten, Linear<12, 3>>;
  trainer<Net, CrossEntropyLoss, Adam, batch<2>> t{Adam{.learning_rate = 0.1}, {.seed = 3}};
  const auto row = [](auto& of, std::size_t token) {
    std::vector<float> weight;
    of.for_each([&](const types::named_parameter<float>& p) {
      if (weight.empty()) weight.assign(p.numbers.begin(), p.numbers.end());
    });
    return std::vector<float>(weight.begin() + 3 * static_cast<std::ptrdiff_t>(token),
                              weight.begin() + 3 * static_cast<std::ptrdiff_t>(token + 1));
  };
  const std::vector<float> nothing(3), first = row(t, 1);
  CHECK(row(t, 2) == nothing);
  CHECK(first != nothing);
  trainer<Sequential<Inputs<integers<4>>, Embedding<7, 3>, Flatten, Linear<12, 3>>, CrossEntropyLoss, Adam, batch<2>> plain{
      Adam{}, {.seed = 3}};
  CHECK(row(plain, 1) == first); // the other rows start as without padding
  const std::vector<std::int32_t> tokens{1, 2, 2, 2, 5, 1, 2, 2};
  const std::vector<int> targets{0, 2};
  for (int step = 0; step < 3; ++step) t.step(tokens, targets);
  CHECK(row(t, 2) == nothing);
  CHECK(row(t, 1) != first);
}

TEST_CASE("Embedding: a token that the vocabulary does not have is refused") {
  alone<Embedding<11, 6>, float> own({words}, 2);
  auto x = own.some_inputs();
  for (const std::int32_t wrong : {11, -1}) {
    x.view().integers(0)[4] = wrong;
    CHECK_THROWS_AS(own.forward(x), error);
  }
}

} // namespace embedding_tests
