// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <cairn/layer/inputs.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/parameters.hpp>

#include "training.hpp"

namespace parameters_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<100, 32>, ReLU, Residual<LayerNorm<32>, Repeat<2, Linear<32, 32, false>>>,
                       checkpoint<sqrt_n, Sequential<Linear<32, 25>, ReLU>>, Linear<25, 3>>;

template <class Model, std::size_t Batch = 4, class T = float>
struct block {
  using plan = blueprint_of<Model, Batch, T>;
  std::vector<T> numbers = std::vector<T>(plan::parameter_block, T(-7));
  std::vector<T> buffers = std::vector<T>(plan::state_block, T(-7));

  explicit block(seed s) { detail::initialize(code(), std::span(numbers), std::span(buffers), s); }
  static const auto& code() { return detail::program_of<plan, T, cpu::queue>; }
  template <class F>
  void for_each(F&& f) {
    detail::for_each_parameter(code(), std::span(numbers), std::span(buffers), f);
  }
};

// Tensors with every kind of initial values.
struct Started {
  static constexpr tensor_list inputs{{8}};
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) {
    return {{"constant", {3}, initial::constant(2)},
            {"uniform", {4000}, initial::uniform(0.5)},
            {"normal", {4000}, initial::normal(0.02, 1)},
            {"truncated", {4000}, initial::truncated_normal(0.5, -1)}};
  }
  static constexpr tensor_list buffers(const arguments&) {
    return {{"running_mean", {8}, initial::constant(0)},
            {"running_var", {8}, initial::constant(1)},
            {"noise", {4000}, initial::normal(0.02, 1)}};
  }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>&) {}
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>&) {}
};

struct moments {
  double mean = 0, deviation = 0, largest = 0;

  moments(std::span<const double> list, double around) {
    for (const double x : list) mean += x / static_cast<double>(list.size());
    for (const double x : list) {
      deviation += (x - mean) * (x - mean) / static_cast<double>(list.size());
      largest = std::max(largest, std::abs(x - around));
    }
    deviation = std::sqrt(deviation);
  }
};

} // namespace

TEST_CASE("parameters: names and shapes are those of PyTorch, from the first layer to the last") {
  block<Net> b(seed{1});
  std::vector<std::string> names;
  std::vector<std::uint32_t> leaves;
  std::size_t count = 0;
  b.for_each([&](const types::named_parameter<float>& p) {
    names.push_back(p.name);
    leaves.push_back(p.leaf);
    count += p.numbers.size();
    CHECK(p.numbers.size() == p.facts->extents.size());
    CHECK(reinterpret_cast<std::uintptr_t>(p.numbers.data()) % sizeof(float) == 0);
    CHECK((p.numbers.data() - b.numbers.data()) % 16 == 0); // each starts at a cache line
  });
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.0.weight", "2.0.bias", "2.1.weight", "2.2.weight",
                                          "3.0.weight", "3.0.bias", "4.weight", "4.bias"});
  CHECK(leaves == std::vector<std::uint32_t>{0, 0, 2, 2, 3, 4, 5, 5, 7, 7});
  CHECK(count == decltype(b)::plan::parameters);
}

TEST_CASE("parameters: names are those of the same nn.Sequential, and as they were before") {
  using Pair = Sequential<Linear<8, 8, false>, Sequential<Linear<8, 8, false>>>;
  using Nested = Sequential<Input<8>, Pair, frozen<Linear<8, 8, false>>, Sequential<>,
                            Repeat<2, Sequential<ReLU, Linear<8, 8, false>>>, frozen<Repeat<2, Linear<8, 8, false>>>,
                            checkpoint<sqrt_n, Pair>, Residual<frozen<Pair>, ReLU>, Linear<8, 8, false>>;
  block<Nested> b(seed{1});
  const auto names = [&](detail::naming how) {
    std::vector<std::string> out;
    detail::for_each_parameter(
        b.code(), std::span(b.numbers), std::span(b.buffers), [&](const auto& p) { out.push_back(p.name); }, how);
    return out;
  };
  CHECK(names(detail::naming::as_torch) ==
        std::vector<std::string>{"0.0.weight", "0.1.0.weight", "1.weight", "3.1.weight", "4.1.weight", "5.weight", "6.weight",
                                 "7.0.weight", "7.1.0.weight", "8.0.0.weight", "8.0.1.0.weight", "9.weight"});
  CHECK(names(detail::naming::as_before) == std::vector<std::string>{"1.weight", "2.weight", "3.0.weight", "5.weight", "7.weight",
                                                                     "8.0.weight", "8.1.weight", "9.0.weight", "9.1.weight",
                                                                     "10.0.0.weight", "10.0.1.weight", "11.weight"});
  // A frozen branch has the same names as one that is not frozen.
  block<Sequential<Residual<shortcut<frozen<Pair>>, Pair>>> c(seed{1});
  std::vector<std::string> found;
  c.for_each([&](const types::named_parameter<float>& p) { found.push_back(p.name); });
  CHECK(found == std::vector<std::string>{"0.0.0.0.weight", "0.0.0.1.0.weight", "0.1.0.0.weight", "0.1.0.1.0.weight"});
}

TEST_CASE("parameters: they start as PyTorch's do") {
  block<Net> b(seed{1});
  std::set<float> seen;
  std::size_t drawn = 0;
  b.for_each([&](const types::named_parameter<float>& p) {
    CAPTURE(p.name);
    if (p.name == "2.0.weight" || p.name == "2.0.bias") {
      for (const float x : p.numbers) CHECK(x == (p.name == "2.0.weight" ? 1.0F : 0.0F));
      return;
    }
    // Uniform in +-1 / sqrt(inputs): the mean of the squares is a third of the bound's square.
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
  CHECK(seen.size() > drawn - drawn / 500); // parameters do not share random numbers
}

TEST_CASE("parameters: they do not depend on policy, batch and what stands in a checkpoint, but on the seed") {
  using Plain = Sequential<Linear<100, 32>, ReLU, Residual<LayerNorm<32>, Linear<32, 32, false>, Linear<32, 32, false>>,
                           Linear<32, 25>, ReLU, Linear<25, 3>>;
  const auto values = []<class Block>(Block b) {
    std::vector<float> list;
    b.for_each([&](const types::named_parameter<float>& p) { list.insert(list.end(), p.numbers.begin(), p.numbers.end()); });
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
  b.for_each([&](const types::named_parameter<float>& p) {
    for (float& x : p.numbers) x = -7;
  });
  for (std::size_t i = 0; i < filled.size(); ++i) changed += filled[i] != -7.0F;
  CHECK(changed == decltype(b)::plan::parameters);
  for (const float x : b.numbers) CHECK(x == -7.0F);
}

TEST_CASE("parameters: uniform, normal, truncated normal and constant initial values, of buffers too") {
  block<Sequential<Started>, 4, double> b(seed{1});
  std::map<std::string, std::vector<double>> found;
  b.for_each([&](const types::named_parameter<double>& p) { found[p.name] = {p.numbers.begin(), p.numbers.end()}; });
  detail::for_each_buffer(b.code(), std::span(b.numbers), std::span(b.buffers),
                          [&](const types::named_parameter<double>& p) { found[p.name] = {p.numbers.begin(), p.numbers.end()}; });
  REQUIRE(found.size() == 7);
  CHECK(found["0.constant"] == std::vector<double>(3, 2));
  CHECK(found["0.running_mean"] == std::vector<double>(8, 0));
  CHECK(found["0.running_var"] == std::vector<double>(8, 1));
  // Each bound on a mean or a deviation is above four of its own standard deviations.
  const moments uniform(found["0.uniform"], 0), normal(found["0.normal"], 1), truncated(found["0.truncated"], -1);
  CHECK(std::abs(uniform.mean) < 0.02);
  CHECK(uniform.deviation == doctest::Approx(0.5 / std::sqrt(3)).epsilon(0.03));
  CHECK(uniform.largest <= 0.5);
  CHECK(uniform.largest > 0.499);
  CHECK(std::abs(normal.mean - 1) < 0.0015);
  CHECK(normal.deviation == doctest::Approx(0.02).epsilon(0.05));
  CHECK(normal.largest > 0.05); // two and a half deviations: it is not cut off
  CHECK(std::abs(truncated.mean + 1) < 0.03);
  CHECK(truncated.deviation == doctest::Approx(0.5 * 0.8796).epsilon(0.04)); // the deviation after truncation
  CHECK(truncated.largest <= 1);
  CHECK(truncated.largest > 0.98);
  // A buffer and a parameter with the same distribution do not start with the same numbers.
  CHECK(found["0.noise"] != found["0.normal"]);
  CHECK(moments(found["0.noise"], 1).deviation == doctest::Approx(0.02).epsilon(0.05));
}

} // namespace parameters_tests
