// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/weights_on_host.hpp>

#include "apart_ops.hpp"
#include "training.hpp"

namespace weights_on_host_tests {

using namespace cairn;

namespace {

using Plain = Sequential<Linear<testing::features, 4>>;

template <class Device>
std::vector<std::string> names_and_numbers() {
  trainer<Plain, CrossEntropyLoss, AdamW, batch<6>, float, Device> t{AdamW{}};
  {
    auto all = t.inside().states_on_host();
    CHECK(all.states() == 2);
    all.for_each_of_state(1, [](const auto& q) { q.numbers[0] = 8; });
    all.for_each_parameter([](const auto& q) { q.numbers[1] = 9; });
    all.give_back();
  }
  std::vector<std::string> out;
  auto all = t.inside().states_on_host();
  for (std::size_t i = 0; i < 2; ++i)
    all.for_each_of_state(i, [&](const auto& q) { out.push_back(q.name + " " + std::to_string(q.numbers[0])); });
  all.for_each_parameter([&](const auto& q) { out.push_back(q.name + " " + std::to_string(q.numbers[1])); });
  return out;
}

} // namespace

TEST_CASE("weights_on_host: parameters and states by name, on any device, and what was changed is there") {
  const std::vector<std::string> expected{"0.weight 0.000000", "0.bias 0.000000",   "0.weight 8.000000",
                                          "0.bias 8.000000",   "0.weight 9.000000", "0.bias 9.000000"};
  CHECK(names_and_numbers<cpu>() == expected);
  CHECK(names_and_numbers<apart::device>() == expected);
}

} // namespace weights_on_host_tests
