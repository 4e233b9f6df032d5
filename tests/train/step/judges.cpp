// SPDX-License-Identifier: MIT
// long to compile
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/step/judges.hpp>
#include <cairn/train/trainer.hpp>

#include "../apart.hpp"
#include "../apart_ops.hpp"
#include "../training.hpp"

namespace judges_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::Net;
using testing::samples;

namespace {

// The last layer's backward reads its output, so the gradient needs memory of its own, unlike in a network that ends with Linear.
using Read = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>, Tanh>;

// The mean of squares by hand, as MSELoss computes it. It writes the gradient, then reads the output, which must still be there.
template <class T>
auto squares(const std::vector<T>& targets) {
  return [&targets](tensor_view<const T> outputs, tensor_view<T> gradient) {
    REQUIRE(outputs.size() == targets.size());
    REQUIRE(gradient.size() == targets.size());
    const T factor = static_cast<T>(2.0 / static_cast<double>(targets.size()));
    double sum = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      CHECK(gradient[i] == 0);
      gradient[i] += factor * (outputs[i] - targets[i]);
    }
    for (std::size_t i = 0; i < targets.size(); ++i)
      sum += static_cast<double>((outputs[i] - targets[i]) * (outputs[i] - targets[i]));
    return sum / static_cast<double>(targets.size());
  };
}

template <class T = float>
std::vector<T> targets_for(std::size_t rows, std::uint32_t stream) {
  std::vector<T> all(rows * classes);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = ops::random_uniform<T>(types::random_key{.seed = 4, .step = 0, .position = stream}, i) - T{0.5};
  return all;
}

template <class Model, class T = float, class Device = cpu>
using training = trainer<Model, MSELoss, SGD, batch<6>, T, Device>;

// Checks that steps by the loss and by the function have the same bits.
template <class Model, class T = float, class Device = cpu>
void same_steps(double max_norm = 0) {
  using type = training<Model, T, Device>;
  using number = accumulated<T>;
  typename type::options given{.seed = 3};
  if constexpr (!type::fused) given.clip.max_norm = max_norm;
  type by_loss{testing::momentum, given}, by_function{testing::momentum, given};
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::size_t rows = step == 1 ? 4 : 6;
    const samples<number> s(rows, step);
    const std::vector<number> targets = targets_for<number>(rows, step);
    if constexpr (!type::fused)
      if (step > 1) {
        const double expected = by_loss.accumulate(s.x, targets);
        CHECK(double(by_function.accumulate_by(s.x, squares(targets))) == doctest::Approx(expected).epsilon(1e-6));
      }
    const double expected = by_loss.step(s.x, targets);
    CHECK(double(by_function.step_by(s.x, squares(targets))) == doctest::Approx(expected).epsilon(1e-6));
    CHECK(by_function.checksum() == by_loss.checksum());
  }
  CHECK(by_function.steps() == 4);
  if (max_norm > 0) CHECK(by_function.gradient_norm() == by_loss.gradient_norm());
}

} // namespace

TEST_CASE("judges: a step by a function has the bits of a step by the loss") {
  same_steps<Net>();
  same_steps<Net>(0.01);
  same_steps<checkpoint<recompute_all, Net>>();
  same_steps<Read, double>();
  same_steps<fused_update<Read>>();
}

TEST_CASE("judges: a step by a function of a network of bfloat16") { same_steps<Read, bfloat16>(); }

TEST_CASE("judges: a step by a function on a device whose memory the host cannot read") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    apart::device::seed = seed;
    same_steps<Read, float, apart::device>();
    same_steps<Read, bfloat16, apart::device>();
    same_steps<fused_update<Read>, float, apart::device>();
  }
  CHECK(apart::device::unfinished == 0);
}

TEST_CASE("judges: ranks whose steps are judged by a function average as micro-batches do") {
  training<Read> alone{testing::momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step)
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const samples s(6, 2 * step + rank);
      const auto targets = targets_for(6, 2 * step + rank);
      if (rank == 0) alone.accumulate(s.x, targets);
      else alone.step(s.x, targets);
    }
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Read, threads::rank>, MSELoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const auto stream = 2 * step + static_cast<std::uint32_t>(rank.rank());
      const auto targets = targets_for(6, stream);
      t.step_by(samples(6, stream).x, squares(targets));
    }
    CHECK(t.checksum() == alone.checksum());
  });
}

TEST_CASE("judges: what the function throws leaves the parameters as they were, and the next step is made") {
  const samples s(6, 1);
  const auto targets = targets_for(6, 1);
  const auto fails = [](tensor_view<const float>, tensor_view<float> gradient) -> double {
    gradient[0] = 1;
    throw std::runtime_error("no loss today");
  };
  training<Read> t{testing::momentum, {.seed = 3}}, other{testing::momentum, {.seed = 3}};
  const std::uint64_t before = t.checksum();
  CHECK_THROWS_WITH_AS(t.step_by(s.x, fails), "no loss today", std::runtime_error);
  CHECK(t.checksum() == before);
  CHECK(t.steps() == 0);
  t.step_by(s.x, squares(targets)); // its gradient begins with zeros
  other.step(s.x, targets);
  CHECK(t.checksum() == other.checksum());
  CHECK(testing::has(testing::text_of([&] { t.step_by(std::vector<float>(7 * features), squares(targets)); }),
                     "trainer::step_by, inputs"));

  // On one of two ranks: the other reports it like any failed step, and has changed nothing either.
  std::array<std::uint64_t, 2> first{}, last{};
  std::array<std::string, 2> texts;
  CHECK_THROWS(threads{2}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    trainer<ddp<Read, threads::rank>, MSELoss, SGD, batch<6>> own{rank, testing::momentum, {.seed = 3}};
    first[r] = own.checksum();
    try {
      if (r == 0) own.step_by(s.x, fails);
      else own.step_by(s.x, squares(targets));
    } catch (const std::exception& thrown) {
      texts[r] = thrown.what();
      last[r] = own.checksum();
      throw;
    }
  }));
  CHECK(first == last);
  CHECK(texts[0] == "no loss today");
  CHECK(testing::has(texts[1], "no loss today"));
}

TEST_CASE("judges: a function that calls its own trainer is told so, and has changed nothing") {
  const samples s(6, 1), others(3, 2);
  const auto targets = targets_for(6, 1), other_targets = targets_for(3, 2);
  const auto check = [&]<class Trainer>(Trainer& t, Trainer& alone) {
    std::string faults;
    const auto inside = [&](const auto& call) {
      const auto f = [&](tensor_view<const float> outputs, tensor_view<float> gradient) {
        faults = testing::text_of(call); // the function goes on
        return squares(targets)(outputs, gradient);
      };
      t.accumulate_by(s.x, f);
      alone.accumulate(s.x, targets);
      CHECK_MESSAGE(testing::has(faults,
                                 "trainer: expected the function of step_by() or accumulate_by() to return its loss before "
                                 "the trainer is called again, found that it calls the trainer"),
                    faults);
      faults.clear();
      CHECK(double(t.step_by(s.x, f)) == doctest::Approx(double(alone.step(s.x, targets))).epsilon(1e-6));
      CHECK(testing::has(faults, "found that it calls the trainer, whose step is half made; make that call before the step"));
      CHECK(t.checksum() == alone.checksum());
    };
    const auto more = squares(other_targets);
    inside([&] { t.step(others.x, other_targets); });
    inside([&] { t.accumulate(others.x, other_targets); });
    inside([&] { t.step_by(others.x, more); });
    inside([&] { t.accumulate_by(others.x, more); });
    inside([&] { t.step_from(others.x, other_targets); });
    inside([&] { t.forward(others.x); });
    inside([&] { t.evaluate(others.x); });
    inside([&] { t.evaluate_loss(others.x, other_targets); });
    inside([&] { t.drop_micro_batches(); });
    inside([&] { t.synchronize(); });
    inside([&] { t.join(); });
    CHECK(t.steps() == 11);

    // If the function does not catch the error, the step fails; the next one is made.
    const auto nested = [&](tensor_view<const float>, tensor_view<float>) { return double(t.step(others.x, other_targets)); };
    CHECK(testing::has(testing::text_of([&] { t.step_by(s.x, nested); }), "found that it calls the trainer"));
    CHECK(t.checksum() == alone.checksum());
    CHECK(t.steps() == 11);
    t.step_by(s.x, squares(targets));
    alone.step(s.x, targets);
    CHECK(t.checksum() == alone.checksum());
    // Calls that only read are allowed.
    const auto looks = [&](tensor_view<const float> outputs, tensor_view<float> gradient) {
      CHECK(t.parameters().size() == alone.parameters().size());
      CHECK(t.checksum() == alone.checksum());
      CHECK(t.steps() == 12);
      return squares(targets)(outputs, gradient);
    };
    t.step_by(s.x, looks);
  };
  training<Read> t{testing::momentum, {.seed = 3}}, alone{testing::momentum, {.seed = 3}};
  check(t, alone);
}

TEST_CASE("judges: a loss that is not finite is an error in a step by a function too") {
  const samples s(6, 1);
  training<Read> t{testing::momentum, {.seed = 3, .check_loss = true}};
  const std::uint64_t before = t.checksum();
  const auto infinite = [](tensor_view<const float>, tensor_view<float>) { return 1.0 / 0.0; };
  CHECK(testing::has(testing::text_of([&] { t.step_by(s.x, infinite); }), "expected a finite loss, found inf"));
  CHECK(t.checksum() == before);
}

} // namespace judges_tests
