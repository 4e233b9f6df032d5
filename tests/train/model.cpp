// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/model.hpp>

#include "../data/allocations.hpp"
#include "../layer/several_layers.hpp"
#include "at_once.hpp"
#include "training.hpp"

namespace model_tests {

using namespace cairn;
using testing::has;
using testing::Net;
using testing::samples;
using testing::text_of;

namespace {

template <class Model, std::size_t Batch = 6>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<Batch>>;

std::vector<float> outputs_of(const types::owned_tensor<float>& view) { return {view.begin(), view.end()}; }

} // namespace

TEST_CASE("model: it starts with the parameters of a trainer of the same seed") {
  const model<Net, batch<6>> own{{.seed = 3}};
  CHECK(own.checksum() == training<Net>{testing::momentum, {.seed = 3}}.checksum());
  CHECK(own.checksum() != model<Net, batch<6>>{{.seed = 4}}.checksum());
  CHECK(model<Net, batch<6>>{}.checksum() == model<Net, batch<6>>{{.seed = 0}}.checksum());
}

TEST_CASE("model: what stands around a network for its training changes nothing here") {
  using plain = model<Net, batch<6>>;
  static_assert(std::is_same_v<plain::plan, model<checkpoint<sqrt_n, Net>, batch<6>>::plan>);
  static_assert(std::is_same_v<plain::plan, model<fused_update<checkpoint<sqrt_n, Net>>, batch<6>>::plan>);
  static_assert(std::is_same_v<plain::plan, model<ddp<Net, threads::rank>, batch<6>>::plan>);
}

TEST_CASE("model: it computes what the trainer computes, from a trainer of any policy and batch") {
  const samples s(5, 1);
  const auto check = [&]<class Trainer>(Trainer& train) {
    for (std::uint32_t step = 0; step < 3; ++step) {
      const samples own(6, step);
      train.step(own.x, own.y);
    }
    model<Net, batch<11>> net{{.seed = 9, .threads = 2}};
    CHECK(outputs_of(net.evaluate(s.x)) != outputs_of(train.evaluate(s.x)));
    net.copy_parameters(train);
    CHECK(net.checksum() == train.checksum());
    CHECK(std::vector(net.buffers().begin(), net.buffers().end()) == std::vector(train.buffers().begin(), train.buffers().end()));
    CHECK(net.buffers()[0] == 3); // Witness has seen three first forwards
    CHECK(outputs_of(net.evaluate(s.x)) == outputs_of(train.evaluate(s.x)));
  };
  training<Net> stored{testing::momentum, {.seed = 3}};
  training<checkpoint<recompute_all, Net>, 8> again{testing::momentum, {.seed = 3}};
  training<fused_update<checkpoint<sqrt_n, Net>>> fused{testing::momentum, {.seed = 3}};
  check(stored);
  check(again);
  check(fused);
  threads{1}.run([&](threads::rank& rank) {
    training<ddp<Net, threads::rank>> replica{rank, testing::momentum, {.seed = 3}};
    check(replica);
  });
}

TEST_CASE("model: copies go both ways, and from model to model") {
  model<Net, batch<6>> first{{.seed = 3}};
  model<checkpoint<sqrt_n, Net>, batch<2>> second{{.seed = 4}};
  training<Net> train{testing::momentum, {.seed = 5}};
  second.copy_parameters(first);
  CHECK(second.checksum() == first.checksum());
  train.copy_parameters(second);
  CHECK(train.checksum() == first.checksum());
}

TEST_CASE("model: any number of rows up to its batch, and no more") {
  model<Net, batch<6>> net{{.seed = 3}};
  const samples s(7, 1);
  const std::span<const float> x(s.x);
  const std::vector<float> all = outputs_of(net.evaluate(x.first(6 * testing::features)));
  for (std::size_t rows = 1; rows <= 6; ++rows) {
    const auto view = net.evaluate(x.first(rows * testing::features));
    REQUIRE(view.rows() == rows);
    CHECK(view.sample_shape() == shape{testing::classes});
    for (std::size_t i = 0; i < view.size(); ++i) CHECK(view[i] == all[i]);
  }
  const std::string text = text_of([&] { net.evaluate(s.x); });
  CHECK(has(text, "expected at most 6 samples"));
  CHECK(has(text, "found 7"));
}

TEST_CASE("model: it has a thread for each core, or as many as it is given") {
  CHECK(model<Net, batch<6>>{}.threads() == detail::usable_cores());
  CHECK(model<Net, batch<6>>{{.threads = 3}}.threads() == 3);
  CHECK(has(text_of([] { model<Net, batch<6>>{{.threads = static_cast<std::size_t>(-2)}}; }), "found -2"));
}

TEST_CASE("model: device_bytes() are those that it has allocated, but for the scratch memory of its device") {
  using Small = Sequential<Linear<testing::features, 30>, BatchNorm1d<30>, ReLU, Linear<30, testing::classes>>;
  const samples s(6, 1);
  const auto check = [&]<class T>(std::type_identity<T>, bool packs) {
    cpu device{types::device_options{.threads = 1}};
    const std::size_t before = testing::aligned_bytes;
    const model<Small, batch<6>, T> net{device, {.packs_weights = packs}};
    const std::vector<accumulated<T>> x(s.x.begin(), s.x.end());
    net.evaluate(x);
    CHECK(net.device_bytes() == testing::aligned_bytes - before);
  };
  check(std::type_identity<float>{}, true);
  check(std::type_identity<float>{}, false);
  check(std::type_identity<double>{}, true);
  check(std::type_identity<bfloat16>{}, true);
}

TEST_CASE("model: parameters and buffers go by their names") {
  model<Net, batch<6>> net{{.seed = 3}};
  std::vector<std::string> names, buffers;
  net.for_each([&](const types::named_parameter<float>& p) { names.push_back(p.name); });
  net.for_each_buffer([&](const types::named_parameter<float>& p) { buffers.push_back(p.name); });
  REQUIRE(names.size() == 16);
  CHECK(names.front() == "0.weight");
  CHECK(names.back() == "5.bias");
  CHECK(buffers == std::vector<std::string>{"4.1.forwards", "4.1.sum"});
  // They are the model's own memory: evaluations use what is written there.
  const samples s(6, 1);
  net.for_each([](const types::named_parameter<float>& p) {
    for (float& x : p.numbers) x = 0;
  });
  CHECK(outputs_of(net.evaluate(s.x)) == std::vector<float>(6 * testing::classes, 0));
}

TEST_CASE("model: a network of several arrays") {
  using Masking = Sequential<Inputs<dims<10>, constant<10>>, Linear<10, 10>, testing::Masked<>, Linear<10, 4>>;
  training<Masking> train{testing::momentum, {.seed = 3}};
  model<Masking, batch<6>> net;
  net.copy_parameters(train);
  const samples a(6, 1), b(6, 2);
  CHECK(outputs_of(net.evaluate(inputs(a.x, b.x))) == outputs_of(train.evaluate(inputs(a.x, b.x))));
  CHECK(outputs_of(net.evaluate(inputs(a.x, b.x))) != outputs_of(net.evaluate(inputs(a.x, a.x))));
}

namespace {

// Checks that evaluations of one const model on four threads have the bits of those on one thread.
template <class Model, class... Inputs>
void same_bits_at_once(const Model& net, const Inputs&... all) {
  std::vector<std::function<std::vector<float>()>> calls;
  const auto add = [&](const auto& given) {
    calls.push_back([&net, &given] { return outputs_of(net.evaluate(given)); });
    calls.push_back([&net, &given] {
      std::vector<float> into(6 * Model::output_shape.size());
      const auto view = net.evaluate(given, into);
      return std::vector<float>(view.begin(), view.end());
    });
  };
  (add(all), ...);
  CHECK(testing::wrong_at_once(4, 2500, calls) == 0);
}

} // namespace

TEST_CASE("model: four threads that ask one const model get the bits of one thread") {
  training<Net> train{testing::momentum, {.seed = 3}};
  const samples a(6, 1), b(6, 2);
  const std::span<const float> one = std::span(a.x).last(testing::features), three = std::span(b.x).first(3 * testing::features);
  train.step(a.x, a.y);
  for (std::size_t threads = 1; threads <= 2; ++threads) {
    CAPTURE(threads);
    model<Net, batch<6>> net{{.seed = 4, .threads = threads}};
    net.copy_parameters(train);
    same_bits_at_once(net, a.x, b.x, one, three);
  }
}

TEST_CASE("model: several threads, running statistics, and weights of 16 bits") {
  using Normed = Sequential<Linear<testing::features, 16>, BatchNorm1d<16>, ReLU, Dropout<>, frozen<Linear<16, 16>>,
                            Linear<16, testing::classes>>;
  const samples a(6, 1), b(6, 2);
  const auto check = [&]<class T>(std::type_identity<T>) {
    trainer<Normed, CrossEntropyLoss, SGD, batch<6>, T> train{testing::momentum, {.seed = 3}};
    for (int i = 0; i < 3; ++i) train.step(a.x, a.y);
    model<Normed, batch<6>, T> net{{.threads = 2}};
    CHECK(outputs_of(net.evaluate(a.x)) != outputs_of(train.evaluate(a.x)));
    net.copy_parameters(train);
    same_bits_at_once(net, a.x, b.x);
    CHECK(outputs_of(net.evaluate(a.x)) == outputs_of(train.evaluate(a.x)));
  };
  check(std::type_identity<float>{});
  check(std::type_identity<bfloat16>{});
}

TEST_CASE("model: several threads, integers and several arrays") {
  using Words = Sequential<Inputs<integers<3>>, Embedding<9, 4>, Flatten, Linear<12, 5>>;
  const model<Words, batch<6>> words{{.seed = 3}};
  const std::vector<std::int32_t> few{1, 8, 2}, more{3, 3, 0, 4, 5, 6, 7, 8, 0};
  same_bits_at_once(words, few, more);

  using Masking = Sequential<Inputs<dims<10>, constant<10>>, Linear<10, 10>, testing::Masked<>, Linear<10, 4>>;
  const model<Masking, batch<6>> masking{{.seed = 3}};
  const samples a(6, 1), b(6, 2);
  const auto ab = inputs(a.x, b.x), ba = inputs(b.x, a.x);
  same_bits_at_once(masking, ab, ba);
}

TEST_CASE("model: of bfloat16, numbers that the program writes at any time are those of the next evaluation") {
  using Small = Sequential<Linear<testing::features, testing::classes>>;
  model<Small, batch<6>, bfloat16> net{{.seed = 3}}, other{{.seed = 4}};
  const samples s(6, 1);
  const std::vector<float> first = outputs_of(net.evaluate(s.x)), others = outputs_of(other.evaluate(s.x));
  CHECK(first != others);
  net.copy_parameters(other);
  CHECK(outputs_of(net.evaluate(s.x)) == others);
  const std::span<float> bias = net.parameter("0.bias");
  float before = outputs_of(net.evaluate(s.x))[0];
  for (int i = 0; i < 3; ++i) { // through one span, after evaluations
    bias[0] += 4;
    const float now = outputs_of(net.evaluate(s.x))[0];
    CHECK(now == doctest::Approx(before + 4).epsilon(0.05));
    before = now;
  }
  net.for_each([&](const types::named_parameter<float>& p) { // and while they are shown
    for (float& x : p.numbers) x = 0;
    if (p.name == "0.bias") CHECK(outputs_of(net.evaluate(s.x)) == std::vector<float>(6 * testing::classes, 0));
  });
}

TEST_CASE("model: a const one shows all that is read") {
  model<Net, batch<6>> net{{.seed = 3}};
  const auto& seen = std::as_const(net);
  std::vector<std::string> names, buffers;
  seen.for_each([&](const auto& p) {
    static_assert(std::is_same_v<decltype(p), const types::named_parameter<const float>&>);
    names.push_back(p.name);
    CHECK(p.numbers.data() == seen.parameter(p.name).data());
    CHECK(p.numbers.data() == net.parameter(p.name).data());
  });
  seen.for_each_buffer([&](const auto& p) {
    static_assert(std::is_same_v<decltype(p.numbers), std::span<const float>>);
    buffers.push_back(p.name);
    CHECK(p.numbers.data() == seen.buffer(p.name).data());
  });
  CHECK(names.size() == 16);
  CHECK(buffers == std::vector<std::string>{"4.1.forwards", "4.1.sum"});
  CHECK(seen.threads() == net.threads());
  CHECK(has(text_of([&] { static_cast<void>(seen.parameter("9")); }), "expected the name of a parameter, found \"9\""));
  const samples s(6, 1);
  const view_dataset all{tensor_view<const float>(s.x.data(), 6, shape{testing::features}),
                         tensor_view<const int>(s.y.data(), 6, shape{1})};
  CHECK(accuracy(seen, loader{all, sequential_sampler{}, batch<6>{}}) == accuracy(seen.evaluate(s.x), s.y));
}

} // namespace model_tests
