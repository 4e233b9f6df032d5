// SPDX-License-Identifier: MIT
// A trainer on a device whose memory the host cannot read and whose work is done later computes the bits of one on a cpu.
//
// long to compile
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>

#include "../apart_ops.hpp"
#include "../apart_program.hpp"
#include "../training.hpp"

namespace trainer_apart_tests {

using namespace cairn;

namespace {

template <class Model, class Device, class T = float>
apart::seen numbers_on(bool clips = false) {
  using type = trainer<Model, CrossEntropyLoss, AdamW, batch<6>, T, Device>;
  apart::seen out;
  typename type::options given{.seed = 5};
  if constexpr (!type::fused) given.clip.max_norm = clips ? 0.05 : 0;
  type t{AdamW{.learning_rate = 0.02}, std::move(given)};
  apart::use(t, out, 0);
  return out;
}

// Checks that the bits do not depend on the order in which the device's ops run.
template <class Model, class T = float>
void same_bits() {
  for (const bool clips : {false, true}) {
    const apart::seen expected = numbers_on<Model, cpu, T>(clips);
    CHECK(expected.bits.size() > 20);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      apart::device::seed = seed;
      CHECK((numbers_on<Model, apart::device, T>(clips) == expected));
    }
  }
  CHECK(apart::device::unfinished == 0);
}

} // namespace

TEST_CASE("trainer, memory apart: every number that a program sees has a cpu's bits") {
  same_bits<checkpoint<sqrt_n, apart::Net>>();
  same_bits<fused_update<checkpoint<recompute_all, apart::Net>>>();
#ifdef CAIRN_LONG_TESTS
  same_bits<apart::Net>();
  same_bits<checkpoint<recompute_all, apart::Net>, double>();
  same_bits<checkpoint<budget_fraction<85>, apart::Net>>();
  same_bits<checkpoint<revolve<2>, apart::Net>>();
  same_bits<fused_update<apart::Net>>();
  same_bits<fused_update<checkpoint<sqrt_n, apart::Net>>, double>();
#endif
}

namespace {

using Plain = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;
template <class Device, class Loss = CrossEntropyLoss>
using small = trainer<Plain, Loss, AdamW, batch<6>, float, Device>;

} // namespace

TEST_CASE("trainer, memory apart: a loss is read late, or never, and one that is too old is refused") {
  small<apart::device> t{AdamW{}};
  small<cpu> there{AdamW{}};
  const testing::samples<> s(6, 1);
  const types::step_loss first = t.step(s.x, s.y);
  const double expected = there.step(s.x, s.y);
  for (int i = 0; i < 1022; ++i) t.step(s.x, s.y);
  CHECK(double{first} == expected);
  CHECK(first.is_there());
  t.step(s.x, s.y);
  const types::step_loss last = t.step(s.x, s.y);
  CHECK_THROWS_WITH_AS(static_cast<void>(double{first}), doctest::Contains("read within 1024 micro-batches"), input_error);
  while (!last.is_there()) {
  }
  CHECK(double{last} < expected);
}

TEST_CASE("trainer, memory apart: class weights go to the device, others as well, and labels are checked before") {
  using weighted = CrossEntropyLoss;
  const weighted first{.ignore_index = 3, .weight = {1, 2, 3, 4}}, second{.label_smoothing = 0.1, .weight = {4, 3, 2, 1}};
  small<apart::device> t{AdamW{}, {.loss = first}};
  small<cpu> there{AdamW{}, {.loss = first}};
  testing::samples<> s(6, 1);
  CHECK(double{t.step(s.x, s.y)} == there.step(s.x, s.y));
  t.loss(second);
  there.loss(second);
  CHECK(double{t.step(s.x, s.y)} == there.step(s.x, s.y));
  s.y[4] = 4;
  CHECK_THROWS_WITH_AS(t.step(s.x, s.y), doctest::Contains("target 4 is 4, but the classes are 0 to 3"), input_error);
  s.y[4] = 0;
  CHECK(double{t.step(s.x, s.y)} == there.step(s.x, s.y));
  CHECK(t.checksum() == there.checksum());
}

TEST_CASE("trainer: a wrong label leaves no trace in a layer's state") {
  trainer<Sequential<BatchNorm1d<testing::features>, Linear<testing::features, 4>>, CrossEntropyLoss, AdamW, batch<6>> t{AdamW{}};
  testing::samples<> s(6, 1);
  t.step(s.x, s.y);
  const std::vector<float> before(t.buffers().begin(), t.buffers().end());
  s.y[2] = -1;
  CHECK_THROWS_AS(t.step(s.x, s.y), input_error);
  CHECK(std::vector<float>(t.buffers().begin(), t.buffers().end()) == before);
}

TEST_CASE("trainer, memory apart: check_loss waits, and finds what is not finite before anything is updated") {
  small<apart::device> t{AdamW{}, {.check_loss = true}};
  testing::samples<> s(6, 1);
  t.step(s.x, s.y);
  const std::uint64_t before = t.checksum();
  s.x[0] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(t.step(s.x, s.y), doctest::Contains("expected a finite loss"), error);
  CHECK(t.checksum() == before);
}

TEST_CASE("trainer, memory apart: the gradient of the input, and steps from one of the output") {
  using Model = with_input_gradient<Plain>;
  const auto numbers = []<class Device>(std::type_identity<Device>) {
    trainer<Model, CrossEntropyLoss, AdamW, batch<6>, float, Device> t{AdamW{}};
    apart::seen out;
    const testing::samples<> s(6, 1);
    t.accumulate(s.x, s.y);
    out.add_all(t.input_gradient());
    t.drop_micro_batches();
    std::vector<float> gradient(6 * testing::classes, 0.125F);
    t.step_from(s.x, gradient);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    out.add_all(t.input_gradient());
    out.add(t.checksum());
    return out;
  };
  CHECK((numbers(std::type_identity<apart::device>{}) == numbers(std::type_identity<cpu>{})));
}

TEST_CASE("trainer, memory apart: nothing is allocated after the constructor, and a device is shared") {
  apart::device shared({});
  {
    using type = small<apart::device>;
    type t{shared, AdamW{}};
    CHECK(shared.counted.bytes == training_bytes<type>().device());
    const auto before = shared.counted.calls + shared.counted.staging_calls;
    apart::seen out;
    apart::use(t, out, 0);
    CHECK(shared.counted.calls + shared.counted.staging_calls == before);
  }
  const std::size_t first = shared.counted.bytes;
  {
    using type = trainer<fused_update<with_input_gradient<apart::Net>>, MSELoss, SGD, batch<6>, double, apart::device>;
    type t{shared, SGD{.momentum = 0.9}};
    CHECK(shared.counted.bytes - first == training_bytes<type>({.states = 1}).device());
  }
  // Two trainers and a model on the same device.
  small<apart::device> a{shared, AdamW{}}, b{shared, AdamW{}, {.seed = 1}};
  model<Plain, batch<3>, float, apart::device> m{shared};
  const testing::samples<> s(3, 1);
  a.step(s.x, s.y);
  b.copy_parameters(a);
  m.copy_parameters(b);
  CHECK(m.checksum() == a.checksum());
  CHECK(testing::copy_of(m.evaluate(s.x)) == testing::copy_of(a.evaluate(s.x)));
}

TEST_CASE("trainer, memory apart: one rank's own wish to stop is heard in its next step, and in no other") {
  trainer<apart::Net, CrossEntropyLoss, SGD, batch<8>, float, apart::device> t{SGD{}};
  const testing::samples<> s(8, 0);
  t.step(s.x, s.y);
  CHECK_FALSE(t.stop_requested());
  t.request_stop();
  t.step(s.x, s.y);
  CHECK(t.stop_requested());
  t.step(s.x, s.y);
  CHECK_FALSE(t.stop_requested());
}

} // namespace trainer_apart_tests
