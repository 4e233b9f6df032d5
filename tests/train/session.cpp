// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/train/fit/accuracy.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/session.hpp>

#include "../data/allocations.hpp"
#include "at_once.hpp"
#include "locks.hpp"
#include "training.hpp"

namespace session_tests {

using namespace cairn;
using testing::copy_of;
using testing::Net;
using testing::samples;

TEST_CASE("session: it gives what its model gives, in memory of its own") {
  model<Net, batch<6>> net{{.seed = 3}};
  session own{std::as_const(net)};
  static_assert(std::is_same_v<decltype(own), session<model<Net, batch<6>>>>);
  const samples a(6, 1), b(4, 2);
  const tensor_view<const float> first = own.evaluate(a.x);
  CHECK(first.rows() == 6);
  CHECK(first.sample_shape() == shape{testing::classes});
  CHECK(copy_of(first) == copy_of(net.evaluate(a.x)));
  net.evaluate(b.x); // a session's outputs survive calls of the model and of other sessions
  session other{net};
  other.evaluate(b.x);
  CHECK(copy_of(first) == copy_of(net.evaluate(a.x)));
  CHECK(own.evaluate(b.x).data() == first.data()); // but not its own next call

  std::vector<float> into(24, 7.0F);
  const tensor_view<const float> written = own.evaluate(b.x, into);
  CHECK(written.data() == into.data());
  CHECK(copy_of(written) == copy_of(net.evaluate(b.x)));
  CHECK(into[16] == 7);
  session moved = std::move(own);
  CHECK(copy_of(moved.evaluate(a.x)) == copy_of(net.evaluate(a.x)));
}

TEST_CASE("session: its calls neither allocate nor lock, with one thread, and calls of the model do") {
  const model<Net, batch<6>> net{{.seed = 3, .threads = 1}};
  const model<Net, batch<6>> narrow{{.seed = 3, .threads = 1, .weights = ops::weight_format::int8}};
  session own{net}, of_narrow{narrow};
  const samples a(6, 1);
  std::vector<float> into(6 * testing::classes);
  const std::size_t before = testing::allocations, locks = testing::locks_here;
  for (int i = 0; i < 5; ++i) {
    own.evaluate(a.x);
    own.evaluate(a.x, into);
    of_narrow.evaluate(a.x);
  }
  CHECK(testing::allocations == before);
  CHECK(testing::locks_here == locks);
  net.evaluate(a.x);
  if (testing::counts_locks) CHECK(testing::locks_here > locks);
}

TEST_CASE("session: one thread unless it is given more") {
  const model<Net, batch<6>> net{{.seed = 3, .threads = 3}};
  CHECK(session{net}.threads() == 1);
  CHECK(session{net, {.threads = 2}}.threads() == 2);
  CHECK(session{net, {.threads = 0}}.threads() == detail::usable_cores());
  CHECK_THROWS_WITH_AS((session{net, {.threads = 5000}}), doctest::Contains("found 5000"), input_error);
  static_assert(!std::is_constructible_v<session<model<Net, batch<6>>>, model<Net, batch<6>>>); // no session of a temporary model
}

TEST_CASE("session: it computes with the weights that its model has now") {
  const samples s(6, 1);
  const auto check = [&]<class T>(std::type_identity<T>) {
    using Small = Sequential<Linear<testing::features, testing::classes>>;
    model<Small, batch<6>, T> net{{.seed = 3}}, other{{.seed = 4}};
    session own{net};
    const std::vector<float> before = copy_of(own.evaluate(s.x));
    net.copy_parameters(other);
    CHECK(copy_of(own.evaluate(s.x)) != before);
    CHECK(copy_of(own.evaluate(s.x)) == copy_of(other.evaluate(s.x)));
    for (float& x : net.parameters()) x = 0;
    CHECK(copy_of(own.evaluate(s.x)) == std::vector<float>(24, 0));
  };
  check(std::type_identity<float>{});
  check(std::type_identity<bfloat16>{});
}

TEST_CASE("session: an error says which call, and the session goes on") {
  const model<Net, batch<6>> net{{.seed = 3}};
  session own{net};
  const samples s(6, 1), more(7, 1);
  const std::vector<float> before = copy_of(own.evaluate(s.x));
  CHECK_THROWS_WITH_AS(own.evaluate(more.x), doctest::Contains("session::evaluate, inputs: expected at most 6 samples"),
                       input_error);
  std::array<float, 3> little{};
  CHECK_THROWS_WITH_AS(own.evaluate(s.x, little), doctest::Contains("expected room for 24 outputs, found 3"), input_error);
  CHECK(copy_of(own.evaluate(s.x)) == before);
}

TEST_CASE("session: accuracy asks it as it asks a model") {
  const model<Net, batch<6>> net{{.seed = 3}};
  session own{net};
  const samples s(11, 1);
  const view_dataset all{tensor_view<const float>(s.x.data(), 11, shape{testing::features}),
                         tensor_view<const int>(s.y.data(), 11, shape{1})};
  CHECK(accuracy(own, loader{all, sequential_sampler{}, batch<6>{}}) ==
        accuracy(net, loader{all, sequential_sampler{}, batch<6>{}}));
}

TEST_CASE("session: one in each of four threads, beside calls of the model, gives the bits of one thread") {
  // Large enough for an operation to use all threads of a session and of the model.
  using Wide = Sequential<Linear<testing::features, 256>, ReLU, Linear<256, 256>, ReLU, Linear<256, testing::classes>>;
  const model<Wide, batch<64>> net{{.seed = 3, .threads = 2}};
  std::vector<samples<>> given;
  std::vector<std::vector<float>> expected;
  for (std::uint32_t i = 0; i < 5; ++i) {
    given.emplace_back(64 - 7 * i, i);
    expected.push_back(copy_of(net.evaluate(given.back().x)));
  }
  std::atomic<std::size_t> wrong{0};
  testing::on_threads(4, [&](std::size_t thread) {
    session own{net, {.threads = 1 + thread % 2}};
    for (std::size_t i = thread; i < thread + 1000; ++i) {
      const std::size_t k = i % given.size();
      if (copy_of(own.evaluate(given[k].x)) != expected[k]) ++wrong;
      if (i % 4 == 0 && copy_of(net.evaluate(given[k].x)) != expected[k]) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

} // namespace session_tests
