// SPDX-License-Identifier: MIT
// The networks have a file of their own, because the compiler plans a step for each policy on each of them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/random_normal.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/report/names.hpp>
#include <cairn/report/progress.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

#include "../arena_use.hpp"
#include "../devices.hpp"

namespace depth_study {

inline constexpr std::size_t width = 64;
inline constexpr std::size_t samples = 256; // of one step

// All blocks are equal, so that memory and time against depth depend on the policy only.
template <std::size_t Depth>
using deep_net =
    cairn::Sequential<cairn::Repeat<Depth, cairn::Residual<cairn::Linear<width, width>, cairn::ReLU>>, cairn::Linear<width, 10>>;

struct job {
  std::string device = "cpu";
  std::size_t steps = 7; // timed steps, after one that is not timed
  std::size_t threads = 1;
};

struct figures {
  std::size_t planned = 0;   // bytes of the arena
  std::size_t measured = 0;  // bytes of it that a step wrote
  double seconds = 0;        // median of the steps
  std::uint64_t weights = 0; // checksum after the last step
};

// A schedule for the network of one depth, with all that is known before a step runs.
struct candidate {
  std::size_t depth = 0;
  std::string policy;          // as it is typed
  const char* planned_by = ""; // compiler or program
  double flops = 0;            // of a step
  std::function<figures(const job&, const std::function<void()>& stepped)> measure{};

  std::string family() const { return policy.substr(0, policy.find('<')); } // revolve<4>: revolve
};

// Trains a model, with the schedule that was planned at run time if there is one.
template <std::size_t Depth, class Model, class Device>
figures measure(const job& j, const std::function<void()>& stepped,
                const typename cairn::memory_curve<Model, samples>::step& planned) {
  using namespace cairn;
  trainer<Model, CrossEntropyLoss, SGD, batch<samples>, float, Device> train{
      SGD{.learning_rate = 1e-3, .momentum = 0.9}, {.seed = 1, .threads = j.threads, .schedule = planned}};
  // Each block adds little, so that the sum of a thousand stays near the input.
  train.for_each([](const auto& p) {
    for (float& w : p.numbers) w /= static_cast<float>(Depth);
  });
  std::vector<float> inputs(samples * width);
  std::vector<int> labels(samples);
  ops::fill_normal(std::span<float>(inputs), {.seed = 1});
  for (std::size_t i = 0; i < samples; ++i) labels[i] = static_cast<int>(i % 10);

  figures out{.planned = train.arena_bytes()};
  mark_untouched_arena(train);
  train.step(inputs, labels);
  out.measured = used_bytes_of_arena(train);
  std::vector<double> seconds;
  for (std::size_t s = 0; s < j.steps; ++s) {
    const auto start = std::chrono::steady_clock::now();
    train.step(inputs, labels);
    train.wait();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    stepped();
  }
  std::ranges::sort(seconds);
  out.seconds = seconds[seconds.size() / 2];
  out.weights = train.checksum();
  return out;
}

// The same on the chosen device.
template <std::size_t Depth, class Model>
figures measure_on_device(const job& j, const std::function<void()>& stepped,
                          const typename cairn::memory_curve<Model, samples>::step& planned = {}) {
  return on_device(j.device,
                   [&]<class Device>(std::type_identity<Device>) { return measure<Depth, Model, Device>(j, stepped, planned); });
}

// The same bytes for networks of any depth.
inline constexpr std::size_t bytes_of_a_step = std::size_t{2} << 20;
using two_mebibytes = cairn::budget<bytes_of_a_step>;

template <class Policy>
std::string name_of_policy() {
  if constexpr (std::is_same_v<Policy, two_mebibytes>) return "budget<2_MiB>";
  else return cairn::report::name_of<Policy>();
}

// A candidate that the compiler plans.
template <std::size_t Depth, class Policy>
candidate candidate_of() {
  using namespace cairn;
  using model = checkpoint<Policy, deep_net<Depth>>;
  using plan = blueprint_of<model, samples>;
  return {Depth, name_of_policy<Policy>(), "compiler", static_cast<double>(flops(plan::whole, plan::training.ops())) * samples,
          [](const job& j, const auto& stepped) { return measure_on_device<Depth, model>(j, stepped); }};
}
template <std::size_t Depth, class... Policies>
std::vector<candidate> candidates() {
  return {candidate_of<Depth, Policies>()...};
}

// A candidate that is solved at run time, in less than a second: the compiler would need much longer to solve this many stages
// for a budget.
template <std::size_t Depth, class Policy>
candidate candidate_of_now(const typename cairn::memory_curve<deep_net<Depth>, samples>::step& step) {
  using namespace cairn;
  using net = deep_net<Depth>;
  const auto cost = flops(blueprint_of<net, samples>::whole, step.plan.training.ops());
  return {Depth, name_of_policy<Policy>(), "program", static_cast<double>(cost) * samples,
          [step](const job& j, const auto& stepped) {
            return measure_on_device<Depth, checkpoint<store_all, net>>(j, stepped, step);
          }};
}

template <std::size_t Depth>
candidate solved_now() {
  cairn::progress bar(1000, {.label = "solving " + std::to_string(Depth) + " blocks", .unit = "thousandths"});
  std::size_t shown = 0;
  const auto show = [&](double done) {
    const auto now = static_cast<std::size_t>(1000 * done);
    bar.advance(now - shown);
    shown = now;
  };
  const cairn::memory_curve<deep_net<Depth>, samples> curve({}, {.most = bytes_of_a_step}, show);
  return candidate_of_now<Depth, two_mebibytes>(curve.within(bytes_of_a_step));
}

// Each list begins with store_all.
std::vector<candidate> depth_10();
std::vector<candidate> depth_30();
std::vector<candidate> depth_100();
std::vector<candidate> depth_300();
std::vector<candidate> depth_1000();

} // namespace depth_study
