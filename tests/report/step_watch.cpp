// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/report/step_watch.hpp>
#include <doctest/doctest.h>

#include "../train/training.hpp"

namespace step_watch_tests {

using namespace cairn;
using namespace testing;

namespace {

using watching = detail::step_watch<std::chrono::steady_clock, float, cpu::queue>;
template <class Model>
using trained = trainer<Model, CrossEntropyLoss, SGD, batch<8>>;

// The checksums of the parameters after each of a few steps, of which the second and the third may be watched.
template <class Trainer, class... Rank>
std::vector<std::uint64_t> checksums(bool watched, Rank&... rank) {
  Trainer train{rank..., momentum, {.seed = 4}};
  std::vector<std::uint64_t> out;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const samples<> s(7, step);
    if (watched && (step == 1 || step == 2)) {
      watching watch;
      if constexpr (Trainer::fused) watch.is_fused();
      CHECK(detail::step_watched(train.inside(), s.x, s.y, watch) > 0);
      CHECK(watch.took.size() == watch.ops.size());
    } else {
      train.step(s.x, s.y);
    }
    out.push_back(train.checksum());
  }
  return out;
}

} // namespace

TEST_CASE("step_watch: a step that is watched computes the same bits") {
  CHECK(checksums<trained<Net>>(true) == checksums<trained<Net>>(false));
}

TEST_CASE("step_watch: the same with ranks, a policy and an update inside the backward pass") {
  using Model = ddp<fused_update<checkpoint<sqrt_n, Net>>, threads::rank, bucket_bytes<1024>>;
  threads{2}.run(
      [](threads::rank& rank) { CHECK(checksums<trained<Model>>(true, rank) == checksums<trained<Model>>(false, rank)); });
}

TEST_CASE("step_watch: every op is timed once, one after the other, and buckets are sent where gradients are finished") {
  using Model = ddp<Net, threads::rank, bucket_bytes<1024>>;
  threads{2}.run([](threads::rank& rank) {
    trained<Model> train{rank, momentum};
    watching watch;
    const samples<> s(8, 0);
    detail::step_watched(train.inside(), s.x, s.y, watch);
    std::int64_t before = 0;
    for (std::size_t t = 0; t < watch.ops.size(); ++t) {
      CHECK(watch.took[t].begin >= before);
      CHECK(watch.took[t].end >= watch.took[t].begin);
      before = watch.took[t].end;
    }
    REQUIRE(watch.buckets.size() == trained<Model>::buckets.size());
    for (const auto& b : watch.buckets) {
      REQUIRE(b.op < watch.ops.size());
      CHECK(watch.ops[b.op].kind == detail::op_kind::backward);
      CHECK(b.sent >= watch.took[b.op].begin);
      CHECK(b.sent <= watch.took[b.op].end);
      CHECK(b.back >= b.sent);
      CHECK(b.back <= watch.waiting.end);
    }
  });
}

} // namespace step_watch_tests
