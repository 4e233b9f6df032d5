// SPDX-License-Identifier: MIT
// Training with 16 bits in each way of products that the machine has: every policy, one to three ranks and one or two threads
// leave the same bits, and gradients are near those of double.
//
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace trainer_narrow_ways_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using samples = testing::samples<float>;

namespace {

// Products of more than one tile of any way, and none of whole tiles only.
using Net = Sequential<Linear<features, 70>, ReLU, Residual<LayerNorm<70>, Linear<70, 90>, GELU, Linear<90, 70>>,
                       Dropout<percent<20>>, Linear<70, classes>>;
constexpr std::size_t rows = 40;
template <class Model, class T>
using training = trainer<Model, CrossEntropyLoss, AdamW, batch<rows>, T>;

constexpr std::uint32_t steps = 3;

// Steps of `size` micro-batches, of which each of `ranks` ranks sees one, or one rank all.
template <class Trainer>
std::uint64_t trained(Trainer& t, std::uint32_t size, std::uint32_t rank = 0, std::uint32_t ranks = 1) {
  for (std::uint32_t step = 0; step < steps; ++step)
    for (std::uint32_t part = rank; part < size; part += ranks) {
      const samples s(part == 1 ? 33 : rows, size * step + part);
      if (part + ranks < size) t.accumulate(s.x, s.y);
      else t.step(s.x, s.y);
    }
  return t.checksum();
}
template <class Model, class T>
std::uint64_t alone(std::size_t threads = 1, std::uint32_t size = 2) {
  training<Model, T> t{AdamW{.learning_rate = 0.01}, {.seed = 3, .threads = threads}};
  return trained(t, size);
}
// Steps of one micro-batch, as a fused update has no others.
template <class Model, class T>
std::uint64_t step_by_step() {
  training<Model, T> t{AdamW{.learning_rate = 0.01}, {.seed = 3}};
  for (std::uint32_t step = 0; step < steps; ++step) {
    const samples s(rows, step);
    t.step(s.x, s.y);
  }
  return t.checksum();
}

} // namespace

TEST_CASE_TEMPLATE("narrow ways: policies, ranks and threads of this process", T, bfloat16, float16) {
  const std::uint64_t expected = alone<Net, T>();
  CHECK(alone<Net, T>(2) == expected);
  CHECK(alone<checkpoint<sqrt_n, Net>, T>() == expected);
  CHECK(alone<checkpoint<recompute_all, Net>, T>(2) == expected);
  CHECK(step_by_step<fused_update<checkpoint<every<2>, Net>>, T>() == step_by_step<Net, T>());
  for (const int size : {2, 3}) {
    const auto count = static_cast<std::size_t>(size);
    std::vector<std::uint64_t> found(count);
    threads{size}.run([&](threads::rank& rank) {
      training<ddp<checkpoint<sqrt_n, Net>, threads::rank>, T> t{rank, AdamW{.learning_rate = 0.01}, {.seed = 3, .threads = 1}};
      const auto of_all = static_cast<std::uint32_t>(size);
      found[static_cast<std::size_t>(rank.rank())] = trained(t, of_all, static_cast<std::uint32_t>(rank.rank()), of_all);
    });
    CHECK(found == std::vector<std::uint64_t>(count, alone<Net, T>(1, static_cast<std::uint32_t>(size))));
  }
}

// Each value is rounded to 8 or 11 bits, once in forward and once in backward, and a few elements of ReLU change sides. The bounds
// are those of the norm of all differences of a parameter over the norm of its gradient.
TEST_CASE_TEMPLATE("narrow ways: gradients of this process are near those of double", T, bfloat16, float16) {
  using Model =
      Sequential<Linear<features, 70>, ReLU, Residual<LayerNorm<70>, Linear<70, 90>, GELU, Linear<90, 70>>, Linear<70, classes>>;
  constexpr double bound = std::is_same_v<T, bfloat16> ? 0.06 : 0.006;
  trainer<Model, CrossEntropyLoss, AdamW, batch<rows>, T> own{AdamW{}, {.seed = 3}};
  trainer<Model, CrossEntropyLoss, AdamW, batch<rows>, double> exact{AdamW{}, {.seed = 3}};
  exact.for_each([&](const auto& q) {
    const auto from = own.parameter(q.name);
    std::copy(from.begin(), from.end(), q.numbers.begin());
  });
  const samples s(rows, 1);
  own.step(s.x, s.y);
  exact.step(std::vector<double>(s.x.begin(), s.x.end()), s.y);
  std::vector<std::vector<double>> expected;
  exact.for_each_gradient([&](const auto& q) { expected.emplace_back(q.numbers.begin(), q.numbers.end()); });
  std::size_t k = 0;
  double worst = 0;
  own.for_each_gradient([&](const auto& q) {
    double squares = 0, differences = 0;
    for (std::size_t i = 0; i < q.numbers.size(); ++i) {
      const double difference = expected[k][i] - static_cast<double>(q.numbers[i]);
      squares += expected[k][i] * expected[k][i];
      differences += difference * difference;
    }
    CAPTURE(q.name);
    const double apart = std::sqrt(differences / squares);
    CHECK(apart < bound);
    worst = std::max(worst, apart);
    ++k;
  });
  CHECK(worst > bound / 20); // not computed in float by mistake
  MESSAGE("of a parameter's gradient: " << worst);
}

// A process determines its instruction set once, so the others are those of processes of their own.
TEST_CASE("narrow ways: the same in each other way that this machine has") {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none || !detail::word_for_instruction_set().empty()) return;
  using detail::instruction_set;
  for (const std::string word : {"plain", "avx2", "avx512", "avx512_bf16"}) {
    if (detail::at_most(detail::widest_for_bfloat16(), word) == detail::widest_for_bfloat16()) continue;
    std::FILE* const said =
        popen(("CAIRN_ISA=" + word + " '" + self.string() + "' --test-case='narrow ways:*of this process*' 2>&1").c_str(), "r");
    REQUIRE(said != nullptr);
    std::string text;
    for (int c = std::fgetc(said); c != EOF; c = std::fgetc(said)) text += static_cast<char>(c);
    CAPTURE(word);
    CAPTURE(text);
    CHECK(pclose(said) == 0);
    CHECK(text.find("4 passed") != std::string::npos);
  }
}

} // namespace trainer_narrow_ways_tests
