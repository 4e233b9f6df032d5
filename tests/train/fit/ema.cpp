// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/train/fit/ema.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include <unistd.h>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/layer_groups.hpp>
#include <cairn/train/state/saved_state.hpp>
#include <cairn/train/trainer.hpp>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../apart.hpp"
#include "../apart_ops.hpp"
#include "../training.hpp"

namespace ema_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::samples;

namespace {

using Net = Sequential<frozen<Linear<features, 8>>, BatchNorm1d<8>, ReLU, Linear<8, classes>>;

static_assert(optimizer<ema<AdamW>> && !detail::divides_parameters<ema<AdamW>>);
static_assert(detail::divides_parameters<ema<parameter_groups<vectors_only, AdamW>>>);
static_assert(detail::has_groups<ema<layer_groups<AdamW>>> && !detail::has_groups<ema<AdamW>>);

template <class Optimizer, class Model = Net, class Device = cpu>
using training = trainer<Model, CrossEntropyLoss, Optimizer, batch<6>, float, Device>;

template <class Trainer>
void make_steps(Trainer& t, std::uint32_t from, std::uint32_t to, std::uint32_t rank = 0) {
  for (std::uint32_t step = from; step < to; ++step) {
    const samples<> s(6, 7 * step + rank);
    t.step(s.x, s.y);
  }
}
// The parameters that a model has after copy_averages().
template <class Trainer>
std::vector<float> averages_of(Trainer& t) {
  model<Net, batch<3>> net;
  if constexpr (Trainer::is_apart) { // a model on the same device
    model<Net, batch<3>, float, apart::device> there;
    copy_averages(t, there);
    std::vector<float> all;
    there.for_each([&](const types::named_parameter<float>& p) { all.insert(all.end(), p.numbers.begin(), p.numbers.end()); });
    return all;
  } else {
    copy_averages(t, net);
    std::vector<float> all;
    net.for_each([&](const types::named_parameter<float>& p) { all.insert(all.end(), p.numbers.begin(), p.numbers.end()); });
    return all;
  }
}

const ema average_of_adam{AdamW{.learning_rate = 0.05}, 0.75};

} // namespace

TEST_CASE_TEMPLATE("ema: PyTorch's numbers", T, float, double) {
  cpu device;
  auto parameters = reference_numbers<T>("optimizer/start");
  const auto gradients = reference_numbers<T>("optimizer/gradients");
  const std::size_t count = parameters.size(), steps = gradients.size() / count;
  std::vector<T> momentum(count), averages(count), found;
  const ema own{SGD{.learning_rate = 0.1, .momentum = 0.9}, 0.9};
  REQUIRE(own.states() == 2);
  for (std::size_t step = 0; step < steps; ++step) {
    update_call<T> call;
    call.count = count;
    call.parameters = parameters.data();
    call.gradients = gradients.data() + step * count;
    call.states = {momentum.data(), averages.data()};
    call.learning_rate = own.learning_rate;
    call.step = step + 1;
    own.update(device.compute(), call);
    found.insert(found.end(), averages.begin(), averages.end());
  }
  CHECK(largest_difference(found, reference_values("optimizer/ema")) < (sizeof(T) == 4 ? 1e-6 : 1e-14));
}

TEST_CASE("ema: training has the bits of the optimizer alone, and the averages are those of the parameters") {
  training<ema<AdamW>> t{average_of_adam, {.seed = 3}};
  training<AdamW> alone{average_of_adam.optimizer, {.seed = 3}};
  const auto of = [](auto& trained) {
    std::vector<float> all;
    trained.for_each([&](const types::named_parameter<float>& p) { all.insert(all.end(), p.numbers.begin(), p.numbers.end()); });
    return all;
  };
  CHECK(averages_of(t) == of(t)); // no step yet
  std::vector<float> expected;
  for (std::uint32_t step = 0; step < 5; ++step) {
    make_steps(t, step, step + 1);
    make_steps(alone, step, step + 1);
    CHECK(t.checksum() == alone.checksum());
    const std::vector<float> now = of(t);
    if (step == 0) expected = now;
    for (std::size_t i = 0; i < now.size(); ++i) expected[i] += 0.25F * (now[i] - expected[i]);
    CHECK(averages_of(t) == expected);
  }
  CHECK(averages_of(t) != of(t));
  model<Net, batch<3>> net;
  copy_averages(t, net);
  CHECK(testing::copy_of(net.buffers()) == testing::copy_of(t.buffers())); // buffers are copied, not averaged
}

TEST_CASE("ema: a fused update, groups, ranks and a device with memory of its own make the same averages") {
  training<ema<AdamW>> t{average_of_adam, {.seed = 3}};
  make_steps(t, 0, 4);
  const std::vector<float> expected = averages_of(t);
  training<ema<AdamW>, fused_update<Net>> fused{average_of_adam, {.seed = 3}};
  make_steps(fused, 0, 4);
  CHECK(averages_of(fused) == expected);
  training<ema<AdamW>, Net, apart::device> apart_from_host{average_of_adam, {.seed = 3}};
  make_steps(apart_from_host, 0, 4);
  CHECK(averages_of(apart_from_host) == expected);
  using Groups = parameter_groups<vectors_only, AdamW>;
  training<ema<Groups>> divided{{Groups{.special = average_of_adam.optimizer, .others = average_of_adam.optimizer}, 0.75},
                                {.seed = 3}};
  make_steps(divided, 0, 4);
  CHECK(averages_of(divided) == expected);
  using Parts = layer_groups<AdamW>;
  training<ema<Parts>> by_name{{Parts{.others = average_of_adam.optimizer, .groups = {{"3", average_of_adam.optimizer}}}, 0.75},
                               {.seed = 3}};
  make_steps(by_name, 0, 4);
  CHECK(averages_of(by_name) == expected);

  std::vector<std::vector<float>> of_ranks(2);
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Net, threads::rank>, CrossEntropyLoss, ema<AdamW>, batch<6>> own{rank, average_of_adam, {.seed = 3}};
    make_steps(own, 0, 4, static_cast<std::uint32_t>(rank.rank()));
    of_ranks[static_cast<std::size_t>(rank.rank())] = averages_of(own);
  });
  CHECK(of_ranks[0] == of_ranks[1]);
  CHECK(of_ranks[0] != expected); // the second rank has other samples
}

TEST_CASE("ema: a state has the averages, and a run that is taken up ends with those of one that is not") {
  const std::string path = (std::filesystem::temp_directory_path() / ("cairn-ema-" + std::to_string(::getpid()))).string();
  training<ema<AdamW>> whole{average_of_adam, {.seed = 3}}, first{average_of_adam, {.seed = 3}},
      second{average_of_adam, {.seed = 9}};
  make_steps(whole, 0, 6);
  make_steps(first, 0, 3);
  save_state(first, path);
  load_state(second, path);
  CHECK(averages_of(second) == averages_of(first));
  make_steps(second, 3, 6);
  CHECK(averages_of(second) == averages_of(whole));
  CHECK(second.checksum() == whole.checksum());
  training<ema<AdamW>> other{{AdamW{.learning_rate = 0.05}, 0.5}, {.seed = 3}};
  CHECK(testing::has(testing::text_of([&] { load_state(other, path); }), "another optimizer"));
  std::filesystem::remove(path);
}

TEST_CASE("ema: a decay that makes no sense is refused") {
  const ema wrong{SGD{}, 1.5};
  CHECK(testing::has(testing::text_of([&] { training<ema<SGD>>{wrong}; }), "ema: expected a decay from 0 to 1, found 1.5"));
}

} // namespace ema_tests
