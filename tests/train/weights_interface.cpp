// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/gradient_check.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/weights_interface.hpp>

#include "training.hpp"

namespace weights_interface_tests {

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

// The names of the parameters and buffers, by the interface that a model and a trainer share.
template <class Owner>
std::vector<std::string> names_of(Owner& owner) {
  std::vector<std::string> names;
  std::size_t elements = 0;
  const auto take = [&](const auto& q) {
    names.push_back(q.name);
    elements += q.numbers.size();
  };
  owner.for_each(take);
  owner.for_each_buffer(take);
  CHECK(elements <= owner.parameters().size() + owner.buffers().size());
  return names;
}

// y = x / temperature; the program sets the temperature while it trains.
struct Tempered {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list buffers(const arguments&) { return {{"temperature", {1}, initial::constant(2)}}; }
  static void forward(auto& /*queue*/, const auto& call) {
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.outputs[0][i] = call.inputs[0][i] / call.buffers[0][0];
  }
  static void backward(auto& /*queue*/, const auto& call) {
    for (std::size_t i = 0; call.input_gradients && i < call.rows * call.in(0).size(); ++i)
      call.input_gradients[0][i] = call.output_gradients[0][i] / call.buffers[0][0];
  }
};

// The parameters' checksum after three steps, with temperatures of 2, 1 and 0.5 if it `cools`.
template <class Model>
std::uint64_t cooled(bool cools) {
  trainer<Model, CrossEntropyLoss, SGD, batch<6>> train{testing::momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    if (cools) train.buffer("3.temperature")[0] = 2.0F / static_cast<float>(1U << step);
    const samples s(6, step);
    train.step(s.x, s.y);
  }
  return train.checksum();
}

} // namespace

TEST_CASE("weights_interface: a number of a layer that changes while it trains is a buffer with a name") {
  CHECK(gradient_fault<Tempered>({{4}}) == "");
  using Cooling = Sequential<Linear<testing::features, 8>, ReLU, Linear<8, testing::classes>, Tempered>;
  const std::uint64_t stored = cooled<Cooling>(true);
  CHECK(stored != cooled<Cooling>(false));
  CHECK(cooled<checkpoint<recompute_all, Cooling>>(true) == stored);
  // At half the temperature the outputs are twice as large.
  model<Cooling, batch<6>> net{{.seed = 4}};
  const samples s(6, 1);
  std::vector<float> warm(6 * testing::classes), cold(warm.size());
  net.evaluate(s.x, warm);
  net.buffer("3.temperature")[0] = 1;
  net.evaluate(s.x, cold);
  for (std::size_t i = 0; i < warm.size(); ++i) CHECK(cold[i] == 2 * warm[i]);
}

TEST_CASE("weights_interface: parameters and buffers by name, or an error that says the names") {
  using Small = Sequential<Linear<testing::features, testing::classes>>;
  model<Small, batch<6>> net{};
  CHECK(net.parameter("0.bias").size() == testing::classes);
  net.for_each([&](const types::named_parameter<float>& q) { CHECK(net.parameter(q.name).data() == q.numbers.data()); });
  CHECK(testing::text_of([&] { net.parameter("1.bias"); }) ==
        "model: expected the name of a parameter, found \"1.bias\"; there are 0.weight, 0.bias");
  CHECK(testing::text_of([&] { net.buffer("0.bias"); }) ==
        "model: expected the name of a buffer, found \"0.bias\"; there are none");
}

TEST_CASE("weights_interface: a model and a trainer show the same parameters, and take each other's") {
  trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, SGD, batch<6>> train{testing::momentum, {.seed = 3}};
  model<Net, batch<6>> net{{.seed = 4}};
  static_assert(decltype(train)::output_shape == decltype(net)::output_shape);
  CHECK(names_of(train) == names_of(net));
  CHECK(names_of(net).size() > 10);
  CHECK(net.checksum() != train.checksum());
  net.copy_parameters(train);
  CHECK(net.checksum() == train.checksum());
  const samples s(6, 1);
  std::vector<float> a(6 * testing::classes), b(a.size());
  train.evaluate(s.x, a);
  net.evaluate(s.x, b);
  CHECK(a == b);
  CHECK(testing::has(testing::text_of([&] { train.evaluate(std::vector<float>(7)); }), "trainer::evaluate, inputs"));
  CHECK(testing::has(testing::text_of([&] { net.evaluate(std::vector<float>(7)); }), "model::evaluate, inputs"));
}

} // namespace weights_interface_tests
