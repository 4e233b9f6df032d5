// SPDX-License-Identifier: MIT
// Statistics of data in a network: what sets them, and all that keeps them.
//
// long to compile
#include <cairn/train/learn_statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/standardize.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/in_float.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/report/summary.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/write_header.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "apart.hpp"
#include "apart_ops.hpp"

namespace learn_statistics_tests {

using namespace cairn;
using preprocess::learn_statistics;
using preprocess::Standardize;

namespace {

constexpr std::size_t features = 3, samples = 64;

using Net = Sequential<Standardize<features>, Linear<features, 8>, ReLU, Linear<8, 1>>;
template <class Model, class T = float, class Device = cpu>
using training = trainer<Model, MSELoss, SGD, batch<16>, T, Device>;

// Features far from 0, very small, and always the same. The target follows the first two, as they are standardized.
struct numbers {
  std::vector<float> x, y;

  numbers() {
    for (std::size_t i = 0; i < samples; ++i) {
      const float a = ops::random_uniform<float>({.seed = 1}, i), b = ops::random_uniform<float>({.seed = 2}, i);
      x.insert(x.end(), {2000 + 100 * a, 1e-4F * b, 7});
      y.push_back(2 * a - b);
    }
  }
  auto data() const { return tensor_dataset{sample_array{shape{features}, x}, sample_array{shape{1}, y}}; }
};

template <class Trainer>
double train_steps(Trainer& train, const numbers& all, int steps) {
  double loss = 0;
  const std::size_t rows = 16;
  for (int s = 0; s < steps; ++s) {
    const std::size_t first = static_cast<std::size_t>(s) * rows % samples;
    loss = train.step(std::span(all.x).subspan(first * features, rows * features), std::span(all.y).subspan(first, rows));
  }
  return loss;
}

template <class Owner>
std::string text_of_error(Owner& owner, const preprocess::feature_statistics& found, std::string_view place = {}) {
  try {
    preprocess::set_statistics(owner, found, place);
  } catch (const input_error& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

TEST_CASE("learn_statistics: a network has those of its data, trains with them and does not change them") {
  const numbers all;
  training<Net> train{SGD{.learning_rate = 0.1}, {.seed = 3}}, raw{SGD{.learning_rate = 0.1}, {.seed = 3}};
  const auto found = learn_statistics(train, all.data());
  CHECK(found.rows == samples);
  for (std::size_t j = 0; j < features; ++j) {
    CHECK(train.buffer("0.mean")[j] == static_cast<float>(found.mean[j]));
    CHECK(train.buffer("0.std")[j] == static_cast<float>(found.deviation[j]));
  }
  const std::vector<float> before(train.buffers().begin(), train.buffers().end());
  CHECK(train_steps(train, all, 300) < 0.005);
  CHECK(std::vector<float>(train.buffers().begin(), train.buffers().end()) == before);
  CHECK_FALSE(train_steps(raw, all, 300) < 0.1); // features as they are: nothing is learnt from them

  model<Net, batch<4>> net; // as by hand, before the same network without the layer
  net.copy_parameters(train);
  model<Sequential<Linear<features, 8>, ReLU, Linear<8, 1>>, batch<4>> rest;
  for (const auto* const name : {"weight", "bias"})
    for (const int k : {0, 2}) {
      const auto from = net.parameter(std::to_string(k + 1) + "." + name);
      const auto to = rest.parameter(std::to_string(k) + "." + name);
      std::copy(from.begin(), from.end(), to.begin());
    }
  std::vector<float> by_hand;
  for (std::size_t i = 0; i < 4 * features; ++i)
    by_hand.push_back((all.x[i] - net.buffer("0.mean")[i % features]) / net.buffer("0.std")[i % features]);
  const auto expected = rest.evaluate(by_hand), made = net.evaluate(std::span(all.x).first(4 * features));
  for (std::size_t i = 0; i < 4; ++i) CHECK(made.data()[i] == expected.data()[i]);
}

TEST_CASE("learn_statistics: the same bits under every checkpoint policy, on a device apart, and where inputs have a gradient") {
  const numbers all;
  const auto bits = [&]<class Trainer>(Trainer&& train) {
    learn_statistics(train, all.data());
    train_steps(train, all, 5);
    return train.checksum();
  };
  using Body = Sequential<Linear<features, 8>, Residual<Standardize<8>, Linear<8, 8>, ReLU>, Standardize<8>, Linear<8, 1>>;
  const auto deep = [&]<class Model, class Device = cpu>(std::type_identity<Model>, std::type_identity<Device> = {}) {
    training<Model, float, Device> train{SGD{.learning_rate = 0.1}, {.seed = 3}};
    const preprocess::feature_statistics some{std::vector<double>(8, 0.25), std::vector<double>(8, 3)};
    preprocess::set_statistics(train, some, "1.0");
    preprocess::set_statistics(train, some, "2");
    train_steps(train, all, 5);
    return train.checksum();
  };
  using type_of_net = std::type_identity<Body>;
  const std::uint64_t want = deep(type_of_net{});
  CHECK(deep(std::type_identity<checkpoint<recompute_all, Body>>{}) == want);
  CHECK(deep(std::type_identity<checkpoint<sqrt_n, Body>>{}) == want);
  CHECK(deep(std::type_identity<checkpoint<revolve<1>, Body>>{}) == want);
  CHECK(deep(type_of_net{}, std::type_identity<apart::device>{}) == want);
  CHECK(bits(training<Net>{SGD{}, {.seed = 3}}) == bits(training<checkpoint<recompute_all, Net>>{SGD{}, {.seed = 3}}));

  training<with_input_gradient<Net>> train{SGD{}, {.seed = 3}};
  learn_statistics(train, all.data());
  train_steps(train, all, 1);
  CHECK(train.input_gradient().data()[1] != 0);
}

TEST_CASE("learn_statistics: files and headers have them, and so have copies") {
  const folder here;
  const numbers all;
  training<Net> train{SGD{}, {.seed = 3}};
  learn_statistics(train, all.data());
  model<Net, batch<4>> copy;
  copy.copy_parameters(train);
  CHECK(copy.buffer("0.mean")[0] == train.buffer("0.mean")[0]);
  write_header(train, here.path / "net.hpp", {.name = "scaled"});
  const std::string header = contents(here.path / "net.hpp");
  CHECK(header.find("preprocess::Standardize<3") != std::string::npos);
  std::string mean;
  detail::append_constant(mean, train.buffer("0.mean")[0]);
  CHECK(header.find(mean) != std::string::npos);
  CHECK(summary<Net, 16>().text().find("preprocess::Standardize<3>") != std::string::npos);
}

TEST_CASE("learn_statistics: all ranks have those of the same data, or of the rank that others are synchronized with") {
  const numbers all;
  threads{3}.run([&](threads::rank& rank) {
    trainer<ddp<Net, threads::rank>, MSELoss, SGD, batch<16>> train{rank, SGD{.learning_rate = 0.1}, {.seed = 3}};
    learn_statistics(train, all.data());
    train_steps(train, all, 3);
    const float mean = train.buffer("0.mean")[0];
    CHECK(mean > 2000);
    trainer<ddp<Net, threads::rank>, MSELoss, SGD, batch<16>> other{rank, SGD{}, {.seed = 3}};
    if (rank.rank() == 1) learn_statistics(other, all.data());
    other.synchronize(1);
    CHECK(other.buffer("0.mean")[0] == mean);
  });
}

TEST_CASE("learn_statistics: in a network of 16 bits the statistics are floats") {
  const numbers all;
  training<Net, bfloat16> train{SGD{.learning_rate = 0.1}, {.seed = 3}};
  training<Sequential<in_float<Standardize<features>>, Linear<features, 8>, ReLU, Linear<8, 1>>, bfloat16> wide{SGD{},
                                                                                                                {.seed = 3}};
  const auto found = learn_statistics(train, all.data());
  learn_statistics(wide, all.data());
  CHECK(train.buffer("0.mean")[0] == static_cast<float>(found.mean[0]));
  CHECK(std::isfinite(train_steps(train, all, 5)));
  CHECK(std::isfinite(train_steps(wide, all, 5)));
}

TEST_CASE("learn_statistics: the layer is found by its place, and what does not fit changes nothing") {
  const preprocess::feature_statistics three{{1, 2, 3}, {4, 5, 6}};
  using Two = Sequential<Standardize<3>, Repeat<2, Sequential<Standardize<3>, ReLU>>, Linear<3, 1>>;
  model<Two, batch<4>> net;
  CHECK(text_of_error(net, three) == "preprocess::set_statistics: expected the place of a preprocess::Standardize, one of \"0\", "
                                     "\"1.0\", \"2.0\", found none");
  CHECK(text_of_error(net, three, "3").ends_with("found \"3\""));
  CHECK(text_of_error(net, three, "2.0").empty());
  CHECK(net.buffer("2.0.std")[2] == 6);
  CHECK(net.buffer("1.0.std")[2] == 1);
  CHECK(net.buffer("0.std")[2] == 1);

  model<Net, batch<4>> one;
  const std::vector<float> before(one.buffers().begin(), one.buffers().end());
  CHECK(text_of_error(one, {{1, 2}, {3, 4}})
            .ends_with("each of the 3 features of the preprocess::Standardize at \"0\", found 2 and 2"));
  CHECK(text_of_error(one, {{1, 2, 3}, {4, 0, 6}}).find("expected a positive deviation") != std::string::npos);
  CHECK(text_of_error(one, {{1, 2, 3}, {4, -1, 6}}).find("in feature 1") != std::string::npos);
  CHECK(text_of_error(one, {{1, 2, 3}, {4, 1e-50, 6}}).find("that a number of 32 bits holds") != std::string::npos);
  CHECK(text_of_error(one, {{1, 1e40, 3}, {4, 1, 6}}).find("expected a mean that") != std::string::npos);
  CHECK(text_of_error(one, {{1, std::nan(""), 3}, {4, 1, 6}}).find("found nan in feature 1") != std::string::npos);
  CHECK(std::vector<float>(one.buffers().begin(), one.buffers().end()) == before);
  model<Linear<3, 1>, batch<4>> none;
  CHECK(text_of_error(none, three).find("found none in it; write one as its first layer") != std::string::npos);
  model<Standardize<3>, batch<4>> alone;
  CHECK(text_of_error(alone, three).empty());
}

} // namespace learn_statistics_tests
