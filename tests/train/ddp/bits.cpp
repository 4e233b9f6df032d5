// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../../long_tests.hpp"
#include "../training.hpp"
#include "traces.hpp"

namespace ddp_bits_tests {

using namespace cairn;
using testing::Net;
using testing::run_alone;
using testing::same_bits;
using testing::samples;
using testing::samples_of;
using testing::steps;
using testing::trace;

namespace {

template <class Replica>
std::vector<trace> run(int ranks, clip_norm clip = {}) {
  std::vector<trace> out(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    trainer<Replica, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3, .clip = clip}};
    for (int step = 0; step < steps; ++step) {
      const samples s = samples_of(step, rank.rank());
      const double loss = t.step(s.x, s.y);
      out[static_cast<std::size_t>(rank.rank())].look_at(t, loss);
    }
  });
  return out;
}

template <class Replica>
void check(const trace& want, int ranks, clip_norm clip = {}) {
  CAPTURE(ranks);
  const std::vector<trace> got = run<Replica>(ranks, clip);
  CHECK(got[0].losses == want.losses);
  for (const trace& rank : got) {
    CHECK(rank.checksum == want.checksum);
    for (std::size_t step = 0; step < steps; ++step) CHECK(same_bits(rank.gradients[step], want.gradients[step]));
    CHECK(rank.norms == want.norms);
  }
}

template <class Policy, class... Options>
void check_policy(const std::vector<trace>& want) {
  for (int ranks = 1; ranks <= 3; ++ranks)
    check<ddp<checkpoint<Policy, Net>, threads::rank, Options...>>(want[static_cast<std::size_t>(ranks)], ranks);
}
template <std::size_t Bytes>
void check_buckets() {
  const std::vector<trace> want{{}, run_alone(1), run_alone(2), run_alone(3)};
  CHECK(want[1].checksum != want[2].checksum);
  check_policy<sqrt_n, bucket_bytes<Bytes>>(want);
  if constexpr (testing::long_tests || Bytes == 2500) {
    check_policy<store_all, bucket_bytes<Bytes>>(want);
    check_policy<recompute_all, bucket_bytes<Bytes>>(want);
    check_policy<every<2>, bucket_bytes<Bytes>>(want);
    check_policy<at<1, 3>, bucket_bytes<Bytes>>(want);
  }
}

} // namespace

TEST_CASE("ddp: N ranks are N micro-batches under every policy, a bucket for each parameter") { check_buckets<1>(); }
TEST_CASE("ddp: N ranks are N micro-batches under every policy, a few buckets") { check_buckets<2500>(); }
TEST_CASE("ddp: N ranks are N micro-batches under every policy, one bucket") { check_buckets<(1U << 20)>(); }

TEST_CASE("ddp: it does not matter whether buckets overlap with backward") {
  const std::vector<trace> want{{}, run_alone(1), run_alone(2), run_alone(3)};
  check_policy<store_all, after_backward, bucket_bytes<1>>(want);
  check_policy<recompute_all, after_backward>(want);
}

TEST_CASE("ddp: clipping sees the gradients of all ranks") {
  const clip_norm clips{0.25};
  for (const int ranks : {1, 2, 3}) {
    const trace want = run_alone(ranks, clips);
    CHECK(want.norms[0] > 0.25);
    check<ddp<checkpoint<sqrt_n, Net>, threads::rank, bucket_bytes<1000>>>(want, ranks, clips);
  }
}

TEST_CASE("ddp: ranks accumulate, and reduce once") {
  const auto run_twice = []<class Replica>(Replica*) {
    std::vector<trace> out(2);
    threads{2}.run([&](threads::rank& rank) {
      trainer<Replica, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
      for (int step = 0; step < steps; ++step) {
        const samples a = samples_of(step, rank.rank()), b = samples_of(step, 2 + rank.rank());
        t.accumulate(a.x, a.y);
        const double loss = t.step(b.x, b.y);
        out[static_cast<std::size_t>(rank.rank())].look_at(t, loss);
      }
    });
    CHECK(out[0].checksum == out[1].checksum);
    CHECK(same_bits(out[0].gradients[2], out[1].gradients[2]));
    return out[0];
  };
  const trace a = run_twice(static_cast<ddp<Net, threads::rank>*>(nullptr));
  const trace b = run_twice(static_cast<ddp<checkpoint<recompute_all, Net>, threads::rank, bucket_bytes<1>>*>(nullptr));
  CHECK(a.checksum == b.checksum);
  CHECK(a.losses == b.losses);
  // The same as four micro-batches on one rank, except for the order of the additions.
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> t{testing::momentum, {.seed = 3}};
  for (const int part : {0, 1, 2}) {
    const samples s = samples_of(0, part);
    t.accumulate(s.x, s.y);
  }
  const samples last = samples_of(0, 3);
  t.step(last.x, last.y);
  for (std::size_t i = 0; i < a.gradients[0].size(); ++i)
    CHECK(a.gradients[0][i] == doctest::Approx(t.gradients()[i]).epsilon(1e-4));
}

TEST_CASE("ddp: all ranks begin with the parameters of one rank with their seed") {
  std::vector<std::uint64_t> start(2);
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 5}};
    start[static_cast<std::size_t>(rank.rank())] = t.checksum();
  });
  CHECK(start[0] == start[1]);
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> t{testing::momentum, {.seed = 5}};
  CHECK(t.checksum() == start[0]);
}

TEST_CASE("ddp: ranks share the cores of their machine, or have the threads that they are given, with the same bits") {
  using Wide = Sequential<Linear<testing::features, 512>, ReLU, Linear<512, 512>, LayerNorm<512>, Linear<512, testing::classes>>;
  const auto run = [](int ranks, std::size_t asked) {
    std::vector<std::size_t> threads_of(static_cast<std::size_t>(ranks));
    std::uint64_t checksum = 0;
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<Wide, threads::rank>, CrossEntropyLoss, SGD, batch<40>> t{
          rank, testing::momentum, {.seed = 3, .threads = asked}};
      const samples own(40, static_cast<std::uint32_t>(rank.rank()));
      for (int step = 0; step < 2; ++step) t.step(own.x, own.y);
      threads_of[static_cast<std::size_t>(rank.rank())] = t.threads();
      if (rank.rank() == 0) checksum = t.checksum();
    });
    const std::size_t cores = detail::usable_cores(), share = cores / static_cast<std::size_t>(ranks);
    for (const std::size_t found : threads_of) CHECK(found == (asked > 0 ? asked : share > 0 ? share : 1));
    return checksum;
  };
  const std::uint64_t two = run(2, 1);
  CHECK(run(2, 0) == two);
  CHECK(run(2, 3) == two);
  CHECK(run(1, 0) == run(1, 1));
}

namespace {

// Residual blocks whose inside is planned by a policy: their last segments are made again too.
template <class Policy>
using Inside = Sequential<
    Linear<testing::features, 32>,
    Repeat<4, Residual<checkpoint<Policy, Sequential<Linear<32, 32>, LayerNorm<32>, ReLU, Dropout<>, Linear<32, 32>>>>>,
    checkpoint<Policy, Residual<Linear<32, 32>, ReLU, Linear<32, 32>, ReLU>>, Linear<32, testing::classes>>;

template <class Model>
trace learn_inside(int ranks, int micro_batches) {
  trace out;
  threads{ranks}.run([&](threads::rank& rank) {
    trainer<ddp<Model, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
    trace own;
    for (int step = 0; step < steps; ++step)
      for (int m = 0; m < micro_batches; ++m) {
        const samples s = samples_of(step, rank.rank() + m);
        if (m + 1 < micro_batches) t.accumulate(s.x, s.y);
        else own.look_at(t, t.step(s.x, s.y));
      }
    if (rank.rank() == 0) out = own;
  });
  return out;
}

template <class Policy>
void check_inside(const trace& one, const trace& two) {
  static_assert(peak_activation_bytes<Inside<Policy>, 64> < peak_activation_bytes<Inside<store_all>, 64>);
  for (const int ranks : {1, 2}) {
    CAPTURE(ranks);
    const trace& want = ranks == 1 ? one : two;
    const trace got = learn_inside<Inside<Policy>>(ranks, 1);
    CHECK(got.checksum == want.checksum);
    for (std::size_t step = 0; step < steps; ++step) CHECK(same_bits(got.gradients[step], want.gradients[step]));
  }
}

} // namespace

TEST_CASE("ddp: policies inside a network need fewer bytes than store_all, and have its bits on one rank and on two") {
  const trace one = learn_inside<Inside<store_all>>(1, 1), two = learn_inside<Inside<store_all>>(1, 2);
  CHECK(one.checksum != two.checksum);
  check_inside<sqrt_n>(one, two);
  check_inside<recompute_all>(one, two);
  check_inside<every<2>>(one, two);
  check_inside<revolve<2>>(one, two);
  check_inside<recompute_cheap>(one, two);
}

} // namespace ddp_bits_tests
