// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/train/optimizers/updates.hpp>

namespace updates_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Records the calls of update().
struct noted {
  static inline std::vector<std::array<double, 4>> calls; // count, first gradient, scale, is_special
  double learning_rate = 0.1;
  std::size_t kept = 1;
  std::size_t states() const { return kept; }
  template <class Queue, class T>
  void update(Queue&, const update_call<T>& call) const {
    calls.push_back(
        {static_cast<double>(call.count), static_cast<double>(call.gradients[0]), call.scale(), call.is_special ? 1.0 : 0.0});
    call.parameters[0] -= static_cast<T>(call.learning_rate) * call.gradients[0];
    call.states[0][0] += 1;
  }
};
struct divided : noted {
  static bool is_special(const tensor& t) { return t.rank() < 2; }
};

} // namespace

TEST_CASE("updates: a bucket is updated in one call, or one for each kind of parameters") {
  cpu device;
  std::vector<float> parameters(64, 1.0F), gradients(64);
  for (std::size_t i = 0; i < 64; ++i) gradients[i] = static_cast<float>(i);
  noted::calls.clear();
  const updates<noted, float, cpu> plain(noted{}, device, 64);
  plain.apply(device.compute(), {{0.5}, 0.1, 1}, parameters.data(), gradients.data() + 16, 16, 48);
  CHECK(noted::calls == std::vector<std::array<double, 4>>{{32, 16, 0.5, 0}});
  CHECK(parameters[16] == 1.0F - 0.1F * 16);
  CHECK(plain.state(0)[16] == 1);
  CHECK(plain.state(0)[0] == 0);

  noted::calls.clear();
  updates<divided, float, cpu> two(divided{}, device, 64);
  const tensor weight{4, 4}, bias{5};
  named_parameter<float> q;
  q.facts = &bias; // padded to a cache line, as every tensor
  q.numbers = std::span(parameters).subspan(16, 5);
  q.place = 16;
  two.add(q);
  q.facts = &weight;
  q.numbers = std::span(parameters).first(16);
  q.place = 0;
  two.add(q);
  two.apply(device.compute(), {{1}, 0.1, 1}, parameters.data(), gradients.data(), 0, 32);
  CHECK(noted::calls == std::vector<std::array<double, 4>>{{16, 0, 1, 0}, {16, 16, 1, 1}});

  // In pieces, a parameter may be cut.
  noted::calls.clear();
  two.apply(device.compute(), {{1}, 0.1, 1}, parameters.data(), gradients.data(), 0, 8);
  two.apply(device.compute(), {{1}, 0.1, 1}, parameters.data(), gradients.data() + 8, 8, 24);
  CHECK(noted::calls == std::vector<std::array<double, 4>>{{8, 0, 1, 0}, {8, 8, 1, 0}, {8, 16, 1, 1}});
}

TEST_CASE("updates: another optimizer needs as many states") {
  cpu device;
  updates<noted, float, cpu> u(noted{}, device, 16);
  noted other;
  other.learning_rate = 0.5;
  u.change(other);
  CHECK(u.optimizer().learning_rate == 0.5);
  other.kept = 2;
  CHECK_THROWS_WITH_AS(u.change(other), doctest::Contains("an optimizer of 1 states, as before, found one of 2"), input_error);
  other.kept = 1;
  other.learning_rate = -1;
  CHECK_THROWS_AS(u.change(other), input_error);
  CHECK(u.optimizer().learning_rate == 0.5);
}

} // namespace updates_tests
