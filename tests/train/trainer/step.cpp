// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/device/cores.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../net/plain.hpp"
#include "../training.hpp"

namespace trainer_step_tests {

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

template <class Model, std::size_t Batch = 6, class T = float>
using trainer_of = trainer<Model, CrossEntropyLoss, SGD, batch<Batch>, T>;

// The results of three steps: the second has a partial batch, the third two micro-batches.
struct trace {
  std::vector<double> losses;
  std::vector<float> gradients, state;
  std::uint64_t checksum = 0;
  bool operator==(const trace&) const = default;
};
template <class Model, std::size_t Batch = 6>
trace train() {
  trainer_of<Model, Batch> t{testing::momentum, {.seed = 3}};
  const samples a(6, 1), b(4, 2), c(6, 3), d(1, 4);
  trace out;
  out.losses = {t.step(a.x, a.y), t.step(b.x, b.y), t.accumulate(d.x, d.y), t.step(c.x, c.y)};
  out.gradients.assign(t.gradients().begin(), t.gradients().end());
  out.state.assign(t.buffers().begin(), t.buffers().end());
  out.checksum = t.checksum();
  CHECK(t.steps() == 3);
  return out;
}

} // namespace

TEST_CASE("trainer: the gradients of a step are the oracle's") {
  trainer_of<checkpoint<sqrt_n, Net>, 6, double> t{SGD{.learning_rate = 0}, {.seed = 3}};
  auto plain_net = plain::make_network<Net, double>(decltype(t)::plan::inputs, decltype(t)::plan::constants);
  t.for_each([&](const types::named_parameter<double>& p) {
    const plain::bytes& own = plain_net.leaves.at(p.leaf)->parameters.at(p.index);
    std::memcpy(own.data(), p.numbers.data(), p.numbers.size_bytes());
  });
  const samples<double> s(5, 1);
  const double loss = t.step(s.x, s.y);

  cpu::queue q{1};
  const plain::walk w{q, 5, pass::forward, {.seed = 3, .step = 0, .position = 0}};
  plain::values input;
  input.emplace_back(s.x.size() * sizeof(double));
  std::memcpy(input[0].data(), s.x.data(), input[0].size());
  const auto output = plain_net.forward(w, std::move(input));
  const plain::bytes gradient(output.size());
  double plain_loss = 0;
  loss_call<double, int> call{5,
                              &t.output_shape,
                              reinterpret_cast<const double*>(output.data()),
                              s.y.data(),
                              reinterpret_cast<double*>(gradient.data()),
                              &plain_loss};
  CrossEntropyLoss{}.run(q, call);
  plain_net.backward(w, gradient);
  CHECK(loss == plain_loss);

  std::vector<double> gradients(t.gradients().begin(), t.gradients().end());
  detail::for_each_parameter(detail::program_of<decltype(t)::plan, double, cpu::queue>, std::span(gradients), t.buffers(),
                             [&](const types::named_parameter<double>& p) {
                               const plain::bytes& own = plain_net.leaves.at(p.leaf)->gradients.at(p.index);
                               CAPTURE(p.name);
                               CHECK(std::memcmp(p.numbers.data(), own.data(), p.numbers.size_bytes()) == 0);
                             });
}

TEST_CASE("trainer: gradients are the slopes of the loss") {
  using Smooth = Sequential<Linear<4, 6>, Tanh, Residual<LayerNorm<6>, Linear<6, 6>>, GELU,
                            checkpoint<recompute_all, Residual<Linear<6, 5>, Tanh, Linear<5, 6>>>, Linear<6, 3>>;
  trainer<checkpoint<every<2>, Smooth>, MSELoss, SGD, batch<4>, double> t{SGD{.learning_rate = 0}, {.seed = 3}};
  std::vector<double> x(12), y(9); // three samples
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<double>({1, 1, 1}, i) - 1;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = ops::random_uniform<double>({1, 1, 2}, i);
  t.step(x, y);
  const std::vector<double> gradients(t.gradients().begin(), t.gradients().end());
  constexpr double h = 1e-5;
  std::size_t checked = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    double& p = t.parameters()[i];
    const double kept = p;
    p = kept + h;
    const double above = t.evaluate_loss(x, y);
    p = kept - h;
    const double below = t.evaluate_loss(x, y);
    p = kept;
    const double slope = (above - below) / (2 * h);
    CHECK(std::abs(slope - gradients[i]) < 1e-8);
    checked += std::abs(slope) > 1e-4;
  }
  CHECK(checked > 80); // of 162; the rest is padding or small
}

TEST_CASE("trainer: a policy changes no bit of losses, gradients, state and parameters") {
  const trace want = train<Net>();
  CHECK(train<checkpoint<recompute_all, Net>>() == want);
  CHECK(train<checkpoint<every<2>, Net>>() == want);
  CHECK(train<checkpoint<sqrt_n, Net>>() == want);
#ifdef CAIRN_LONG_TESTS
  CHECK(train<checkpoint<every<1>, Net>>() == want);
  CHECK(train<checkpoint<every<3>, Net>>() == want);
#endif
  CHECK(train<checkpoint<at<2, 4>, Net>>() == want);
}

TEST_CASE("trainer: the batch is a capacity and changes no bit") { CHECK(train<Net, 6>() == train<Net, 33>()); }

TEST_CASE("trainer: state is written once a step and micro-batch, under every policy") {
  const trace recomputed = train<checkpoint<recompute_all, Net>>();
  CHECK(recomputed.state.at(0) == 4); // four forwards of four micro-batches
  CHECK(recomputed.state.size() == 32);
  CHECK(train<checkpoint<sqrt_n, Repeat<1, Net>>>().state == recomputed.state);
}

TEST_CASE("trainer: threads inside a rank change no bit") {
  using Wide = Sequential<Linear<testing::features, 256>, ReLU, Residual<Linear<256, 256>, ReLU>, LayerNorm<256>, Dropout<>,
                          Linear<256, testing::classes>>;
  const samples s(200, 1);
  const auto run = [&](std::size_t threads) {
    trainer_of<Wide, 200> t{testing::momentum, {.seed = 3, .threads = threads, .clip = {1}}};
    CHECK(t.threads() == (threads > 0 ? threads : detail::usable_cores()));
    t.step(s.x, s.y);
    t.step(s.x, s.y);
    return t.checksum();
  };
  const std::uint64_t one = run(1);
  CHECK(run(2) == one);
  CHECK(run(3) == one);
  CHECK(run(0) == one); // one thread for each core
}

TEST_CASE("trainer: a Flatten at the front takes no memory and changes no bit") {
  using Front =
      Sequential<Input<2, testing::features / 2>, Flatten, Linear<testing::features, 24>, ReLU, Linear<24, testing::classes>>;
  using Rest = Sequential<Linear<testing::features, 24>, ReLU, Linear<24, testing::classes>>;
  static_assert(peak_activation_bytes<Front, 6> == peak_activation_bytes<Rest, 6>);
  trainer_of<Front> front{testing::momentum, {.seed = 3}};
  trainer_of<Rest> rest{testing::momentum, {.seed = 4}};
  CHECK(front.arena().size() == rest.arena().size());
  std::ranges::copy(rest.parameters(), front.parameters().begin());
  const samples s(6, 1);
  for (int step = 0; step < 3; ++step) CHECK(front.step(s.x, s.y) == rest.step(s.x, s.y));
  CHECK(front.checksum() == rest.checksum());
  const auto a = front.evaluate(s.x), b = rest.evaluate(s.x);
  CHECK(std::ranges::equal(a, b));
}

TEST_CASE("trainer: it learns") {
  trainer_of<Sequential<Linear<testing::features, 32>, ReLU, Linear<32, testing::classes>>, 32> t{
      SGD{.learning_rate = 0.3, .momentum = 0.9}, {.seed = 1}};
  const samples s(32, 1);
  const double first = t.evaluate_loss(s.x, s.y);
  for (int i = 0; i < 100; ++i) t.step(s.x, s.y);
  CHECK(t.evaluate_loss(s.x, s.y) < first / 10);
}

TEST_CASE("trainer: the learning rate may change from step to step") {
  const samples s(6, 1);
  trainer_of<Net> t{SGD{.learning_rate = 0.25}, {.seed = 3}};
  CHECK(t.learning_rate() == 0.25);
  t.learning_rate(0);
  const std::uint64_t before = t.checksum();
  t.step(s.x, s.y);
  CHECK(t.checksum() == before);
  t.learning_rate(0.5);
  std::vector<float> want(t.parameters().begin(), t.parameters().end());
  t.step(s.x, s.y);
  for (std::size_t i = 0; i < want.size(); ++i)
    CHECK(t.parameters()[i] == doctest::Approx(want[i] - 0.5F * t.gradients()[i]).epsilon(1e-5));
}

TEST_CASE("trainer: the checksum tells one bit") {
  trainer_of<Net> t{testing::momentum, {.seed = 3}};
  const std::uint64_t before = t.checksum();
  for (const std::size_t i : {std::size_t{0}, t.parameters().size() / 2 + 1, t.parameters().size() - 1}) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &t.parameters()[i], 4);
    bits ^= 1;
    std::memcpy(&t.parameters()[i], &bits, 4);
    CHECK(t.checksum() != before);
    bits ^= 1;
    std::memcpy(&t.parameters()[i], &bits, 4);
    CHECK(t.checksum() == before);
  }
  CHECK(trainer_of<Net>{testing::momentum, {.seed = 3}}.checksum() == before);
  CHECK(trainer_of<Net>{testing::momentum, {.seed = 4}}.checksum() != before);
}

TEST_CASE("trainer: gradients are clipped by the norm of all of them") {
  const samples s(6, 1);
  trainer_of<Net> free{SGD{.learning_rate = 1}, {.seed = 3}};
  trainer_of<Net> clipped{SGD{.learning_rate = 1}, {.seed = 3, .clip = {0.125}}};
  trainer_of<Net> loose{SGD{.learning_rate = 1}, {.seed = 3, .clip = {1e6}}};
  const std::vector<float> start(free.parameters().begin(), free.parameters().end());
  free.step(s.x, s.y);
  clipped.step(s.x, s.y);
  loose.step(s.x, s.y);
  double norm = 0, moved = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    norm += double{free.gradients()[i]} * free.gradients()[i];
    moved += std::pow(double{clipped.parameters()[i]} - start[i], 2);
  }
  REQUIRE(std::sqrt(norm) > 0.2);
  CHECK(clipped.gradient_norm() == doctest::Approx(std::sqrt(norm)).epsilon(1e-6));
  CHECK(std::sqrt(moved) == doctest::Approx(0.125).epsilon(1e-4));
  CHECK(loose.checksum() == free.checksum());
}

TEST_CASE("trainer: every place that is discarded may be overwritten at once") {
  trainer_of<checkpoint<sqrt_n, Net>> t{testing::momentum, {.seed = 3}};
  t.on_discard({[](void*, std::byte* first, std::size_t count) { std::memset(first, 0xFF, count); }, nullptr});
  const samples a(6, 1), b(4, 2), c(6, 3), d(1, 4);
  t.step(a.x, a.y);
  t.step(b.x, b.y);
  t.accumulate(d.x, d.y);
  t.step(c.x, c.y);
  CHECK(t.checksum() == train<Net>().checksum);
}

TEST_CASE("trainer: a step touches the planned peak, to the line") {
  using Model = checkpoint<every<2>, Sequential<Linear<testing::features, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 16>, ReLU,
                                                Linear<16, testing::classes>>>;
  trainer_of<Model, 8> t{testing::momentum, {.seed = 3}};
  REQUIRE(t.arena().size() == peak_activation_bytes<Model, 8>);
  const auto pattern = [](std::size_t i) { return static_cast<std::byte>((i * 2654435761U) >> 13); };
  for (std::size_t i = 0; i < t.arena().size(); ++i) t.arena()[i] = pattern(i);
  const samples s(8, 1);
  t.step(s.x, s.y);
  std::size_t touched = 0;
  for (std::size_t line = 0; line < t.arena().size(); line += detail::alignment) {
    bool same = true;
    for (std::size_t i = line; i < line + detail::alignment; ++i) same = same && t.arena()[i] == pattern(i);
    touched += same ? 0 : detail::alignment;
  }
  CHECK(touched == peak_activation_bytes<Model, 8>);
}

} // namespace trainer_step_tests
