// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/step/training.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>

#include "../apart_ops.hpp"
#include "../training.hpp"

namespace step_training_tests {

using namespace cairn;

namespace {

using Plain = Sequential<Linear<testing::features, 4>>;
template <class Device>
using small = trainer<Plain, CrossEntropyLoss, SGD, batch<6>, float, Device>;

} // namespace

TEST_CASE("training: a trainer's bytes are its parts, which are told on every device") {
  using type = small<cpu>;
  constexpr std::size_t parameters = type::plan::parameter_block * sizeof(float);
  constexpr types::training_memory one = training_bytes<type>();
  static_assert(one.weights == parameters);
  static_assert(one.gradients == 2 * parameters); // and those of one stage in a micro-batch
  static_assert(one.states == 0);                 // no momentum
  static_assert(training_bytes<type>({.states = 1}).states == parameters);
  static_assert(one.activations == type::plan::trained::arena);
  static_assert(one.results == 3 * 64); // of two micro-batches, and room for class weights
  static_assert(training_bytes<small<apart::device>>().batches > one.batches);
}

TEST_CASE("training: the arena can be filled and looked at on every device, and a step writes where it does on a cpu") {
  const auto untouched_by_a_step = []<class Device>(std::type_identity<Device>) {
    small<Device> t{SGD{}};
    const testing::samples<> s(6, 1);
    t.with_arena([&](std::span<std::byte> arena) {
      CHECK(arena.size() == t.arena_bytes());
      std::ranges::fill(arena, std::byte{0xA5});
    });
    t.step(s.x, s.y);
    std::vector<std::size_t> untouched;
    t.with_arena([&](std::span<const std::byte> arena) {
      for (std::size_t i = 0; i < arena.size(); ++i)
        if (arena[i] == std::byte{0xA5}) untouched.push_back(i);
      CHECK(untouched.size() < arena.size());
    });
    return untouched;
  };
  const auto expected = untouched_by_a_step(std::type_identity<cpu>{});
  CHECK(!expected.empty()); // the padding after a buffer's last element
  CHECK(untouched_by_a_step(std::type_identity<apart::device>{}) == expected);
}

TEST_CASE("training: a device that does not come to an end is given up after the deadline") {
  const std::size_t before = apart::device::unfinished;
  {
    apart::device device(types::device_options{});
    small<apart::device> t{device, SGD{}, {.deadline = std::chrono::milliseconds(50)}};
    const testing::samples<> s(6, 1);
    t.step(s.x, s.y);
    device.transfers().wait({0, static_cast<std::size_t>(-1)}); // for an op that never comes
    t.step(s.x, s.y);
    CHECK_THROWS_WITH_AS(t.wait(), doctest::Contains("expected its work to be done within 50 ms"), deadline_error);
  }
  CHECK(apart::device::unfinished == before + 1);
  apart::device::unfinished = before; // other tests check it too
}

TEST_CASE("training: the micro-batch after the 65,536th draws no numbers of the next step") {
  using Net = Sequential<Input<8>, Dropout<percent<50>>, Linear<8, 1>>;
  trainer<Net, MSELoss, SGD, batch<1>> t{SGD{.learning_rate = 0}, {.seed = 4}};
  const std::vector<float> x(8, 1.0F), y(1, 0.5F);
  std::vector<double> beyond, next;
  for (int i = 0; i < 65536 + 16; ++i) {
    const double loss = t.accumulate(x, y);
    if (i >= 65536) beyond.push_back(loss);
  }
  t.step(x, y);
  for (int i = 0; i < 16; ++i) next.push_back(t.accumulate(x, y));
  CHECK(beyond != next);
}

} // namespace step_training_tests
