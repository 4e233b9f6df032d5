// SPDX-License-Identifier: MIT
// long to compile
// One body with two heads, a class and a box, and a loss for each: makes the same steps as step_by() with these losses.
#include <cairn/train/step/judged_by_losses.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/state/saved_state.hpp>
#include <cairn/train/trainer.hpp>

#include "../../data/folder.hpp"
#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../apart.hpp"
#include "../apart_ops.hpp"
#include "../quotients.hpp"
#include "../training.hpp"

namespace judged_by_losses_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using testing::text_of;

namespace {

constexpr std::size_t corners = 3; // of a box; with `classes` they fill no whole cache lines

using Body = Sequential<Linear<features, 8>, LayerNorm<8>, Tanh, Residual<Linear<8, 8>, ReLU>>;
// The box ends with Tanh, whose backward reads the output.
using Net = Sequential<Body, multi::Heads<Linear<8, classes>, Sequential<Linear<8, 8>, Tanh, Linear<8, corners>, Tanh>>>;
using Turned = Sequential<Body, multi::Heads<Sequential<LayerNorm<8>, Linear<8, corners>, Tanh>, Linear<8, classes>>>;
using both = multi::losses<CrossEntropyLoss, MSELoss>;
const both weighted{{CrossEntropyLoss{.label_smoothing = 0.1, .weight = {1, 2, 0.5, 1}}, MSELoss{}}, {0.5, 2}};

template <class Model, class T = float, class Device = cpu, class Losses = both>
using training = trainer<Model, Losses, SGD, batch<6>, T, Device>;

template <class T = float>
struct samples : testing::samples<T> {
  std::vector<T> boxes;

  samples(std::size_t rows, std::uint32_t stream) : testing::samples<T>(rows, stream), boxes(rows * corners) {
    for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i] = T(0.1) * T(this->y[i / corners]) - T(0.2) * T(i % corners);
  }
  auto targets() const { return multi::targets(this->y, boxes); }
};

// The same losses as a function of the outputs.
template <class T>
auto by_hand(const samples<T>& s, const both& all) {
  return [&s, &all](const auto& outputs, const auto& gradients) {
    cpu::queue queue(1);
    std::array<double, 2> losses{};
    const auto judge = [&](std::size_t k, const auto& loss, const auto& targets) {
      const shape each = outputs[k].sample_shape();
      loss_call<T, detail::number_of<decltype(targets)>> call;
      call.rows = outputs[k].rows();
      call.output_shape = &each;
      call.output = outputs[k].data();
      call.targets = targets.data();
      call.output_gradient = gradients[k].data();
      call.loss = &losses[k];
      loss.run(queue, call);
      for (T& g : gradients[k]) g *= static_cast<T>(all.weights[k]);
    };
    judge(0, std::get<0>(all.each), s.y);
    judge(1, std::get<1>(all.each), s.boxes);
    return all.weights[0] * losses[0] + all.weights[1] * losses[1];
  };
}

// The loss of these outputs, by the loss alone.
template <class Loss, class Targets>
double alone(const Loss& loss, const types::owned_tensor<float>& outputs, const Targets& targets) {
  cpu::queue queue(1);
  double found = 0;
  const shape each = outputs.sample_shape();
  loss_call<float, detail::number_of<Targets>> call;
  call.rows = outputs.rows();
  call.output_shape = &each;
  call.output = outputs.data();
  call.targets = targets.data();
  call.loss = &found;
  loss.run(queue, call);
  return found;
}

struct seen {
  std::vector<double> losses;
  std::vector<std::uint64_t> weights;
  bool operator==(const seen&) const = default;
};
// Four steps, the last two with a micro-batch before each.
template <class Model, class T = float, class Device = cpu>
seen steps_of(bool hand = false, const both& losses = weighted, double max_norm = 0, detail::loss_scaling scaling = {}) {
  using type = training<Model, T, Device>;
  using number = accumulated<T>;
  typename type::options given{.seed = 3, .loss = losses};
  if constexpr (!type::fused) given.clip.max_norm = max_norm, given.loss_scale = scaling;
  type t{testing::momentum, given};
  seen out;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const samples<number> s(step == 1 ? 4 : 6, step), more(5, 10 + step);
    if constexpr (!type::fused)
      if (step > 1)
        out.losses.push_back(hand ? t.accumulate_by(more.x, by_hand(more, losses)) : t.accumulate(more.x, more.targets()));
    out.losses.push_back(hand ? t.step_by(s.x, by_hand(s, losses)) : t.step(s.x, s.targets()));
    out.weights.push_back(t.checksum());
  }
  CHECK(out.weights[0] != out.weights[3]);
  return out;
}
template <class Net>
using all_of = with_all_outputs<Net>;

} // namespace

TEST_CASE("losses of heads: steps have the bits of step_by() with the same losses") {
  CHECK((steps_of<all_of<Net>>() == steps_of<all_of<Net>>(true)));
  CHECK((steps_of<all_of<Net>>(false, both{}) == steps_of<all_of<Net>>(true, both{})));
  CHECK((steps_of<all_of<Net>>(false, weighted, 0.05) == steps_of<all_of<Net>>(true, weighted, 0.05)));
  CHECK((steps_of<all_of<Net>, double>() == steps_of<all_of<Net>, double>(true)));
}

TEST_CASE_TEMPLATE("losses of heads: of one head they have the bits of the loss alone", T, float, bfloat16) {
  using One = Sequential<Body, Linear<8, classes>>;
  using single = multi::losses<CrossEntropyLoss>;
  const auto check = [](auto& several, auto& alone) {
    for (std::uint32_t step = 0; step < 3; ++step) {
      const samples s(step == 1 ? 4 : 6, step);
      CHECK(double(several.step(s.x, multi::targets(s.y))) == double(alone.step(s.x, s.y)));
    }
    CHECK(several.checksum() == alone.checksum());
  };
  training<all_of<Sequential<Body, multi::Heads<Linear<8, classes>>>>, T, cpu, single> several{testing::momentum, {.seed = 3}};
  trainer<One, CrossEntropyLoss, SGD, batch<6>, T> alone{testing::momentum, {.seed = 3}};
  check(several, alone);
  training<all_of<One>, T, cpu, single> without{testing::momentum, {.seed = 3}}; // and one array of targets
  const samples s(6, 1);
  const double loss = without.step(s.x, s.y);
  CHECK(loss == without.head_losses()[0]);
  // A weight is one factor, before gradients are rounded.
  training<all_of<One>, T, cpu, single> weighted_one{testing::momentum, {.seed = 3, .loss = {.weights = {4}}}};
  trainer<One, CrossEntropyLoss, SGD, batch<6>, T> scaled{testing::momentum, {.seed = 3}};
  weighted_one.step(s.x, s.y);
  scaled.step(s.x, s.y);
  for (std::size_t i = 0; i < scaled.gradients().size(); ++i) CHECK(weighted_one.gradients()[i] == 4 * scaled.gradients()[i]);
}

TEST_CASE("losses of heads: every policy and a fused update have the same bits") {
  const seen stored = steps_of<all_of<Net>>();
  CHECK((steps_of<all_of<checkpoint<recompute_all, Net>>>() == stored));
  CHECK((steps_of<all_of<checkpoint<sqrt_n, Net>>>() == stored));
  CHECK((steps_of<all_of<checkpoint<recompute_cheap, Net>>>() == stored));
  CHECK((steps_of<fused_update<all_of<Net>>>() == steps_of<fused_update<all_of<checkpoint<sqrt_n, Net>>>>(true)));
}

TEST_CASE("losses of heads: a device whose memory the host cannot read gives the same bits") {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    apart::device::seed = seed;
    CHECK((steps_of<all_of<Net>, float, apart::device>() == steps_of<all_of<Net>>()));
    CHECK((steps_of<all_of<Net>, bfloat16, apart::device>() == steps_of<all_of<Net>, bfloat16>()));
  }
  training<all_of<Net>> here{testing::momentum, {.seed = 3, .loss = weighted}};
  training<all_of<Net>, float, apart::device> there{testing::momentum, {.seed = 3, .loss = weighted}};
  const samples s(5, 1);
  std::vector<float> boxes;
  std::array<double, 2> heads{};
  CHECK(here.evaluate_loss(s.x, s.targets()) == there.evaluate_loss(s.x, s.targets(), [&](const auto& outputs, const auto& loss) {
    boxes.assign(outputs[1].begin(), outputs[1].end());
    heads = loss.heads;
  }));
  const auto expected = here.evaluate(s.x);
  CHECK(boxes == std::vector<float>(expected[1].begin(), expected[1].end()));
  CHECK(heads == here.head_losses());
  const double loss = there.step(s.x, s.targets());
  CHECK(loss == here.step(s.x, s.targets()));
  CHECK(there.head_losses() == here.head_losses());
  CHECK(apart::device::unfinished == 0);
}

TEST_CASE("losses of heads: a loss scale that is a power of two changes no bit, with weights or without") {
  const seen plain = steps_of<all_of<Net>>(), unweighted = steps_of<all_of<Net>>(false, both{});
  CHECK((steps_of<all_of<Net>>(false, weighted, 0, fixed_scale{1024}) == plain));
  CHECK((steps_of<all_of<Net>>(false, both{}, 0, fixed_scale{1024}) == unweighted));
  CHECK((steps_of<all_of<Net>, float, apart::device>(false, weighted, 0, fixed_scale{1024}) == plain));
}

TEST_CASE("losses of heads: the gradients are the quotients of differences of the weighted sum") {
  const samples<double> s(5, 1);
  training<all_of<Turned>, double, cpu, multi::losses<MSELoss, CrossEntropyLoss>> t{SGD{.learning_rate = 0.1},
                                                                                    {.seed = 3, .loss = {.weights = {3, 0.7}}}};
  const auto targets = multi::targets(s.boxes, s.y);
  const std::vector<double> quotients = testing::quotients_of(t, [&] { return t.evaluate_loss(s.x, targets); });
  CHECK(double(t.step(s.x, targets)) > 0);
  std::size_t i = 0;
  t.for_each_gradient([&](const types::named_parameter<double>& p) {
    for (const double g : p.numbers) CHECK(g == doctest::Approx(quotients.at(i++)).epsilon(1e-6).scale(1e-3));
  });
  CHECK(i == quotients.size());
}

TEST_CASE("losses of heads: ranks average as micro-batches do") {
  for (const int ranks : {1, 3}) {
    training<all_of<Net>> alone{testing::momentum, {.seed = 3, .loss = weighted}};
    for (std::uint32_t step = 0; step < 3; ++step)
      for (int rank = 0; rank < ranks; ++rank) {
        const samples s(6, 3 * step + static_cast<std::uint32_t>(rank));
        if (rank + 1 < ranks) alone.accumulate(s.x, s.targets());
        else alone.step(s.x, s.targets());
      }
    threads{ranks}.run([&](threads::rank& rank) {
      training<ddp<all_of<checkpoint<sqrt_n, Net>>, threads::rank, bucket_bytes<256>>> t{
          rank, testing::momentum, {.seed = 3, .loss = weighted}};
      for (std::uint32_t step = 0; step < 3; ++step) {
        const samples s(6, 3 * step + static_cast<std::uint32_t>(rank.rank()));
        t.step(s.x, s.targets());
      }
      CHECK(t.checksum() == alone.checksum());
    });
  }
}

TEST_CASE("losses of heads: ranks with other weights refuse to start") {
  const std::string text = text_of([] {
    threads{2}.run([&](threads::rank& rank) {
      both losses;
      losses.weights[1] = rank.rank() == 1 ? 2 : 1;
      training<ddp<all_of<Net>, threads::rank>> t{rank, testing::momentum, {.seed = 3, .loss = losses}};
    });
  });
  CHECK_MESSAGE(has(text, "expected the same loss on every rank"), text);
}

TEST_CASE("losses of heads: each head's loss, and other losses from the next step on") {
  training<all_of<Net>> t{testing::momentum, {.seed = 3, .loss = weighted}};
  const samples s(6, 1);
  std::array<double, 2> evaluated{};
  double total = 0;
  CHECK(t.evaluate_loss(s.x, s.targets(), [&](const auto& outputs, const auto& loss) {
    CHECK(outputs[0].sample_shape() == shape{classes});
    CHECK(outputs[1].rows() == 6);
    evaluated = loss.heads;
    total = loss;
  }) == total);
  CHECK(total == 0.5 * evaluated[0] + 2 * evaluated[1]);
  CHECK(double(t.step(s.x, s.targets())) == total); // nothing here differs in training
  CHECK(t.head_losses() == evaluated);
  both other = weighted;
  other.weights = {0, 1};
  t.loss(other);
  const double of_boxes = t.evaluate_loss(s.x, s.targets());
  CHECK(of_boxes == t.head_losses()[1]);
  other.weights[1] = std::numeric_limits<double>::infinity();
  CHECK(has(text_of([&] { t.loss(other); }), "expected a finite weight of head 1"));
}

TEST_CASE("losses of heads: wrong targets are an error that names the head, and change nothing") {
  training<all_of<Net>> t{testing::momentum, {.seed = 3}};
  samples s(6, 1);
  const std::uint64_t before = t.checksum();
  const std::vector<float> few(2 * corners);
  CHECK(has(text_of([&] { t.step(s.x, multi::targets(s.y, few)); }), "head 1 of trainer: expected targets for 6 samples"));
  s.y[3] = static_cast<int>(classes);
  CHECK(has(text_of([&] { t.step(s.x, s.targets()); }), "head 0 of "));
  CHECK(t.checksum() == before);
}

TEST_CASE_TEMPLATE("losses of heads: PyTorch's losses and gradients", T, float, double) {
  using Plain = Sequential<Linear<features, 8>, LayerNorm<8>, Tanh,
                           multi::Heads<Linear<8, classes>, Sequential<Linear<8, 8>, Tanh, Linear<8, corners>, Tanh>>>;
  training<all_of<Plain>, T> t{SGD{.learning_rate = 0.1},
                               {.loss = {{CrossEntropyLoss{.label_smoothing = 0.1}, MSELoss{}}, {1, 0.3}}}};
  std::size_t count = 0;
  t.for_each([&](const types::named_parameter<T>& p) {
    const auto from = reference_numbers<T>("heads/parameter" + std::to_string(count++));
    REQUIRE(from.size() == p.numbers.size());
    std::copy(from.begin(), from.end(), p.numbers.begin());
  });
  const auto labels = reference_numbers<int>("heads/labels");
  const auto boxes = reference_numbers<T>("heads/corners");
  const double loss = t.step(reference_numbers<T>("heads/x"), multi::targets(labels, boxes));
  const auto losses = t.head_losses();
  const double most = sizeof(T) == 4 ? 2e-6 : 1e-13;
  CHECK(largest_difference(std::vector<double>{loss, losses[0], losses[1]}, reference_values("heads/losses")) < most);
  std::size_t index = 0;
  t.for_each_gradient([&](const types::named_parameter<T>& p) {
    CHECK(largest_difference(std::vector<T>(p.numbers.begin(), p.numbers.end()),
                             reference_values("heads/gradient" + std::to_string(index++))) < most);
  });
  CHECK(index == count);
}

namespace {

// A loss that does not multiply its derivative by a scale.
struct Squares {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }
  template <class T, class Target>
  static constexpr bool takes = std::is_same_v<T, Target>;
  template <class Queue, class T>
  static void run(Queue& queue, loss_call<T, T> call) {
    call.gradient_scale = nullptr;
    MSELoss::run(queue, call);
  }
};

} // namespace

TEST_CASE("losses of heads: of a program's own loss, without scales_gradient") {
  using own = multi::losses<CrossEntropyLoss, Squares>;
  training<all_of<Net>> a{testing::momentum, {.seed = 3, .loss = {.weights = {1, 0.5}}}};
  training<all_of<Net>, float, cpu, own> b{testing::momentum, {.seed = 3, .loss = {.weights = {1, 0.5}}}};
  const samples s(6, 1);
  for (int step = 0; step < 3; ++step) CHECK(a.step(s.x, s.targets()) == b.step(s.x, s.targets()));
  CHECK(a.checksum() == b.checksum());
  CHECK(has(text_of([] { training<all_of<Net>, float, cpu, own> scaled{testing::momentum, {.loss_scale = fixed_scale{2}}}; }),
            "scales_gradient"));
}

TEST_CASE("losses of heads: constants of two losses, and three heads") {
  using Three = Sequential<Body, multi::Heads<Linear<8, classes>, Linear<8, classes>, Linear<8, corners>>>;
  using losses = multi::losses<CrossEntropyLoss, BCEWithLogitsLoss, MSELoss>;
  const losses chosen{{CrossEntropyLoss{.weight = {1, 2, 3, 4}}, BCEWithLogitsLoss{.pos_weight = {4, 3, 2, 1}}, MSELoss{}}};
  training<all_of<Three>, float, cpu, losses> here{testing::momentum, {.seed = 3, .loss = chosen}};
  training<all_of<Three>, float, apart::device, losses> there{testing::momentum, {.seed = 3, .loss = chosen}};
  const samples s(6, 1);
  std::vector<float> yes(6 * classes);
  for (std::size_t i = 0; i < yes.size(); ++i) yes[i] = float(i % 2);
  const auto outputs = here.evaluate(s.x);
  here.evaluate_loss(s.x, multi::targets(s.y, yes, s.boxes));
  CHECK(here.head_losses() == std::array{alone(std::get<0>(chosen.each), outputs[0], s.y),
                                         alone(std::get<1>(chosen.each), outputs[1], yes),
                                         alone(std::get<2>(chosen.each), outputs[2], s.boxes)});
  for (int step = 0; step < 3; ++step)
    CHECK(here.step(s.x, multi::targets(s.y, yes, s.boxes)) == double(there.step(s.x, multi::targets(s.y, yes, s.boxes))));
  CHECK(here.checksum() == there.checksum());
}

TEST_CASE("losses of heads: a state resumes the run, and a model takes the weights") {
  const folder here;
  const std::string file = (here.path / "state").string();
  training<all_of<Net>> t{testing::momentum, {.seed = 3, .loss = weighted}},
      other{testing::momentum, {.seed = 5, .loss = weighted}};
  const samples s(6, 1), later(6, 2);
  t.step(s.x, s.targets());
  save_state(t, file);
  t.step(later.x, later.targets());
  load_state(other, file);
  CHECK(other.steps() == 1);
  other.step(later.x, later.targets());
  CHECK(other.checksum() == t.checksum());
  model<all_of<Net>, batch<6>> net;
  net.copy_parameters(t);
  CHECK(net.evaluate(s.x)[1][0] == t.evaluate(s.x)[1][0]);
}

TEST_CASE("losses of heads: a schedule that is solved when the program runs") {
  using type = training<all_of<Net>>;
  const type::curve solved;
  type stored{testing::momentum, {.seed = 3}}, within{testing::momentum, {.seed = 3, .schedule = solved.within(solved[0].bytes)}};
  const samples s(6, 1);
  for (int step = 0; step < 2; ++step) CHECK(within.step(s.x, s.targets()) == stored.step(s.x, s.targets()));
  CHECK(within.checksum() == stored.checksum());
}

} // namespace judged_by_losses_tests
