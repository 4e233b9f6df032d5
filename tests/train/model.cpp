// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/comm/threads.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/train/model.hpp>

#include "../layer/several_layers.hpp"
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

std::vector<float> outputs_of(const owned_tensor<float>& view) { return {view.begin(), view.end()}; }

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

TEST_CASE("model: parameters and buffers go by their names") {
  model<Net, batch<6>> net{{.seed = 3}};
  std::vector<std::string> names, buffers;
  net.for_each([&](const named_parameter<float>& p) { names.push_back(p.name); });
  net.for_each_buffer([&](const named_parameter<float>& p) { buffers.push_back(p.name); });
  REQUIRE(names.size() == 16);
  CHECK(names.front() == "0.weight");
  CHECK(names.back() == "5.bias");
  CHECK(buffers == std::vector<std::string>{"4.1.forwards", "4.1.sum"});
  // They are the model's own: what is written there is computed with.
  const samples s(6, 1);
  net.for_each([](const named_parameter<float>& p) {
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

} // namespace model_tests
