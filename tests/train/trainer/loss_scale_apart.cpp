// SPDX-License-Identifier: MIT
// Loss scaling on a device whose work is done later, which decides itself whether an update is skipped: each number that a
// program sees has the bits of a run on a cpu, where the host decides.
//
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/layer_groups.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/state/saved_state.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../apart_ops.hpp"
#include "../apart_program.hpp"
#include "../apart_ranks.hpp"
#include "../training.hpp"

namespace trainer_loss_scale_apart_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using testing::text_of;
using samples = testing::samples<float>;

namespace {

using Plain = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
template <class Device, class Optimizer = AdamW, class Model = Plain, class T = float>
using training = trainer<Model, CrossEntropyLoss, Optimizer, batch<6>, T, Device>;
constexpr dynamic_scale growing{.init_scale = 512, .growth_interval = 2};

samples samples_of(std::uint32_t step, bool overflows) {
  samples s(6, step);
  if (overflows) s.x[7] = std::numeric_limits<float>::infinity();
  return s;
}
bool overflows_at(std::uint32_t step) { return step == 0 || step == 3 || step == 4 || step == 9; }

template <class Trainer>
void look_at(Trainer& t, apart::seen& out) {
  out.add(t.loss_scale());
  out.add(t.skipped_updates());
  out.add(t.checksum());
  t.for_each_optimizer_state([&](std::size_t, const auto& q) { out.add_all(q.numbers); });
}

// Twelve steps, some of which overflow. `looks` says whether the program asks for numbers after each step, so that the host knows
// of all skips, or only at the end, so that it does not know of the last one while it prepares the next update.
template <class Device, class Optimizer, class T = float>
apart::seen run(const Optimizer& optimizer, const detail::loss_scaling& scale, double max_norm, bool looks, bool accumulates) {
  training<Device, Optimizer, Plain, T> t{optimizer, {.seed = 3, .clip = {max_norm}, .loss_scale = scale}};
  apart::seen out;
  std::vector<decltype(t.step(samples_of(0, false).x, samples_of(0, false).y))> losses;
  for (std::uint32_t step = 0; step < 12; ++step) {
    const samples s = samples_of(step, overflows_at(step)), more = samples_of(100 + step, false);
    if (accumulates) t.accumulate(more.x, more.y);
    losses.push_back(t.step(s.x, s.y));
    if (!looks) continue;
    out.add(t.gradient_norm());
    t.for_each_gradient([&](const auto& q) { out.add_all(q.numbers); });
    look_at(t, out);
  }
  for (const auto& loss : losses) out.add(double{loss});
  look_at(t, out);
  out.add(t.gradient_norm());
  return out;
}
template <class Optimizer>
void same_bits(const Optimizer& optimizer, const detail::loss_scaling& scale) {
  for (const double max_norm : {0.0, 0.05})
    for (const bool looks : {false, true})
      for (const bool accumulates : {false, true}) {
        CAPTURE(max_norm);
        CAPTURE(looks);
        CAPTURE(accumulates);
        const apart::seen expected = run<cpu>(optimizer, scale, max_norm, looks, accumulates);
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
          apart::device::seed = seed;
          CHECK((run<apart::device>(optimizer, scale, max_norm, looks, accumulates) == expected));
        }
      }
}

} // namespace

TEST_CASE("loss scaling, memory apart: the device decides as the host of a cpu does, for every optimizer") {
  same_bits(AdamW{.learning_rate = 0.01}, growing);
  same_bits(SGD{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.5}, growing);
  same_bits(SGD{.learning_rate = 0.1}, fixed_scale{1000});
  layer_groups<AdamW> groups{.others = {.learning_rate = 0.01}, .groups = {{"2", {.learning_rate = 0.02}}}};
  same_bits(groups, dynamic_scale{.init_scale = 300, .growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 1});
  CHECK(apart::device::unfinished == 0);
}

TEST_CASE("loss scaling, memory apart: bfloat16") {
  const auto of = [](auto on) {
    return run<typename decltype(on)::type, AdamW, bfloat16>(AdamW{.learning_rate = 0.01}, growing, 0.05, false, true);
  };
  CHECK((of(std::type_identity<apart::device>{}) == of(std::type_identity<cpu>{})));
}

TEST_CASE("loss scaling, memory apart: losses and gradients of the program, and input gradients") {
  using Model = with_input_gradient<Plain>;
  const auto numbers = [](auto on, const detail::loss_scaling& scale) {
    training<typename decltype(on)::type, AdamW, Model> t{AdamW{}, {.seed = 3, .loss_scale = scale}};
    apart::seen out;
    const samples s(6, 1);
    const std::vector<float> given(6 * classes, 0.125F);
    const auto own_loss = [](const auto& outputs, const auto& gradient) {
      for (std::size_t i = 0; i < outputs.size(); ++i) gradient.data()[i] = outputs[i] / 8;
      return 1.5;
    };
    out.add(double{t.step(s.x, s.y)});
    out.add_all(t.input_gradient());
    t.step_from(s.x, given);
    out.add_all(t.input_gradient());
    out.add(double{t.step_by(s.x, own_loss)});
    out.add_all(t.input_gradient());
    out.add(t.checksum());
    out.add(double{t.accumulate(s.x, s.y)});
    out.add_all(t.input_gradient());
    out.add_all(t.input_gradient());
    t.drop_micro_batches();
    return out;
  };
  const apart::seen expected = numbers(std::type_identity<cpu>{}, {});
  CHECK((numbers(std::type_identity<cpu>{}, growing) == expected)); // powers of two
  CHECK((numbers(std::type_identity<apart::device>{}, growing) == expected));
  CHECK((numbers(std::type_identity<apart::device>{}, fixed_scale{8}) == expected));
}

namespace {

constexpr int ranks = 3;

// Steps of several ranks, of which one overflows; another has one step fewer.
template <class Rank, class Device>
std::vector<apart::seen> run_ranks(bool looks) {
  using type = trainer<ddp<Plain, Rank, bucket_bytes<256>>, CrossEntropyLoss, AdamW, batch<6>, float, Device>;
  std::vector<apart::seen> found(ranks);
  threads{ranks}.run([&](threads::rank& rank) {
    const auto with = [&](auto& joined) {
      type t{joined, AdamW{}, {.seed = 3, .check_every = 1, .clip = {0.5}, .loss_scale = growing}};
      apart::seen& out = found[static_cast<std::size_t>(rank.rank())];
      for (std::uint32_t step = 0; step < (rank.rank() == 2 ? 6U : 7U); ++step) {
        const samples s = samples_of(10 * step + static_cast<std::uint32_t>(rank.rank()), step == 2 && rank.rank() == 1);
        t.step(s.x, s.y);
        if (looks && rank.rank() != 1) out.add(t.loss_scale()); // hosts need not ask at the same times
      }
      t.join();
      if (rank.rank() == 1 || !looks) out = {};
      look_at(t, out);
      CHECK((t.steps() == 7 && t.skipped_updates() == 1));
    };
    if constexpr (std::is_same_v<Rank, threads::rank>) with(rank);
    else {
      Rank joined(rank);
      with(joined);
    }
  });
  return found;
}

} // namespace

TEST_CASE("loss scaling, memory apart: an overflow on one of three ranks skips the update on all") {
  for (const bool looks : {false, true}) {
    const std::vector<apart::seen> expected = run_ranks<threads::rank, cpu>(looks);
    CHECK((run_ranks<apart::ranks<threads::rank>, apart::device>(looks) == expected));
  }
}

TEST_CASE("loss scaling, memory apart: a rank whose scale parts is found two steps later") {
  using joined_type = apart::ranks<threads::rank>;
  using type = trainer<ddp<Plain, joined_type>, CrossEntropyLoss, AdamW, batch<6>, float, apart::device>;
  std::vector<std::string> texts(ranks);
  threads{ranks}.run([&](threads::rank& rank) {
    joined_type joined(rank);
    type t{joined, AdamW{}, {.loss_scale = growing}};
    if (rank.rank() == 1) {
      auto& parts = t.inside();
      parts.scale.send(parts.compute(), {.scale = 512, .growth_tracker = 1}, parts.waiting());
    }
    texts[static_cast<std::size_t>(rank.rank())] = text_of([&] {
      for (std::uint32_t step = 0; step < 5; ++step) {
        const samples s = samples_of(step, false);
        t.step(s.x, s.y);
      }
    });
  });
  for (const std::string& text : texts) CHECK_MESSAGE(has(text, "expected the same numbers of the loss"), text);
}

TEST_CASE("loss scaling, memory apart: synchronize() gives every rank the scale that the root's device has") {
  using joined_type = apart::ranks<threads::rank>;
  using type = trainer<ddp<Plain, joined_type>, CrossEntropyLoss, AdamW, batch<6>, float, apart::device>;
  threads{ranks}.run([&](threads::rank& rank) {
    joined_type joined(rank);
    type t{joined, AdamW{}, {.loss_scale = growing}};
    auto& parts = t.inside();
    const detail::loss_scale_state own{.scale = 2.0 + rank.rank(), .growth_tracker = 1};
    parts.scale.send(parts.compute(), own, parts.waiting());
    t.synchronize(1);
    const detail::loss_scale_state root{.scale = 3, .growth_tracker = 1};
    CHECK((parts.counters.loss_scale == root && parts.scale.fetched(parts.compute(), parts.waiting()).state == root));
  });
}

TEST_CASE("loss scaling, memory apart: a run that is resumed in its middle has the bits of one that is not") {
  const folder here;
  const std::string file = here.path / "a.state";
  using type = training<apart::device>;
  constexpr auto options = [] { return type::options{.seed = 3, .clip = {0.5}, .loss_scale = growing}; };
  apart::seen expected, found;
  const auto step = [](type& t, std::uint32_t number) {
    const samples s = samples_of(number, overflows_at(number));
    t.step(s.x, s.y);
  };
  type whole{AdamW{}, options()};
  for (std::uint32_t number = 0; number < 10; ++number) {
    step(whole, number);
    if (number == 4) save_state(whole, file); // the last update was skipped, and so was the one before
  }
  look_at(whole, expected);
  type resumed{AdamW{}, options()};
  load_state(resumed, file);
  CHECK((resumed.steps() == 5 && resumed.skipped_updates() == 3));
  for (std::uint32_t number = 5; number < 10; ++number) step(resumed, number);
  look_at(resumed, found);
  CHECK((found == expected));
  // A cpu goes on with it too, and the other way round.
  training<cpu> other{AdamW{}, {.seed = 3, .clip = {0.5}, .loss_scale = growing}};
  load_state(other, file);
  CHECK((other.loss_scale() == 128 && other.skipped_updates() == 3));
}

TEST_CASE("loss scaling, memory apart: too many skips in a row are an error, at the latest two steps later") {
  training<apart::device> t{AdamW{}, {.loss_scale = dynamic_scale{.max_skips = 3}}};
  const samples bad = samples_of(0, true), good = samples_of(0, false);
  for (int step = 0; step < 3; ++step) t.step(bad.x, bad.y);
  t.step(good.x, good.y);
  t.wait();
  for (int step = 0; step < 3; ++step) t.step(bad.x, bad.y);
  const std::uint64_t before = t.checksum();
  const std::string text = text_of([&] {
    for (int step = 0; step < 3; ++step) t.step(bad.x, bad.y);
  });
  CHECK(has(text, "expected finite gradients in one of 4 steps, found none, up to step 8"));
  CHECK(has(text, "down to 512"));
  CHECK(has(text_of([&] { t.step(good.x, good.y); }), "found none, up to step 8")); // until synchronize()
  t.synchronize();
  CHECK(t.checksum() == before);
  t.step(good.x, good.y);
  CHECK(t.checksum() != before);
}

namespace {

// An optimizer that does not ask.
struct halving {
  double learning_rate = 1;
  static constexpr std::size_t states() { return 0; }
  template <class Queue, class T>
  void update(Queue& queue, const update_call<T>& call) const {
    elementwise(queue, call.count, detail::sum_of_two{}, call.parameters, static_cast<const T*>(call.parameters), call.gradients);
  }
};

} // namespace

TEST_CASE("loss scaling, memory apart: an optimizer that does not ask, and the memory of a trainer") {
  const std::string text = text_of([] { training<apart::device, halving> t{halving{}, {.loss_scale = fixed_scale{8}}}; });
  CHECK(has(text, "static constexpr bool takes_decision = true; found "));
  CHECK(has(text, "halving"));
  const training<cpu, halving> here{halving{}, {.loss_scale = fixed_scale{8}}}; // the host decides
  using type = training<apart::device>;
  apart::device shared({});
  type t{shared, AdamW{}, {.loss_scale = fixed_scale{8}}};
  CHECK(shared.counted.bytes == training_bytes<type>().device());
}

} // namespace trainer_loss_scale_apart_tests
