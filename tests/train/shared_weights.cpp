// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/session.hpp>
#include <cairn/train/shared_weights.hpp>

#include "apart_ops.hpp"
#include "at_once.hpp"
#include "training.hpp"

namespace shared_weights_tests {

using namespace cairn;
using testing::copy_of;
using testing::samples;

namespace {

// Calls a test's function, then passes its input on.
struct Interrupted {
  static inline std::function<void()> does{};

  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static void forward(auto& /*queue*/, const auto& call) {
    if (does) does();
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i) call.outputs[0][i] = call.inputs[0][i];
  }
  static void backward(auto& /*queue*/, const auto& /*call*/) {}
};

using Net = Sequential<Linear<testing::features, 8>, Interrupted, Linear<8, testing::classes>>;

} // namespace

TEST_CASE("shared_weights: calls at the same time have a context each, which is kept") {
  const model<Net, batch<6>> net{{.seed = 3, .threads = 2}};
  const auto& contexts = detail::weights_in(net).contexts();
  const samples s(6, 1);
  const std::vector<float> alone = copy_of(net.evaluate(s.x));
  CHECK(contexts.size() == 1);
  std::barrier gate(3);
  Interrupted::does = [&] { gate.arrive_and_wait(); }; // until all three calls are in the middle
  std::atomic<int> wrong{0};
  for (int round = 0; round < 3; ++round) {
    testing::on_threads(3, [&](std::size_t) { wrong += copy_of(net.evaluate(s.x)) != alone; });
    CHECK(contexts.size() == 3);
    CHECK(contexts.in_use() == 0);
  }
  CHECK(wrong == 0);
  Interrupted::does = {};
  CHECK(copy_of(net.evaluate(s.x)) == alone);
  CHECK(contexts.size() == 3);
}

TEST_CASE("shared_weights: an evaluation that throws gives its context back") {
  const model<Net, batch<6>> net{{.seed = 3, .threads = 1}};
  const auto& contexts = detail::weights_in(net).contexts();
  const samples s(6, 1);
  const std::vector<float> before = copy_of(net.evaluate(s.x));
  std::vector<float> into(24), little(3);
  Interrupted::does = [] { throw std::runtime_error("a layer's own"); };
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH(net.evaluate(s.x), "a layer's own");
    CHECK_THROWS_WITH(net.evaluate(s.x, into), "a layer's own");
    CHECK(contexts.in_use() == 0);
  }
  Interrupted::does = {};
  CHECK_THROWS_AS(net.evaluate(std::vector<float>(7)), input_error);
  CHECK_THROWS_AS(net.evaluate(s.x, little), input_error);
  CHECK(contexts.in_use() == 0);
  CHECK(contexts.size() == 1);
  CHECK(copy_of(net.evaluate(s.x)) == before);
}

TEST_CASE("shared_weights: weights of 16 bits are made once for all threads, and again when they have changed") {
  using Small = Sequential<Linear<testing::features, testing::classes>>;
  const samples s(6, 1);
  for (std::uint64_t round = 0; round < 200; ++round) {
    model<Small, batch<6>, bfloat16> net{{.seed = 3, .threads = 1}}, other{{.seed = 4 + round, .threads = 1}};
    if (round % 2 == 1) static_cast<void>(net.evaluate(s.x));
    net.copy_parameters(other);
    const std::vector<float> expected = copy_of(other.evaluate(s.x));
    std::atomic<int> wrong{0};
    std::barrier gate(3);
    testing::on_threads(3, [&](std::size_t) {
      gate.arrive_and_wait(); // all find that the weights have to be made
      wrong += copy_of(net.evaluate(s.x)) != expected;
    });
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("shared_weights: on a device whose queue is for one thread, calls take turns") {
  using Plain = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;
  const auto check = [&]<class T>(std::type_identity<T>) {
    const model<Plain, batch<6>, T> here{{.seed = 3}};
    const model<Plain, batch<6>, T, apart::device> net{{.seed = 3}};
    session first{net}, second{net};
    CHECK(first.threads() == 1);
    std::vector<samples<>> given;
    std::vector<std::vector<float>> expected;
    for (std::uint32_t i = 0; i < 5; ++i) {
      given.emplace_back(6 - i, i);
      expected.push_back(copy_of(here.evaluate(given.back().x)));
    }
    const std::uint64_t checksum = here.checksum();
    std::atomic<int> wrong{0};
    testing::on_threads(4, [&](std::size_t thread) {
      for (std::size_t i = thread; i < thread + 200; ++i) {
        const std::size_t k = i % given.size();
        if (thread == 0) wrong += copy_of(first.evaluate(given[k].x)) != expected[k];
        else if (thread == 1) wrong += copy_of(second.evaluate(given[k].x)) != expected[k];
        else wrong += copy_of(net.evaluate(given[k].x)) != expected[k];
        if (i % 8 == 0) wrong += net.checksum() != checksum;
        if (i % 8 == 4) net.for_each([&](const auto& p) { wrong += p.numbers[0] != here.parameter(p.name)[0]; });
      }
    });
    CHECK(wrong == 0);
    CHECK(detail::weights_in(net).contexts().size() == 1);
  };
  check(std::type_identity<float>{});
  check(std::type_identity<bfloat16>{});
  CHECK(apart::device::unfinished == 0);
}

} // namespace shared_weights_tests
