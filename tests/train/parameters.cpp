// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <cairn/train/parameters.hpp>

#include "training.hpp"

using namespace cairn;

namespace {

using Net = Sequential<Linear<100, 32>, ReLU, Residual<LayerNorm<32>, Repeat<2, Linear<32, 32, false>>>,
                       checkpoint<sqrt_n, Sequential<Linear<32, 25>, ReLU>>, Linear<25, 3>>;

template <class Model, std::size_t Batch = 4, class T = float>
struct block {
  using plan = blueprint_of<Model, Batch, T>;
  std::vector<T> numbers = std::vector<T>(plan::parameter_block, T(-7));

  explicit block(seed s) { initialize(code(), std::span(numbers), s); }
  static const auto& code() { return program_of<plan, T, cpu::queue>; }
  template <class F>
  void for_each(F&& f) {
    for_each_parameter(code(), std::span(numbers), f);
  }
};

} // namespace

TEST_CASE("parameters: names and shapes are those of PyTorch, from the first layer to the last") {
  block<Net> b(seed{1});
  std::vector<std::string> names;
  std::vector<std::uint32_t> leaves;
  std::size_t count = 0;
  b.for_each([&](const named_parameter<float>& p) {
    names.push_back(p.name);
    leaves.push_back(p.leaf);
    count += p.numbers.size();
    CHECK(p.numbers.size() == p.facts->extents.size());
    CHECK(reinterpret_cast<std::uintptr_t>(p.numbers.data()) % sizeof(float) == 0);
    CHECK((p.numbers.data() - b.numbers.data()) % 16 == 0); // each starts at a line
  });
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.0.weight", "2.0.bias", "2.1.weight",
                                          "2.2.weight", "3.0.weight", "3.0.bias", "4.weight", "4.bias"});
  CHECK(leaves == std::vector<std::uint32_t>{0, 0, 2, 2, 3, 4, 5, 5, 7, 7});
  CHECK(count == decltype(b)::plan::parameters);
}

TEST_CASE("parameters: they start as PyTorch's do") {
  block<Net> b(seed{1});
  std::set<float> seen;
  std::size_t drawn = 0;
  b.for_each([&](const named_parameter<float>& p) {
    CAPTURE(p.name);
    if (p.name == "2.0.weight" || p.name == "2.0.bias") {
      for (const float x : p.numbers) CHECK(x == (p.name == "2.0.weight" ? 1.0F : 0.0F));
      return;
    }
    // Uniform in +-1 / sqrt(inputs): the mean of the squares is a third of the bound's.
    const double inputs = p.leaf == 0 ? 100 : p.leaf == 7 ? 25 : 32;
    const double bound = 1 / std::sqrt(inputs);
    double sum = 0, squares = 0;
    for (const float x : p.numbers) {
      CHECK(std::abs(x) <= bound);
      sum += x;
      squares += double{x} * x;
      seen.insert(x);
      ++drawn;
    }
    const auto n = static_cast<double>(p.numbers.size());
    if (p.numbers.size() < 500) return;
    CHECK(std::abs(sum / n) < bound / 8);
    CHECK(squares / n == doctest::Approx(bound * bound / 3).epsilon(0.15));
  });
  CHECK(seen.size() > drawn - drawn / 500); // no two parameters are drawn from the same numbers
}

TEST_CASE(
    "parameters: they do not depend on policy, batch and what stands in a checkpoint, but on the seed") {
  using Plain =
      Sequential<Linear<100, 32>, ReLU, Residual<LayerNorm<32>, Linear<32, 32, false>, Linear<32, 32, false>>,
                 Linear<32, 25>, ReLU, Linear<25, 3>>;
  const auto values = []<class Block>(Block b) {
    std::vector<float> list;
    b.for_each([&](const named_parameter<float>& p) {
      list.insert(list.end(), p.numbers.begin(), p.numbers.end());
    });
    return list;
  };
  const std::vector<float> want = values(block<Net>(seed{1}));
  CHECK(values(block<checkpoint<recompute_all, Net>>(seed{1})) == want);
  CHECK(values(block<Net, 9>(seed{1})) == want);
  CHECK(values(block<Plain>(seed{1})) == want);
  CHECK(values(block<Net>(seed{2})) != want);
}

TEST_CASE("parameters: what lies between them is left alone") {
  block<Net> b(seed{1});
  const auto filled = b.numbers;
  std::size_t changed = 0;
  b.for_each([&](const named_parameter<float>& p) {
    for (float& x : p.numbers) x = -7;
  });
  for (std::size_t i = 0; i < filled.size(); ++i) changed += filled[i] != -7.0F;
  CHECK(changed == decltype(b)::plan::parameters);
  for (const float x : b.numbers) CHECK(x == -7.0F);
}
