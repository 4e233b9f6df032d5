// SPDX-License-Identifier: MIT
// long to compile
// One body with two heads, a class and a box, trained by step_by(): makes the same steps as a network that puts both heads into
// one tensor, which the program takes apart by hand.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>

#include "../../layer/several_layers.hpp"
#include "../apart.hpp"
#include "../apart_ops.hpp"
#include "../quotients.hpp"
#include "../training.hpp"

namespace trainer_all_outputs_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::samples;

namespace {

constexpr std::size_t corners = 3; // of a box; with `classes` they fill no whole cache lines

// (x, x), for every device.
struct Twice {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor_list outputs(const arguments& in) { return {in[0], in[0]}; }
  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    for (std::size_t k = 0; k < 2; ++k) copy(queue, call.rows * call.in(0).size(), call.outputs[k], call.inputs[0]);
  }
  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    add(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.output_gradients[1]);
  }
};
// (b, a) = (a, b), for every device.
struct Turn {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr tensor_list outputs(const arguments& in) { return {in[1], in[0]}; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output != input; }
  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    for (std::size_t k = 0; k < 2; ++k) copy(queue, call.rows * call.in(k).size(), call.outputs[1 - k], call.inputs[k]);
  }
  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    for (std::size_t k = 0; k < 2; ++k)
      copy(queue, call.rows * call.in(k).size(), call.input_gradients[k], call.output_gradients[1 - k]);
  }
};
// Both inputs, one after the other, as one tensor.
struct Join {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr tensor outputs(const arguments& in) { return shape{in[0].size() + in[1].size()}; }
  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t a = call.in(0).size(), b = call.in(1).size();
    copy_matrix(queue, ops::matrix<T>(call.outputs[0], call.rows, a, a + b), ops::matrix<const T>(call.inputs[0], call.rows, a));
    copy_matrix(queue, ops::matrix<T>(call.outputs[0] + a, call.rows, b, a + b),
                ops::matrix<const T>(call.inputs[1], call.rows, b));
  }
  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const std::size_t a = call.in(0).size(), b = call.in(1).size();
    const T* const from = call.output_gradients[0];
    copy_matrix(queue, ops::matrix<T>(call.input_gradients[0], call.rows, a), ops::matrix<const T>(from, call.rows, a, a + b));
    copy_matrix(queue, ops::matrix<T>(call.input_gradients[1], call.rows, b),
                ops::matrix<const T>(from + a, call.rows, b, a + b));
  }
};

// The box ends with Tanh, whose backward reads the output, so the gradient has other memory than the outputs.
using Body = Sequential<Linear<features, 8>, LayerNorm<8>, Tanh, Residual<Linear<8, 8>, ReLU>>;
using Heads = Sequential<Body, Twice, Linear<8, classes>, Turn, Linear<8, corners>, Tanh>;
using Joined = Sequential<Body, Twice, Linear<8, classes>, Turn, Linear<8, corners>, Tanh, Join>;
// The last layer makes the classes, and the box goes past it; no backward reads either.
using Turned = Sequential<Heads, Turn, Linear<classes, classes>>;

template <class Model, class T = float, class Device = cpu>
using training = trainer<Model, MSELoss, SGD, batch<6>, T, Device>;

// The share of one sample in the mean loss over `rows` samples: the cross-entropy of the classes and half the squared errors of
// the box. Writes the gradients, too.
template <class T>
double of_sample(const int label, const T* box, const T* logits, T* box_gradient, T* logit_gradient, std::size_t rows) {
  double sum = 0, loss = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += std::exp(double(logits[c]));
  for (std::size_t c = 0; c < classes; ++c) {
    const double target = static_cast<int>(c) == label ? 1 : 0;
    logit_gradient[c] = static_cast<T>((std::exp(double(logits[c])) / sum - target) / double(rows));
    loss -= target * (double(logits[c]) - std::log(sum));
  }
  for (std::size_t i = 0; i < corners; ++i) {
    const double fault = double(box[i]) - 0.1 * label - 0.2 * double(i);
    box_gradient[i] = static_cast<T>(fault / double(rows));
    loss += fault * fault / 2;
  }
  return loss / double(rows);
}

// Judges by all outputs. It writes gradients of both before it has read all of them.
template <class T>
auto by_heads(const std::vector<int>& labels) {
  return [&labels](const std::array<tensor_view<const T>, 2>& outputs, const std::array<tensor_view<T>, 2>& gradients) {
    const auto& [boxes, logits] = outputs;
    const auto& [box_gradients, logit_gradients] = gradients;
    CHECK(boxes.sample_shape() == shape{corners});
    CHECK(logits.sample_shape() == shape{classes});
    REQUIRE((boxes.rows() == labels.size() && box_gradients.rows() == labels.size()));
    REQUIRE((logits.rows() == labels.size() && logit_gradients.rows() == labels.size()));
    for (const tensor_view<T>& gradient : gradients)
      for (const T g : gradient) CHECK(g == 0);
    double loss = 0;
    for (std::size_t r = 0; r < labels.size(); ++r)
      loss += of_sample(labels[r], boxes.row(r), logits.row(r), box_gradients.row(r), logit_gradients.row(r), labels.size());
    return loss;
  };
}
// Judges by one output, taken apart by hand.
template <class T>
auto by_hand(const std::vector<int>& labels) {
  return [&labels](tensor_view<const T> outputs, tensor_view<T> gradient) {
    double loss = 0;
    for (std::size_t r = 0; r < labels.size(); ++r)
      loss += of_sample(labels[r], outputs.row(r), outputs.row(r) + corners, gradient.row(r), gradient.row(r) + corners,
                        labels.size());
    return loss;
  };
}

template <class Number>
std::vector<double> copied(const types::owned_tensor<Number>& from) {
  return {from.begin(), from.end()};
}

// The losses, outputs and weights of four steps.
struct seen {
  std::vector<double> losses, outputs;
  std::vector<std::uint64_t> weights;
  bool operator==(const seen&) const = default;
};
template <class Model, class T = float, class Device = cpu>
seen steps_of(double max_norm = 0, std::size_t threads = 1) {
  using type = training<Model, T, Device>;
  using number = accumulated<T>;
  constexpr bool all = type::plan::all_outputs;
  typename type::options given{.seed = 3, .threads = threads};
  if constexpr (!type::fused) given.clip.max_norm = max_norm;
  type t{testing::momentum, given};
  seen out;
  const auto judge = [](const std::vector<int>& labels) {
    if constexpr (all) return by_heads<number>(labels);
    else return by_hand<number>(labels);
  };
  // Sample by sample: the box, then the classes.
  const auto show = [&](const auto& made, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r)
      if constexpr (all) {
        out.outputs.insert(out.outputs.end(), made[0].row(r), made[0].row(r) + corners);
        out.outputs.insert(out.outputs.end(), made[1].row(r), made[1].row(r) + classes);
      } else out.outputs.insert(out.outputs.end(), made.row(r), made.row(r) + corners + classes);
  };
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::size_t rows = step == 1 ? 4 : 6;
    const samples<number> s(rows, step);
    show(t.forward(s.x), rows);
    if constexpr (!type::fused)
      if (step > 1) out.losses.push_back(t.accumulate_by(s.x, judge(s.y)));
    out.losses.push_back(t.step_by(s.x, judge(s.y)));
    out.weights.push_back(t.checksum());
    show(t.evaluate(s.x), rows);
  }
  CHECK(t.steps() == 4);
  CHECK(out.weights[0] != out.weights[3]);
  return out;
}
template <class Net>
using all_of = with_all_outputs<Net>;

} // namespace

TEST_CASE("all_outputs: steps of two heads have the bits of those of one tensor that is taken apart by hand") {
  const seen by_hand_alone = steps_of<Joined>();
  CHECK((steps_of<all_of<Heads>>() == by_hand_alone));
  CHECK((steps_of<all_of<Heads>>(0, 2) == by_hand_alone));
  CHECK((steps_of<all_of<Heads>>(0.05) == steps_of<Joined>(0.05)));
  CHECK((steps_of<all_of<Heads>, double>() == steps_of<Joined, double>()));
  CHECK((steps_of<all_of<Heads>, bfloat16>() == steps_of<Joined, bfloat16>()));
}

TEST_CASE("all_outputs: every policy and a fused update have the same bits") {
  const seen stored = steps_of<all_of<Heads>>();
  CHECK((steps_of<all_of<checkpoint<recompute_all, Heads>>>() == stored));
  CHECK((steps_of<all_of<checkpoint<sqrt_n, Heads>>>() == stored));
  CHECK((steps_of<all_of<checkpoint<every<3>, Heads>>>() == stored));
  const seen fused = steps_of<fused_update<Joined>>();
  CHECK((steps_of<fused_update<all_of<Heads>>>() == fused));
  CHECK((steps_of<all_of<fused_update<checkpoint<sqrt_n, Heads>>>>() == fused));
}

TEST_CASE("all_outputs: a device whose memory the host cannot read gives the same bits") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    apart::device::seed = seed;
    CHECK((steps_of<all_of<Heads>, float, apart::device>() == steps_of<all_of<Heads>>()));
    CHECK((steps_of<all_of<Heads>, bfloat16, apart::device>(0.05) == steps_of<all_of<Heads>, bfloat16>(0.05)));
    CHECK((steps_of<fused_update<all_of<Heads>>, float, apart::device>() == steps_of<fused_update<all_of<Heads>>>()));
  }
  CHECK(apart::device::unfinished == 0);
}

TEST_CASE("all_outputs: the gradients are the quotients of differences, of both heads together") {
  const samples<double> s(5, 1);
  const auto check = [&](auto& t) {
    const auto loss = [&] {
      const auto made = t.forward(s.x);
      std::vector<double> box(corners), logits(classes);
      double sum = 0;
      for (std::size_t r = 0; r < s.y.size(); ++r)
        sum += of_sample(s.y[r], made[0].row(r), made[1].row(r), box.data(), logits.data(), s.y.size());
      return sum;
    };
    const std::vector<double> quotients = testing::quotients_of(t, loss);
    CHECK(double(t.step_by(s.x, by_heads<double>(s.y))) > 0);
    std::size_t i = 0, others = 0;
    t.for_each_gradient([&](const types::named_parameter<double>& p) {
      for (const double g : p.numbers) {
        CHECK(g == doctest::Approx(quotients.at(i++)).epsilon(1e-6).scale(1e-3));
        others += g != 0 ? 1U : 0U;
      }
    });
    CHECK(i == quotients.size());
    CHECK(others > i / 2);
  };
  training<all_of<Heads>, double> heads{SGD{.learning_rate = 0.1}, {.seed = 3}};
  check(heads);
  using Split = Sequential<Linear<features, corners>, testing::Split, Linear<corners, classes>, testing::Swap>;
  training<all_of<checkpoint<recompute_all, Split>>, double> split{SGD{.learning_rate = 0.1}, {.seed = 3}};
  check(split);
}

TEST_CASE("all_outputs: ranks average as micro-batches do") {
  for (const int ranks : {1, 2, 3}) {
    training<all_of<Heads>> alone{testing::momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step)
      for (int rank = 0; rank < ranks; ++rank) {
        const samples s(6, 3 * step + static_cast<std::uint32_t>(rank));
        if (rank + 1 < ranks) alone.accumulate_by(s.x, by_heads<float>(s.y));
        else alone.step_by(s.x, by_heads<float>(s.y));
      }
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<all_of<checkpoint<sqrt_n, Heads>>, threads::rank, bucket_bytes<256>>, MSELoss, SGD, batch<6>> t{
          rank, testing::momentum, {.seed = 3}};
      for (std::uint32_t step = 0; step < 3; ++step) {
        const samples s(6, 3 * step + static_cast<std::uint32_t>(rank.rank()));
        t.step_by(s.x, by_heads<float>(s.y));
      }
      CHECK(t.checksum() == alone.checksum());
    });
  }
}

TEST_CASE("all_outputs: the gradient of the inputs is that of all outputs") {
  training<with_input_gradient<all_of<checkpoint<sqrt_n, Heads>>>> heads{testing::momentum, {.seed = 3}};
  training<with_input_gradient<Joined>> joined{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  CHECK(heads.accumulate_by(s.x, by_heads<float>(s.y)) == joined.accumulate_by(s.x, by_hand<float>(s.y)));
  CHECK(testing::copy_of(heads.input_gradient()) == testing::copy_of(joined.input_gradient()));
  heads.drop_micro_batches();
  CHECK(heads.micro_batches() == 0);
}

TEST_CASE("all_outputs: what the function throws leaves the parameters as they were, on all ranks") {
  const samples s(6, 1);
  std::array<std::uint64_t, 2> first{}, last{};
  CHECK_THROWS(threads{2}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    trainer<ddp<all_of<Heads>, threads::rank>, MSELoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
    first[r] = t.checksum();
    try {
      t.step_by(s.x, [&](const auto& outputs, const auto& gradients) {
        if (r == 0) throw std::runtime_error("no loss today");
        return by_heads<float>(s.y)(outputs, gradients);
      });
    } catch (...) {
      last[r] = t.checksum();
      throw;
    }
  }));
  CHECK(first == last);
}

TEST_CASE("all_outputs: a model of the network, and the one without the body's ways to train it") {
  training<all_of<checkpoint<sqrt_n, Heads>>> t{testing::momentum, {.seed = 3}};
  const samples s(5, 1);
  t.step_by(s.x, by_heads<float>(s.y));
  const auto expected = t.evaluate(s.x);
  static_assert(std::is_same_v<decltype(expected), const std::array<types::owned_tensor<float>, 2>>);
  const model<fused_update<all_of<checkpoint<sqrt_n, Heads>>>, batch<6>> other;
  model<all_of<Heads>, batch<6>> net;
  net.copy_parameters(t);
  const auto [boxes, logits] = net.evaluate(s.x);
  CHECK(boxes.sample_shape() == shape{corners});
  CHECK(copied(boxes) == copied(expected[0]));
  CHECK(copied(logits) == copied(expected[1]));
  CHECK(copied(logits) != copied(other.evaluate(s.x)[1]));
  std::vector<float> into(5 * corners);
  CHECK(net.evaluate(s.x, into).sample_shape() == shape{corners}); // the first output
  CHECK(into == std::vector<float>(boxes.begin(), boxes.end()));
}

TEST_CASE("all_outputs: a network of one output, and outputs of which one goes past the last layer") {
  using One = Sequential<Linear<features, 8>, Tanh, Linear<8, classes>>;
  training<all_of<One>> t{testing::momentum, {.seed = 3}};
  training<One> other{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  const auto squares = [](tensor_view<const float> outputs, tensor_view<float> gradient) {
    for (std::size_t i = 0; i < outputs.size(); ++i) gradient[i] = outputs[i];
    return 1.0;
  };
  t.step_by(s.x, [&](const auto& outputs, const auto& gradients) { return squares(outputs[0], gradients[0]); });
  other.step_by(s.x, squares);
  CHECK(t.checksum() == other.checksum());
  CHECK(copied(t.evaluate(s.x)[0]) == copied(other.evaluate(s.x)));

  using Past = all_of<Turned>; // the box comes after the classes, which the last layer takes
  training<Past> past{testing::momentum, {.seed = 3}};
  training<all_of<checkpoint<recompute_all, Turned>>> again{testing::momentum, {.seed = 3}};
  const auto turned = [&](const auto& outputs, const auto& gradients) {
    return by_heads<float>(s.y)({outputs[1], outputs[0]}, {gradients[1], gradients[0]});
  };
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    last = past.step_by(s.x, turned);
    if (step == 0) first = last;
    CHECK(double(again.step_by(s.x, turned)) == last);
  }
  CHECK(last < 0.7 * first);
  CHECK(past.checksum() == again.checksum());
}

TEST_CASE("all_outputs: a schedule that is solved when the program runs") {
  using Model = all_of<Heads>;
  using curve = training<Model>::curve;
  const curve solved;
  training<Model> stored{testing::momentum, {.seed = 3}};
  training<Model> within{testing::momentum, {.seed = 3, .schedule = solved.within(solved[0].bytes)}};
  for (std::uint32_t step = 0; step < 2; ++step) {
    const samples s(6, step);
    CHECK(within.step_by(s.x, by_heads<float>(s.y)) == stored.step_by(s.x, by_heads<float>(s.y)));
  }
  CHECK(within.checksum() == stored.checksum());
}

} // namespace trainer_all_outputs_tests
