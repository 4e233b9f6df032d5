// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/train/step/step_outcomes.hpp>
#include <doctest/doctest.h>

#include "../apart_ops.hpp"

namespace step_outcomes_tests {

using namespace cairn;

TEST_CASE("step_outcomes: what a step tells is settled before its place is used again, and kept") {
  apart::device device(types::device_options{});
  using outcomes = detail::step_outcomes<float, apart::device>;
  outcomes all(device, 16);
  auto facts = device.allocate(64);
  std::vector<std::uint64_t> settled;
  const auto settle = [&](outcomes::outcome& o) {
    while (!device.compute().reached(o.done)) {
    }
    settled.push_back(o.call);
    if (o.has_facts) CHECK(all.facts(o)[15] == 2);
    CHECK(o.mean() == (o.has_mean ? 0.25 : 0.5));
    all.close(o);
  };
  device.compute().put([at = facts.data()](cpu::queue&) { reinterpret_cast<float*>(apart::at(at))[15] = 2; });
  for (int step = 0; step < 5; ++step) {
    auto& o = all.begin(settle);
    CHECK(o.mean() == 1);
    o.has_facts = step % 2 == 1;
    o.has_mean = step % 2 == 0;
    o.scale = 0.5;
    device.compute().put([to = o.numbers(), step](cpu::queue&) {
      apart::at(to)->loss = 10 + step;
      apart::at(to)->mean = 0.5;
    });
    all.end(device.compute(), o, reinterpret_cast<const float*>(facts.data()));
    CHECK(&all.latest() == &o);
  }
  CHECK(settled == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(all.loss_of(2) == 12);
  CHECK(all.is_open(3));
  all.settle([](auto& o) { return o.call == 3; }, settle);
  CHECK(settled.back() == 3);
  CHECK_FALSE(all.is_open(3));
  all.settle([](auto&) { return true; }, settle);
  CHECK(all.loss_of(4) == 14);

  all.end(device.compute(), all.begin(settle), nullptr);
  all.forget();
  all.settle([](auto&) { return true; }, settle);
  CHECK(settled.size() == 5);
  device.compute().finish();
}

} // namespace step_outcomes_tests
