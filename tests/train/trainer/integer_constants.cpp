// SPDX-License-Identifier: MIT
// Constants of integers, of a sample and of a batch, wherever a trainer takes inputs.
//
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/unroll.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>

#include "../../layer/several_layers.hpp"
#include "../apart_ops.hpp"
#include "../training.hpp"

namespace trainer_integer_constants_tests {

using namespace cairn;
using testing::Gathered;
using testing::has;
using testing::text_of;
using testing::Times;

namespace {

constexpr std::size_t words = 6, wide = 4, picked = 3, classes = testing::classes, most = 6;

// h' = n x + h, where n is the constant 0 of the network.
struct Counted {
  static constexpr tensor_list inputs{{wide}, {wide}};
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool accepts(const arguments& in) {
    return in.constants().size() > 0 && in.constants()[0] == integer_constant<>::value;
  }
  static constexpr tensor outputs(const arguments&) { return inputs[1]; }

  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t i = 0; i < wide * call.rows; ++i)
      call.outputs[0][i] = static_cast<T>(call.constants.integers(0)[i / wide]) * call.inputs[0][i] + call.inputs[1][i];
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>& call) {
    for (std::size_t i = 0; i < wide * call.rows; ++i) {
      const T d = call.output_gradients[0][i];
      if (call.input_gradients[0] != nullptr)
        call.input_gradients[0][i] = static_cast<T>(call.constants.integers(0)[i / wide]) * d;
      if (call.input_gradients[1] != nullptr) call.input_gradients[1][i] = d;
    }
  }
};

// In a repeated block, in a checkpoint inside, and in a cell.
using Net = Sequential<Inputs<dims<words, wide>, integer_constant<>, batch_integer_constant<picked>>, Linear<wide, wide>,
                       Repeat<2, Residual<LayerNorm<wide>, Linear<wide, wide>, Times<0>>>, Gathered<1>,
                       checkpoint<recompute_all, Sequential<Linear<wide, wide>, Times<0>, ReLU>>, Unroll<picked, Counted, sqrt_n>,
                       Flatten, Linear<picked * wide, classes>>;

// Rows of numbers, each with an integer and a class, and integers of all rows.
struct samples {
  std::vector<float> x;
  std::vector<std::int32_t> each, all;
  std::vector<int> y;

  samples(std::size_t rows, std::uint32_t stream) : x(rows * words * wide), each(rows), all(picked), y(rows) {
    const types::random_key key{.seed = 12, .position = stream};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>(key, i) - 1;
    for (std::size_t r = 0; r < rows; ++r) {
      each[r] = static_cast<std::int32_t>(ops::random_bits(key, 10'000 + r) % 4) - 1;
      y[r] = static_cast<int>(ops::random_bits(key, 20'000 + r) % classes);
    }
    for (std::size_t i = 0; i < picked; ++i) all[i] = static_cast<std::int32_t>(ops::random_bits(key, 30'000 + i) % words);
  }
  auto given() const { return inputs(x, each, all); }
};

template <class Model, class T = float>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<most>, T>;

struct trace {
  std::vector<double> losses;
  std::vector<float> outputs, evaluated;
  std::uint64_t checksum = 0;
  bool operator==(const trace&) const = default;
};

// Steps of full and smaller batches, of one micro-batch and of two, and what is evaluated.
template <class Model, class T = float, class Given>
trace train_on(const Given& given, std::size_t threads = 1) {
  training<Model, T> t{testing::momentum, {.seed = 3, .threads = threads}};
  const samples a(6, 1), b(4, 2), c(5, 3);
  trace out;
  out.losses.push_back(t.step(given(a), a.y));
  if constexpr (!training<Model, T>::fused) out.losses.push_back(t.accumulate(given(b), b.y));
  out.losses.push_back(t.step(given(c), c.y));
  out.losses.push_back(t.evaluate_loss(given(b), b.y));
  out.outputs = testing::copy_of(t.forward(given(b)));
  t.drop_micro_batches();
  out.evaluated = testing::copy_of(t.evaluate(given(a)));
  out.checksum = t.checksum();
  return out;
}
template <class Model, class T = float>
trace train(std::size_t threads = 1) {
  return train_on<Model, T>([](const samples& s) { return s.given(); }, threads);
}

} // namespace

TEST_CASE("integer constants: every policy and number of threads has the same bits") {
  const trace want = train<Net>();
  CHECK(want.losses[2] != want.losses[0]);
  CHECK(want.outputs.size() == 4 * classes);
  CHECK(train<checkpoint<recompute_all, Net>>() == want);
  CHECK(train<checkpoint<revolve<2>, Net>>() == want);
  CHECK(train<Net>(2) == want);
#ifdef CAIRN_LONG_TESTS
  CHECK(train<checkpoint<sqrt_n, Net>>() == want);
  CHECK(train<checkpoint<every<2>, Net>>() == want);
#endif
}

namespace {

// Whether the integers of the samples are 7, 8, 9, ... and that of the batch 1000003, which is no number of bfloat16.
struct Shown {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t r = 0; r < call.rows; ++r) {
      const bool right = call.constants.integers(1)[0] == 1'000'003 && call.constants.integers(0)[r] == 7 + static_cast<int>(r);
      call.outputs[0][r] = static_cast<T>(right ? 1.0F : 0.0F);
    }
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>&) {}
};

template <class Kind, template <std::size_t> class Layer>
using Scaled = Sequential<Inputs<dims<words * wide>, Kind>, Linear<words * wide, 8>,
                          Residual<LayerNorm<8>, Linear<8, 8>, Layer<0>>, Layer<0>, Linear<8, classes>>;

} // namespace

TEST_CASE("integer constants: an integer has the bits of the number that it is") {
  const auto integers_of = [](const samples& s) {
    std::vector<std::int32_t> all;
    for (const std::int32_t n : s.each)
      for (std::int32_t i = 0; i < 8; ++i) all.push_back(n + i % 3);
    return all;
  };
  std::vector<std::vector<std::int32_t>> kept(100);
  std::vector<std::vector<float>> real(100);
  const trace found = train_on<Scaled<integer_constant<8>, Times>>([&](const samples& s) {
    auto& own = kept[s.each.size()] = integers_of(s);
    return inputs(s.x, own);
  });
  const trace want = train_on<Scaled<constant<8>, testing::Masked>>([&](const samples& s) {
    const auto of = integers_of(s);
    auto& own = real[s.each.size()] = {of.begin(), of.end()};
    return inputs(s.x, own);
  });
  CHECK(found == want);
}

TEST_CASE("integer constants: of bfloat16 and float16 they stay 32 bits") {
  using One = Sequential<Inputs<dims<words * wide>, integer_constant<>, batch_integer_constant<>>, Linear<words * wide, 8>,
                         Times<0>, Residual<LayerNorm<8>, Linear<8, 8>, Times<1>>, Linear<8, classes>>;
  const std::vector<std::int32_t> low{2}, high{1'000'003};
  const auto given = [&](const samples& s) { return inputs(s.x, s.each, low); };
  const trace want = train_on<One, bfloat16>(given);
  CHECK(want.losses[0] > 0);
  CHECK(train_on<checkpoint<recompute_all, One>, bfloat16>(given) == want);

  const model<Sequential<Inputs<dims<1>, integer_constant<>, batch_integer_constant<>>, Shown>, batch<3>, bfloat16> net;
  CHECK(testing::copy_of(net.evaluate(inputs(std::vector<float>{0, 0, 0}, std::vector<int>{7, 8, 9}, high))) ==
        std::vector<float>{1, 1, 1});
}

TEST_CASE("integer constants: ranks are micro-batches, bit for bit") {
  const auto of = [](int rank, std::uint32_t step) {
    return samples(rank == 0 ? 6 : 3 + static_cast<std::size_t>(rank), 10 * step + static_cast<std::uint32_t>(rank));
  };
  for (int ranks = 1; ranks <= 3; ++ranks) {
    CAPTURE(ranks);
    training<Net> alone{testing::momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 2; ++step)
      for (int r = 0; r < ranks; ++r) {
        const samples s = of(r, step);
        if (r + 1 < ranks) alone.accumulate(s.given(), s.y);
        else alone.step(s.given(), s.y);
      }
    threads{ranks}.run([&](threads::rank& rank) {
      training<ddp<checkpoint<sqrt_n, Net>, threads::rank, bucket_bytes<200>>> t{rank, testing::momentum, {.seed = 3}};
      for (std::uint32_t step = 0; step < 2; ++step) {
        const samples s = of(rank.rank(), step);
        t.step(s.given(), s.y);
      }
      if (t.checksum() != alone.checksum()) throw error("the ranks' parameters differ from one rank's");
    });
  }
}

TEST_CASE("integer constants: all outputs, and a fused update") {
  using Heads = Sequential<Inputs<dims<words * wide>, integer_constant<>>, Linear<words * wide, 8>, testing::Split, Times<0>,
                           Linear<8, classes>, testing::Swap, Linear<8, 2>, testing::Swap>;
  const auto outputs = []<class Model>(std::type_identity<Model>) {
    training<Model> t{testing::momentum, {.seed = 3}};
    const samples s(5, 1);
    const auto views = t.forward(inputs(s.x, s.each));
    return std::vector{testing::copy_of(views[0]), testing::copy_of(views[1])};
  };
  const auto want = outputs(std::type_identity<with_all_outputs<Heads>>{});
  CHECK((want[0].size() == 5 * classes && want[1].size() == 5 * 2));
  CHECK(outputs(std::type_identity<with_all_outputs<checkpoint<recompute_all, Heads>>>{}) == want);
  CHECK(train<fused_update<checkpoint<sqrt_n, Net>>>() == train<fused_update<Net>>());
}

TEST_CASE("model: integer constants, and a step on them allocates what was said") {
  training<Net> t{testing::momentum, {.seed = 3, .threads = 1}};
  model<Net, batch<most>> net;
  net.copy_parameters(t);
  const samples a(5, 1), b(5, 2);
  CHECK(testing::copy_of(net.evaluate(a.given())) == testing::copy_of(t.evaluate(a.given())));
  CHECK(testing::copy_of(net.evaluate(inputs(a.x, b.each, a.all))) != testing::copy_of(net.evaluate(a.given())));
  CHECK(testing::copy_of(net.evaluate(inputs(a.x, a.each, b.all))) != testing::copy_of(net.evaluate(a.given())));
  CHECK(t.memory() == training_bytes<training<Net>>({.states = testing::momentum.states()}));
}

namespace {

// Layers that ops alone compute, for a device whose memory the host cannot read.
using Apart = Sequential<Inputs<dims<words, wide>, integer_constant<4>, batch_integer_constant<picked>, integer_constant<>>,
                         Linear<wide, wide>, Gathered<0>, ReLU, Residual<LayerNorm<wide>, Linear<wide, wide>>, Gathered<1>,
                         Linear<wide, wide>, Gathered<2>, Linear<wide, classes>>;

template <class Model, class Device>
std::vector<double> numbers_on() {
  trainer<Model, CrossEntropyLoss, SGD, batch<most>, float, Device> t{testing::momentum, {.seed = 3}};
  std::vector<double> out;
  const auto use = [&](std::size_t rows, std::uint32_t stream, const auto& f) { // the arrays are overwritten after the call
    samples s(rows, stream);
    std::vector<std::int32_t> four(4 * rows), three(picked), one(rows);
    const types::random_key key{.seed = 8, .position = stream};
    for (std::size_t i = 0; i < four.size(); ++i) four[i] = static_cast<std::int32_t>(ops::random_bits(key, i) % words);
    for (std::size_t i = 0; i < picked; ++i) three[i] = static_cast<std::int32_t>(ops::random_bits(key, 100 + i) % 4);
    for (std::size_t r = 0; r < rows; ++r) one[r] = static_cast<std::int32_t>(ops::random_bits(key, 200 + r) % picked);
    auto told = f(inputs(s.x, four, three, one), s.y);
    for (auto* const numbers : {&four, &three, &one}) std::fill(numbers->begin(), numbers->end(), 0);
    return told;
  };
  const auto step = [&](std::size_t rows, std::uint32_t stream) {
    return use(rows, stream, [&](const auto& x, const auto& y) { return t.step(x, y); });
  };
  auto last = step(6, 1);
  for (std::uint32_t s = 2; s < 5; ++s) {
    auto next = step(s == 3 ? 2 : 6, s);
    out.push_back(double{last});
    last = next;
  }
  out.push_back(double{last});
  out.push_back(double{use(4, 7, [&](const auto& x, const auto& y) { return t.accumulate(x, y); })});
  out.push_back(double{step(6, 8)});
  out.push_back(use(3, 9, [&](const auto& x, const auto& y) { return t.evaluate_loss(x, y); }));
  use(3, 10, [&](const auto& x, const auto&) {
    for (const float v : t.evaluate(x)) out.push_back(static_cast<double>(v));
    return 0;
  });
  out.push_back(static_cast<double>(t.checksum() >> 12));
  return out;
}

} // namespace

TEST_CASE("integer constants: a device apart has the bits of a cpu, and memory for them") {
  const std::vector<double> want = numbers_on<Apart, cpu>();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    apart::device::seed = seed;
    CHECK(numbers_on<Apart, apart::device>() == want);
    CHECK(numbers_on<checkpoint<recompute_all, Apart>, apart::device>() == want);
  }
  CHECK(apart::device::unfinished == 0);

  using type = trainer<Apart, CrossEntropyLoss, SGD, batch<most>, float, apart::device>;
  apart::device device({});
  type t{device, testing::momentum};
  CHECK(t.memory().staging == device.counted.staging_bytes);
  CHECK(t.memory().device() == device.counted.bytes);
  // Two slots with four integers and one for each sample, and three for the batch, each at an aligned place.
  using plan = type::plan;
  const auto aligned = [](std::size_t bytes) { return detail::align_up(bytes); };
  CHECK(detail::taken_inputs<plan, float>::bytes ==
        aligned(most * words * wide * 4) + aligned(most * 4 * 4) + aligned(picked * 4) + aligned(most * 4));
}

TEST_CASE("integer constants: errors name the array") {
  training<Net> t{testing::momentum, {.seed = 3}};
  const samples s(6, 1), less(5, 1);
  const std::uint64_t before = t.checksum();
  std::string said = text_of([&] { t.step(inputs(s.x, less.each, s.all), s.y); });
  CHECK(has(said, "array 1 of trainer::step, inputs: expected 6 samples, as many as array 0 has, found 5"));
  said = text_of([&] { t.step(inputs(s.x, s.each, std::vector<std::int32_t>(4)), s.y); });
  CHECK(has(said, "array 2 of trainer::step, inputs: expected samples of 3 numbers, found 4"));
  said = text_of([&] { t.step(inputs(s.x, s.each, std::vector<std::int32_t>(6)), s.y); });
  CHECK(has(said, "array 2 of trainer::step, inputs: expected at most 1 samples"));
  // What an integer may be is for the layer to say.
  said = text_of([&] { t.step(inputs(s.x, s.each, std::vector<std::int32_t>{0, 1, 6}), s.y); });
  CHECK(has(said, "index 2 is 6, but the vocabulary is 0 to 5"));
  CHECK(t.checksum() == before);
}

TEST_CASE("integer constants: a loader gives them with the samples, and fit() trains on them") {
  // The class is whether the product of the number and the integer is positive, so the integers are needed.
  constexpr std::size_t rows = 200;
  std::vector<float> x(rows);
  std::vector<std::int32_t> sign(rows);
  std::vector<int> y(rows);
  const types::random_key key{.seed = 4};
  for (std::size_t r = 0; r < rows; ++r) {
    x[r] = 2 * ops::random_uniform<float>(key, r) - 1;
    sign[r] = ops::random_bits(key, 1000 + r) % 2 == 0 ? 1 : -1;
    y[r] = x[r] * static_cast<float>(sign[r]) > 0 ? 1 : 0;
  }
  using Signed = Sequential<Inputs<dims<1>, integer_constant<>>, Times<0>, Linear<1, 2>>;
  const tensor_dataset data{sample_array{shape{1}, x}, sample_array{shape{}, sign}, sample_array{shape{}, y}};
  trainer<Signed, CrossEntropyLoss, SGD, batch<16>> t{SGD{.learning_rate = 0.5}, {.seed = 3}};
  loader batches{data, sampler{}, batch<16>{}};
  fit(t, batches, {.max_epochs = 20});
  CHECK(t.steps() == 20 * 13); // the last of each epoch has 8 samples
  CHECK(accuracy(t, loader{data, sequential_sampler{}, batch<16>{}}) > 0.95);
}

namespace {

inline bool all_zero = true; // what a layer has seen of its constants

struct Zero {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  template <class T>
  static void forward(cpu::queue&, const forward_call<T>& call) {
    for (std::size_t r = 0; r < call.rows; ++r) all_zero = all_zero && call.constants.integers(0)[r] == 0;
    for (std::size_t i = 0; i < picked; ++i) all_zero = all_zero && call.constants.integers(1)[i] == 0;
    std::copy_n(call.inputs[0], call.rows * call.in(0).size(), call.outputs[0]);
  }
  template <class T>
  static void backward(cpu::queue&, const backward_call<T>& call) {
    if (call.input_gradients) std::copy_n(call.output_gradients[0], call.rows * call.in(0).size(), call.input_gradients[0]);
  }
};

} // namespace

TEST_CASE("measured costs: integers among the constants are zero, which every layer can take") {
  using Seen = Sequential<Inputs<dims<8>, integer_constant<>, batch_integer_constant<picked>>, Linear<8, 8>, Zero, Linear<8, 2>>;
  const auto costs = plan::measured_costs<Seen, 8>();
  CHECK(costs.size() == 4);
  CHECK(all_zero);
}

} // namespace trainer_integer_constants_tests
