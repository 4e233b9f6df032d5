// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/report/layer_watch.hpp>
#include <cairn/report/summary.hpp>
#include <doctest/doctest.h>

#include "../train/training.hpp"
#include "ticking.hpp"

namespace layer_watch_tests {

using namespace cairn;
using namespace testing;

namespace {

using ticking_watch = detail::layer_watch<float, ticking::queue>;
template <class Model>
using trained = trainer<Model, CrossEntropyLoss, SGD, batch<8>, float, ticking>;

// Returns the layers of Model as they were typed, with blocks resolved, and how often each runs forward in a step.
template <class Model>
std::vector<detail::network_line> layers_of_summary() {
  const report::network_summary all = summary<Model, 8>();
  std::vector<detail::network_line> out;
  for (std::size_t i = 0; i < all.lines.size(); ++i)
    if (i + 1 == all.lines.size() || all.lines[i + 1].level <= all.lines[i].level) out.push_back(all.lines[i]);
  return out;
}

// A network in which no layer applies an activation to its own result.
using Deep = Sequential<Linear<10, 16>, LayerNorm<16>, Repeat<3, Residual<LayerNorm<16>, Linear<16, 16>>>,
                        checkpoint<recompute_all, Sequential<Linear<16, 16>, Dropout<>, Linear<16, 16>>>, Linear<16, 4>>;

} // namespace

TEST_CASE("layer_watch: every layer is found at its index, under the path of its parameters") {
  trained<Net> train{SGD{}};
  ticking_watch watch(true, false);
  const samples<> s(8, 0);
  detail::step_watched(train.inside(), s.x, s.y, watch);
  const auto& layers = watch.layers();
  std::vector<std::string> names;
  for (const auto& l : layers) {
    REQUIRE(l.code != nullptr);
    names.push_back(l.path + " " + l.name());
  }
  CHECK(names == std::vector<std::string>{"0 Linear<10, 16>", "1 ReLU", "2.0 LayerNorm<16>", "2.1 Linear<16, 16>", "2.2 ReLU",
                                          "3.0 LayerNorm<16>", "3.1 Linear<16, 16>", "3.2 ReLU", "4.0 Linear<16, 16>",
                                          "4.1 testing::Witness", "4.2 Dropout<>", "4.3 Linear<16, 16>", "5 Linear<16, 4>"});
  train.for_each([&](const auto& q) {
    REQUIRE(q.leaf < layers.size());
    CHECK(q.name == layers[q.leaf].path + "." + std::string(q.facts->name));
  });
}

TEST_CASE_TEMPLATE("layer_watch: each layer runs as often as its policy says, and takes a tick each time", Policy, store_all,
                   recompute_all, sqrt_n, every<2>) {
  using Model = checkpoint<Policy, Deep>;
  trained<Model> train{SGD{}};
  ticking_watch watch(true, false);
  const samples<> s(8, 0);
  detail::step_watched(train.inside(), s.x, s.y, watch);
  const auto& sums = watch.sums();
  // A line of the summary stands for all its repetitions, so all layers of one name are compared together.
  const auto lines = layers_of_summary<Model>();
  std::set<std::string> names;
  for (const auto& line : lines) names.insert(line.name);
  std::int64_t recomputed = 0;
  for (const std::string& name : names) {
    std::size_t planned = 0, stages = 0;
    for (const auto& line : lines)
      if (line.name == name) planned += line.forwards, stages += line.times;
    std::int64_t measured = 0, first = 0, back = 0;
    for (std::size_t l = 0; l < sums.size(); ++l) {
      if (watch.layers()[l].name() != name) continue;
      first += sums[l].nanoseconds[static_cast<std::size_t>(detail::layer_pass::forward)];
      recomputed += sums[l].nanoseconds[static_cast<std::size_t>(detail::layer_pass::recompute)];
      measured += sums[l].nanoseconds[static_cast<std::size_t>(detail::layer_pass::forward)] +
                  sums[l].nanoseconds[static_cast<std::size_t>(detail::layer_pass::recompute)];
      back += sums[l].nanoseconds[static_cast<std::size_t>(detail::layer_pass::backward)];
    }
    CHECK(first == 1000 * static_cast<std::int64_t>(stages));
    CHECK(measured == 1000 * static_cast<std::int64_t>(planned));
    CHECK(back == first);
  }
  // Under store_all only the block recomputes: its first two layers, whose result the third one's backward reads.
  CHECK((recomputed > 2000) == !std::is_same_v<Policy, store_all>);
  if (std::is_same_v<Policy, store_all>) CHECK(recomputed == 2000);
  CHECK(watch.nanoseconds(ticking_watch::loss_part) == 1000);
  CHECK(watch.nanoseconds(ticking_watch::gradients_part) == 0);
  CHECK(watch.nanoseconds(ticking_watch::update_part) == 1000);
}

TEST_CASE("layer_watch: the operations of all layers are those of the plan, activations that a product applies included") {
  using Model = checkpoint<sqrt_n, Sequential<Linear<10, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 4>>>;
  trained<Model> train{SGD{}};
  ticking_watch watch(true, false);
  const samples<> s(8, 0);
  for (int step = 0; step < 2; ++step) { // the sums start anew with each step
    detail::step_watched(train.inside(), s.x, s.y, watch);
    std::uint64_t all = 0;
    bool absorbed = false;
    for (const auto& sum : watch.sums()) {
      all += sum.flops;
      absorbed = absorbed || (sum.flops > 0 && sum.nanoseconds[static_cast<std::size_t>(detail::layer_pass::forward)] == 0);
    }
    CHECK(8 * all == summary<Model, 8>().costs.flops);
    CHECK(absorbed);
  }
}

TEST_CASE("layer_watch: watched steps compute the bits of others, between them too") {
  const auto bits = [](auto& train, auto& watch, bool watched) {
    std::vector<std::uint64_t> out;
    for (std::uint32_t step = 0; step < 5; ++step) {
      const samples<> s(step == 3 ? 5 : 8, step);
      if (watched && step % 2 == 1) detail::step_watched(train.inside(), s.x, s.y, watch);
      else train.step(s.x, s.y);
      out.push_back(train.checksum());
    }
    return out;
  };
  threads{2}.run([&](threads::rank& rank) {
    using Model = ddp<fused_update<checkpoint<sqrt_n, Net>>, threads::rank, bucket_bytes<1024>>;
    trained<Model> one{rank, momentum}, two{rank, momentum};
    ticking_watch watch(false, true);
    CHECK(bits(one, watch, true) == bits(two, watch, false));
    // Buckets are used when a layer's gradients are finished; the remaining ones are used at the end.
    CHECK(watch.nanoseconds(ticking_watch::update_part) > 1000 * static_cast<std::int64_t>(trained<Model>::buckets.size()));
    CHECK(watch.nanoseconds(ticking_watch::gradients_part) == 0);
  });
  threads{2}.run([&](threads::rank& rank) {
    using Model = ddp<Net, threads::rank, bucket_bytes<1024>>;
    trained<Model> one{rank, momentum}, two{rank, momentum};
    ticking_watch watch(false, false);
    CHECK(bits(one, watch, true) == bits(two, watch, false));
    CHECK(watch.nanoseconds(ticking_watch::gradients_part) > 1000);
    CHECK(watch.nanoseconds(ticking_watch::update_part) == 1000);
  });
}

} // namespace layer_watch_tests
