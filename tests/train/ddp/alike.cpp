// SPDX-License-Identifier: MIT
// long to compile
// Ranks that would diverge get an error before they do, and a failed step changes nothing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace ddp_alike_tests {

using namespace cairn;
using testing::has;
using testing::samples;
using testing::text_of;

namespace {

// y = x; its backward throws if this thread has set backward_fails.
thread_local bool backward_fails = false;
struct Fragile {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    testing::Witness::forward_only(call);
  }
  template <class Queue, class T>
  static void backward(Queue& q, const backward_call<T>& call) {
    if (backward_fails) throw error("the cable was pulled");
    testing::Witness::backward(q, call);
  }
};

// Fragile's backward runs after that of the last two Linears, whose buckets have left by then.
using Net =
    Sequential<Linear<testing::features, 16>, ReLU, Linear<16, 16>, Fragile, Linear<16, 16>, ReLU, Linear<16, testing::classes>>;
template <class Model = Net, class Optimizer = SGD>
using replica_trainer = trainer<ddp<Model, threads::rank, bucket_bytes<1>>, CrossEntropyLoss, Optimizer, batch<6>>;

// The error texts of body(trainer, rank, samples) on the ranks of a job, and their parameters' checksums before and after it.
struct outcome {
  std::array<std::string, 3> texts;
  std::array<std::uint64_t, 3> before{}, after{};
  bool unchanged() const { return before == after; }
  bool alike() const { return after[0] == after[1] && after[1] == after[2]; }
};
template <class Trainer = replica_trainer<>, class Body>
outcome job(const Body& body, typename Trainer::options options = {.seed = 1}) {
  outcome out;
  threads{3}.run([&](threads::rank& rank) {
    backward_fails = false;
    const auto r = static_cast<std::size_t>(rank.rank());
    Trainer t{rank, {.learning_rate = 0.1}, options};
    const samples s(6, static_cast<std::uint32_t>(r));
    t.step(s.x, s.y);
    out.before[r] = t.checksum();
    out.texts[r] = text_of([&] { body(t, rank.rank(), s); });
    out.after[r] = t.checksum();
    backward_fails = false;
  });
  return out;
}

} // namespace

TEST_CASE("ddp: a learning rate that was changed on one rank stops all before an update") {
  const auto other_rate = [](auto& t, int rank, const samples<>& s) {
    if (rank == 1) t.learning_rate(0.05);
    t.step(s.x, s.y);
  };
  const outcome plain = job(other_rate);
  for (const std::string& text : plain.texts) {
    CHECK(has(text, "expected the same learning rate on every rank, found 0.1 on rank 0, 0.05 on rank 1;"));
    CHECK(text == plain.texts[0]);
  }
  CHECK(plain.unchanged());
  const outcome fused = job<replica_trainer<fused_update<Net>>>(other_rate);
  CHECK(has(fused.texts[0], "found 0.1 on rank 0, 0.05 on rank 1"));
  CHECK(fused.unchanged());
  const outcome mended = job<replica_trainer<fused_update<Net>>>([&](auto& t, int rank, const samples<>& s) {
    CHECK(has(text_of([&] { other_rate(t, rank, s); }), "found 0.1 on rank 0, 0.05 on rank 1"));
    t.learning_rate(0.1);
    t.step(s.x, s.y);
    CHECK(t.steps() == 2);
  });
  CHECK(mended.texts == std::array<std::string, 3>{});
  CHECK(mended.alike());
}

TEST_CASE("ddp: what is wrong with a step can be set right, and the ranks go on together") {
  const outcome out = job([](auto& t, int rank, const samples<>& s) {
    if (rank == 1) t.learning_rate(0.05);
    CHECK(text_of([&] { t.step(s.x, s.y); }) != "");
    t.learning_rate(0.1);
    t.step(s.x, s.y);
    CHECK(t.steps() == 2);
  });
  for (const std::string& text : out.texts) CHECK(text == "");
  CHECK(out.alike());
  const outcome straight = job([](auto& t, int, const samples<>& s) { t.step(s.x, s.y); });
  CHECK(out.after == straight.after);
}

TEST_CASE("ddp: micro-batches and numbers of the optimizer that differ are named with their ranks") {
  const auto accumulated = job([](auto& t, int rank, const samples<>& s) {
    if (rank == 2) t.accumulate(s.x, s.y);
    t.step(s.x, s.y);
  });
  for (const std::string& text : accumulated.texts)
    CHECK(has(text, "the same number of micro-batches on every rank, found 1 on rank 0, 2 on rank 2; call accumulate()"));
  CHECK(accumulated.unchanged());

  const auto decayed = job([](auto& t, int rank, const samples<>& s) {
    if (rank != 0) t.optimizer({.learning_rate = 0.1, .weight_decay = 0.01});
    t.step(s.x, s.y);
  });
  for (const std::string& text : decayed.texts) CHECK(has(text, "the same numbers of the loss and the optimizer"));
  CHECK(decayed.unchanged());
}

TEST_CASE("ddp: parameters that were changed on one rank are found, and synchronize makes the ranks alike") {
  for (const std::size_t check_every : {std::size_t{1}, std::size_t{4}}) {
    int steps = 0;
    const auto load = [&](auto& t, int rank, const samples<>& s) {
      for (int k = 0; k < 4; ++k) t.step(s.x, s.y);
      if (rank == 2) t.parameters()[7] += 1;
      for (int k = 0; k < 8; ++k) {
        t.step(s.x, s.y);
        if (rank == 0) ++steps;
      }
    };
    const outcome found = job(load, {.seed = 1, .check_every = check_every});
    for (const std::string& text : found.texts) {
      CHECK(has(text, "the same parameters (as a number of their bits) on every rank"));
      CHECK(has(text, "on rank 2; something wrote to them on some ranks only"));
    }
    CHECK(steps == (check_every == 1 ? 0 : 3)); // five have been made before
  }
  // Ranks that diverge in the first steps are found then, not only after a hundred steps.
  for (const int before : {0, 1, 3, 7}) {
    int steps = 0;
    const auto part = [&](auto& t, int rank, const samples<>& s) {
      for (int k = 0; k < before; ++k) t.step(s.x, s.y);
      if (rank == 2) t.parameters()[7] += 1;
      for (int k = 0; k < 20; ++k) {
        t.step(s.x, s.y);
        if (rank == 0) ++steps;
      }
    };
    for (const std::string& text : job(part, {.seed = 1}).texts) CHECK(has(text, "or the ranks run other builds of the program"));
    CHECK(steps == 0); // 1 + before steps have been made by then
  }
  for (const int root : {0, 2}) {
    const outcome mended = job(
        [root](auto& t, int rank, const samples<>& s) {
          if (rank == root) t.parameters()[7] += 1;
          t.synchronize(root);
          for (int k = 0; k < 3; ++k) t.step(s.x, s.y);
        },
        {.seed = 1, .check_every = 1});
    for (const std::string& text : mended.texts) CHECK(text == "");
    CHECK(mended.alike());
  }
}

TEST_CASE("ddp: a rank that fails in backward leaves no parameter of any rank updated, whatever has arrived") {
  const outcome out = job([](auto& t, int rank, const samples<>& s) {
    backward_fails = rank == 1;
    t.step(s.x, s.y);
  });
  for (const std::string& text : out.texts) CHECK(text != "");
  CHECK(out.unchanged());
}

TEST_CASE("ddp: after a failed step every further one is refused, until the ranks synchronize") {
  const auto fail_once = [](auto& t, int rank, const samples<>& s, int root) {
    backward_fails = rank == 1;
    CHECK(text_of([&] { t.step(s.x, s.y); }) != "");
    backward_fails = false;
    const std::string again = text_of([&] { t.step(s.x, s.y); });
    CHECK(has(again, "expected synchronize() on every rank before the next step, as one has failed: "));
    CHECK(has(again, rank == 1 ? "the cable was pulled" : "because rank 1 "));
    t.synchronize(root);
    t.step(s.x, s.y);
  };
  const outcome straight = job([](auto& t, int, const samples<>& s) { t.step(s.x, s.y); });
  for (const int root : {0, 1}) {
    const outcome out = job([&](auto& t, int rank, const samples<>& s) { fail_once(t, rank, s, root); });
    for (const std::string& text : out.texts) CHECK(text == "");
    CHECK(out.after == straight.after); // as if nothing had happened
  }
  const outcome fused =
      job<replica_trainer<fused_update<Net>, Adam>>([&](auto& t, int rank, const samples<>& s) { fail_once(t, rank, s, 0); });
  for (const std::string& text : fused.texts) CHECK(text == "");
  CHECK(fused.alike());
}

TEST_CASE("ddp: what a lost rank says names the step, and what can be done") {
  const outcome out = job([](auto& t, int rank, const samples<>& s) {
    backward_fails = rank == 0;
    t.step(s.x, s.y);
  });
  CHECK(has(out.texts[2], "trainer, step 2: bucket "));
  CHECK(has(out.texts[2], "threads: rank 2 of 3"));
  CHECK(has(out.texts[2], "unless every rank catches this and calls synchronize()"));
}

TEST_CASE("trainer: a micro-batch that throws leaves nothing behind") {
  using alone = trainer<Net, CrossEntropyLoss, SGD, batch<6>>;
  const samples a(6, 1), b(4, 2);
  alone clean{testing::momentum, {.seed = 3}}, failing{testing::momentum, {.seed = 3}};
  clean.step(b.x, b.y);
  failing.accumulate(a.x, a.y);
  backward_fails = true;
  CHECK_THROWS_WITH(failing.accumulate(b.x, b.y), "the cable was pulled");
  backward_fails = false;
  failing.step(b.x, b.y); // a step of one micro-batch: the earlier ones are dropped
  CHECK(failing.checksum() == clean.checksum());
  backward_fails = true;
  CHECK_THROWS_WITH(failing.step(b.x, b.y), "the cable was pulled");
  backward_fails = false;
  CHECK(failing.checksum() == clean.checksum());
  failing.step(a.x, a.y);
  clean.step(a.x, a.y);
  CHECK(failing.checksum() == clean.checksum());
}

} // namespace ddp_alike_tests
