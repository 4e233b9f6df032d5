// SPDX-License-Identifier: MIT
// Trainers whose gradients are summed from GPU to GPU, and what they promise.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "../../cuda/ranks.hpp"
#include "ranks_on_gpus.hpp"

namespace nccl_trainers_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::learnt_from_micro_batches, testing::Net, testing::told, testing::told_by_rank, testing::training;

namespace {

template <class Model, class... Options>
using on_gpus = ddp<Model, nccl::rank, Options...>;

// Trains `ranks` ranks with a GPU each and returns the result of each.
template <class Model>
std::vector<told> told_by_gpus(int ranks, const training& how = {}, const nccl::options& sums = {}) {
  std::vector<told> all(static_cast<std::size_t>(ranks));
  nccl::options chosen = sums;
  chosen.ranks = ranks;
  nccl{chosen}.run([&](nccl::rank& rank) {
    training own = how;
    own.ordinal = rank.ordinal();
    all[static_cast<std::size_t>(rank.rank())] = told_by_rank<Model, cuda>(rank, own);
  });
  CHECK(fake::nccl().refused == 0);
  return all;
}
template <class Model>
void check(int ranks, const std::vector<float>& expected, const training& how = {}) {
  CAPTURE(ranks);
  for (const told& own : told_by_gpus<Model>(ranks, how)) CHECK(own.learnt == expected);
}

template <class... Options>
using trained = testing::trainer_of<on_gpus<Net, bucket_bytes<1024>, Options...>, cuda>;

} // namespace

TEST_CASE("nccl: 2 to 8 ranks are as many micro-batches, bit for bit, for policies and sizes of buckets") {
  testing::begin(8);
  const auto three = learnt_from_micro_batches<Net>(3);
  check<on_gpus<Net, bucket_bytes<256>>>(3, three);
  check<on_gpus<checkpoint<sqrt_n, Net>, bucket_bytes<1024>, after_backward>>(3, three);
  check<on_gpus<checkpoint<recompute_all, Net>>>(3, three);
  check<on_gpus<checkpoint<every<2>, Net>, bucket_bytes<512>>>(3, three);
  check<on_gpus<checkpoint<revolve<2>, Net>>>(3, three);
  for (const int ranks : {2, 4, 5, 8})
    check<on_gpus<Net, bucket_bytes<256>>>(ranks, learnt_from_micro_batches<Net>(static_cast<std::size_t>(ranks)));
}

TEST_CASE("nccl: an update inside the backward pass, and ranks with fewer samples than others") {
  testing::begin(3);
  const training plain{.clips = false};
  check<on_gpus<fused_update<Net>, bucket_bytes<1024>>>(3, learnt_from_micro_batches<Net>(3, plain), plain);
  const training uneven{.uneven = true};
  check<on_gpus<Net, bucket_bytes<256>>>(2, learnt_from_micro_batches<Net>(2, uneven), uneven);
}

TEST_CASE("nccl: a summary says in which order ranks are summed, for a network with and without checkpoint") {
  using net = Sequential<Linear<4, 4>, ReLU, Linear<4, 2>>;
  const auto says = [](const report::network_summary& s, const std::string& words) {
    return s.text().find(words) != std::string::npos && s.markdown().find(words) != std::string::npos;
  };
  const std::string words = "in the order of the ranks on one machine";
  CHECK(says(summary<ddp<net, nccl::rank>, 4>(), words));
  CHECK(says(summary<ddp<checkpoint<sqrt_n, net>, nccl::rank>, 4>(), words));
  CHECK(!says(summary<ddp<net, threads::rank>, 4>(), "sums of all ranks")); // which have one order
}

TEST_CASE("nccl: only the order of the ranks keeps the promise: in NCCL's own order three ranks are no three micro-batches") {
  testing::begin(3);
  const auto expected = learnt_from_micro_batches<Net>(3);
  CHECK(told_by_gpus<on_gpus<Net, bucket_bytes<256>>>(3)[0].learnt == expected);
  const auto first = told_by_gpus<on_gpus<Net, bucket_bytes<256>>>(3, {}, {.sums = nccl::order::nccl});
  const auto second = told_by_gpus<on_gpus<Net, bucket_bytes<256>>>(3, {}, {.sums = nccl::order::nccl});
  CHECK(first[0].learnt == first[1].learnt); // yet the same on all ranks
  CHECK(first[0].learnt == first[2].learnt);
  CHECK(first[0].learnt != expected);
  CHECK(first[0].learnt != second[0].learnt);
}

TEST_CASE("nccl: statistics over all ranks are those of ranks that are threads") {
  testing::begin(2);
  const auto there = told_by_gpus<on_gpus<Net, bucket_bytes<256>, sync_batch_norm>>(2);
  testing::begin(2);
  const auto here = testing::told_by<ddp<Net, threads::rank, bucket_bytes<256>, sync_batch_norm>>(2);
  CHECK(there == here);
}

TEST_CASE("nccl: buckets are summed while backward goes on, and the host waits for none of them") {
  // The nanoseconds of the fake's clock that a step takes: the shortest of several.
  const auto time_of_step = []<class Trainer>(std::type_identity<Trainer>) {
    std::uint64_t shortest = ~std::uint64_t{0};
    testing::begin(2);
    nccl{}.run([&](nccl::rank& rank) {
      Trainer t{rank, AdamW{}, {.seed = 5, .check_every = 0}};
      const testing::samples s(testing::most_rows, static_cast<std::uint64_t>(rank.rank()));
      const auto meet = [&] {
        const std::byte own{};
        std::vector<std::byte> all(2);
        rank.exchange({&own, 1}, all);
      };
      for (int step = 0; step < 8; ++step) {
        t.wait();
        meet();
        if (rank.rank() == 0) fake::reset();
        if (rank.rank() == 0) fake::gpus(2);
        meet();
        t.step(s.x, s.y);
        t.wait();
        meet();
        if (rank.rank() == 0) shortest = std::min(shortest, fake::clock());
      }
    });
    return shortest;
  };
  using overlapping = trained<>;
  const auto overlapped = time_of_step(std::type_identity<overlapping>{});
  const auto after = time_of_step(std::type_identity<trained<after_backward>>{});
  REQUIRE(overlapping::buckets.size() > 2);
  std::uint64_t hidden = 0; // nothing of the last bucket is hidden
  for (std::size_t b = 0; b + 1 < overlapping::buckets.size(); ++b)
    hidden += fake::time_of_copy(overlapping::buckets[b].size() * sizeof(float));
  CHECK(overlapped + hidden / 2 < after);
}

TEST_CASE("nccl: a step that a rank does not make is a deadline_error with its bucket's call, and names that rank") {
  testing::begin(2);
  std::string text;
  nccl::options soon{.deadline = 400ms};
  soon.ranks = 2;
  CHECK_THROWS_AS(nccl{soon}.run([&](nccl::rank& rank) {
    trained<> t{rank, AdamW{}, {.seed = 5}};
    const testing::samples s(testing::most_rows, 1);
    t.step(s.x, s.y);
    t.wait();
    if (rank.rank() == 1)
      for (;;) rank.check(); // until it throws because of the other rank
    try {
      t.step(s.x, s.y);
      t.wait();
    } catch (const deadline_error& late) {
      text = late.what();
      throw;
    }
  }),
                  rank_lost);
  INFO("the text is: ", text);
  CHECK(text.find(" float (step 2, its call 1): it was not over within 400 ms; ") != std::string::npos);
  CHECK(text.find("was not started by rank 1") != std::string::npos);
}

TEST_CASE("nccl: after a step that failed synchronize() joins the ranks anew, and they learn as if nothing had happened") {
  const auto learnt = [](bool fails) {
    testing::begin(3);
    std::vector<std::vector<float>> all(3);
    nccl{{.deadline = 200ms}}.run([&](nccl::rank& rank) {
      trained<> t{rank, AdamW{}, {.seed = 5}};
      const testing::samples s(testing::most_rows, static_cast<std::uint64_t>(rank.rank()));
      t.step(s.x, s.y);
      t.wait();
      if (fails) {
        const std::string text = testing::thrown_by([&] {
          if (rank.rank() == 1) throw error("the disk is full");
          t.step(s.x, s.y); // which is not waited for
        });
        CHECK(text == (rank.rank() == 1 ? "the disk is full" : ""));
        t.synchronize(1);
      }
      for (int step = 0; step < 3; ++step) t.step(s.x, s.y);
      t.wait();
      CHECK(t.steps() == 4);
      t.for_each([&](const auto& one) {
        auto& own = all[static_cast<std::size_t>(rank.rank())];
        own.insert(own.end(), one.numbers.begin(), one.numbers.end());
      });
    });
    CHECK(fake::nccl().refused == 0);
    CHECK(fake::nccl().joined == (fails ? 6 : 3));
    CHECK(all[1] == all[0]);
    CHECK(all[2] == all[0]);
    return all[0];
  };
  CHECK(learnt(true) == learnt(false));
}

TEST_CASE("nccl: ranks that were built differently refuse to start, and the start line says how they add") {
  testing::begin(2);
  const std::string text = testing::thrown_by([] {
    nccl{}.run([&](nccl::rank& rank) {
      const auto rate = rank.rank() == 0 ? 0.1 : 0.2;
      trained<> t{rank, AdamW{.learning_rate = rate}, {.seed = 5}};
      const testing::samples s(testing::most_rows, 1);
      for (int step = 0; step < 4; ++step) t.step(s.x, s.y);
      t.wait();
    });
  });
  INFO("the text is: ", text);
  CHECK(text.find("learning") != std::string::npos);

  testing::begin(2);
  std::string line;
  nccl{}.run([&](nccl::rank& rank) {
    trained<> t{rank, AdamW{}, {.seed = 5}};
    if (rank.rank() == 0) line = report::start_line::text(t);
  });
  INFO("the line is: ", line);
  CHECK(line.find("2 ranks by nccl, which adds in the order of the ranks") != std::string::npos);
}

} // namespace nccl_trainers_tests
