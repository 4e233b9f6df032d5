// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/report/watched_layers.hpp>
#include <doctest/doctest.h>

#include "../train/training.hpp"

namespace watched_layers_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<10, 16>, Residual<LayerNorm<16>, Linear<16, 16>>, Linear<16, 4>>;
using plan = blueprint_of<Net, 8>;
constexpr const auto& code = detail::program_of<plan, float, cpu::queue>;

// Records the calls of layers.
struct told : detail::watched_layers<float, cpu::queue> {
  using base = detail::watched_layers<float, cpu::queue>;
  using base::begin_layers, base::watched, base::watched_layers;

  std::vector<std::string> calls{};
  std::size_t marks = 0;

private:
  std::size_t mark() override { return marks++; }
  void ran(const detail::layer_run& r) override {
    CHECK(r.end == r.begin + 1);
    calls.push_back(layers()[r.leaf].path);
  }
};

} // namespace

TEST_CASE("watched_layers: all layers are found, wherever in blocks they stand") {
  told all(false);
  all.watched(code);
  std::vector<std::string> names;
  std::vector<bool> in_block;
  for (const auto& l : all.layers()) names.push_back(l.path + " " + l.name()), in_block.push_back(l.in_block);
  CHECK(names == std::vector<std::string>{"0 Linear<10, 16>", "1.0 LayerNorm<16>", "1.1 Linear<16, 16>", "2 Linear<16, 4>"});
  CHECK(in_block == std::vector<bool>{false, true, true, false});
}

TEST_CASE("watched_layers: each call is told, or those in blocks alone") {
  detail::replica<plan, Net, float, cpu> weights({}, seed{1}, 0);
  const std::vector<float> x(8 * 10, 0.5F);
  const auto calls_of = [&](bool in_blocks_only) {
    told watch(in_blocks_only);
    const auto nothing = [](auto&&...) {};
    weights.with_inputs(8, x, pass::evaluate, nothing, nothing, [&](const detail::frame<float>& lent) {
      const told::at_work here(watch);
      const auto& copy = watch.watched(code);
      watch.begin_layers(lent);
      detail::run_forward(copy, weights.compute(), lent);
    });
    return watch.calls;
  };
  CHECK(calls_of(false) == std::vector<std::string>{"0", "1.0", "1.1", "2"});
  CHECK(calls_of(true) == std::vector<std::string>{"1.0", "1.1"});
}

} // namespace watched_layers_tests
