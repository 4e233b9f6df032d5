// SPDX-License-Identifier: MIT
// under the thread sanitizer
// BatchNorm whose statistics are those of all ranks: N ranks are one rank with the whole batch, within rounding.
//
// long to compile
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace ddp_sync_batch_norm_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using testing::samples;
using testing::text_of;

namespace {

using Net = Sequential<Linear<features, 8>, ReLU, BatchNorm1d<8>, ReLU, Repeat<2, Residual<Linear<8, 8>, BatchNorm1d<8>>>,
                       checkpoint<recompute_all, Sequential<ReLU, BatchNorm1d<8>, Linear<8, 8>, ReLU>>, Linear<8, classes>>;
constexpr SGD steep{.learning_rate = 0.05, .momentum = 0.9};

template <class Model, class T = float, class... Options>
using synced = trainer<ddp<Model, threads::rank, sync_batch_norm, Options...>, CrossEntropyLoss, SGD, batch<6>, T>;

// A trainer's losses, gradients, buffers and parameters.
struct trace {
  std::vector<double> losses, numbers;
  std::uint64_t parameters = 0;
  bool operator==(const trace&) const = default;

  template <class Numbers>
  void add(const Numbers& more) {
    for (const auto number : more) numbers.push_back(static_cast<double>(number));
  }
  template <class Trainer>
  void look_at(Trainer& t) {
    add(t.gradients());
    add(t.buffers());
    parameters = t.checksum();
  }
};

// The samples of ranks [first, last), one after another and shifted away from 0, with an output gradient for each.
template <class T>
struct given {
  std::vector<T> x, gradient;
  std::vector<int> y;

  given(const std::vector<std::size_t>& rows, std::uint32_t stream, int first, int last) {
    for (int rank = first; rank < last; ++rank) {
      const samples<T> own(rows[static_cast<std::size_t>(rank)], stream + static_cast<std::uint32_t>(rank));
      for (const T number : own.x) x.push_back(number + 3);
      y.insert(y.end(), own.y.begin(), own.y.end());
      for (std::size_t i = 0; i < own.y.size() * classes; ++i) gradient.push_back(own.x[i] / static_cast<T>(last - first));
    }
  }
};

// Makes a step, a step of two micro-batches, and one from gradients with different numbers of rows per rank; on the samples of
// `rank`, or of all `ranks` if it is negative.
template <class T, class Trainer>
trace use(Trainer& t, int ranks, int rank) {
  const int first = rank < 0 ? 0 : rank, last = rank < 0 ? ranks : rank + 1;
  const std::vector<std::size_t> alike(3, 6), uneven{6, 1, 4};
  trace out;
  const given<T> one(alike, 0, first, last), two(alike, 10, first, last), three(alike, 20, first, last);
  out.losses.push_back(t.step(one.x, one.y));
  out.look_at(t);
  out.losses.push_back(t.accumulate(two.x, two.y));
  out.losses.push_back(t.step(three.x, three.y));
  out.look_at(t);
  const given<T> last_one(uneven, 30, first, last);
  t.forward(last_one.x); // changes nothing
  t.step_from(last_one.x, last_one.gradient);
  out.look_at(t);
  return out;
}
template <class Trainer, class T>
std::vector<trace> on(int ranks) {
  std::vector<trace> out(static_cast<std::size_t>(ranks));
  threads{ranks}.run([&](threads::rank& rank) {
    Trainer t{rank, steep, {.seed = 4}};
    out[static_cast<std::size_t>(rank.rank())] = use<T>(t, ranks, rank.rank());
  });
  return out;
}

// Checks that all ranks have the same numbers: those of one rank with the whole batch, within `tolerance`.
template <class T>
void check_whole(int ranks, double tolerance) {
  CAPTURE(ranks);
  trainer<Net, CrossEntropyLoss, SGD, batch<18>, T> alone{steep, {.seed = 4}};
  const trace whole = use<T>(alone, ranks, -1);
  const std::vector<trace> seen = on<synced<checkpoint<recompute_all, Net>, T, bucket_bytes<1>>, T>(ranks);
  for (std::size_t i = 0; i < whole.losses.size(); ++i) {
    double sum = 0;
    for (const trace& rank : seen) sum += rank.losses[i];
    CHECK(std::abs(sum / ranks - whole.losses[i]) < tolerance);
  }
  for (const trace& rank : seen) {
    CHECK(rank.numbers == seen[0].numbers);
    CHECK(rank.parameters == seen[0].parameters);
  }
  REQUIRE(seen[0].numbers.size() == whole.numbers.size());
  double largest = 0;
  for (std::size_t i = 0; i < whole.numbers.size(); ++i)
    largest = std::max(largest, std::abs(seen[0].numbers[i] - whole.numbers[i]));
  CHECK(largest < tolerance);
}

} // namespace

TEST_CASE("sync_batch_norm: N ranks are one rank with the whole batch") {
  for (const int ranks : {2, 3}) {
    check_whole<double>(ranks, 1e-12);
    check_whole<float>(ranks, 1e-5);
  }
  // Without sync_batch_norm the ranks differ.
  const auto own = on<trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<6>>, float>(2);
  CHECK(own[0].numbers != own[1].numbers);
}

TEST_CASE("sync_batch_norm: every policy, bucket size and order has the same bits") {
  const auto expected = on<synced<checkpoint<recompute_all, Net>, float, bucket_bytes<1>>, float>(2);
  CHECK((on<synced<Net>, float>(2) == expected));
  CHECK((on<synced<checkpoint<sqrt_n, Net>, float, after_backward>, float>(2) == expected));
  // One rank has the bits of a trainer without ddp.
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> alone{steep, {.seed = 4}};
  CHECK((on<synced<Net>, float>(1)[0] == use<float>(alone, 1, 0)));
}

TEST_CASE("sync_batch_norm: elements of 16 bits") {
  const auto seen = on<synced<checkpoint<recompute_all, Net>, bfloat16>, float>(2);
  CHECK(seen[0].numbers == seen[1].numbers);
  trainer<Net, CrossEntropyLoss, SGD, batch<18>, bfloat16> alone{steep, {.seed = 4}};
  const trace whole = use<float>(alone, 2, -1);
  double largest = 0;
  for (std::size_t i = 0; i < whole.numbers.size(); ++i)
    largest = std::max(largest, std::abs(seen[0].numbers[i] - whole.numbers[i]));
  CHECK(largest < 0.05);
}

namespace {

// Counts the sums of doubles: in a network of floats those are the statistics.
struct counting {
  static constexpr std::string_view name = "counting";
  threads::rank& inner;
  std::size_t calls = 0, numbers = 0, others = 0;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<float> span) {
    ++others;
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<double> span) {
    ++calls;
    numbers += span.size();
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    return inner.broadcast(queue, bytes, root);
  }
};

template <class Model, class... Options>
void check_calls(std::size_t calls, std::size_t numbers) {
  threads{2}.run([&](threads::rank& rank) {
    counting comm{rank};
    trainer<ddp<Model, counting, Options...>, CrossEntropyLoss, SGD, batch<6>> t{comm, steep, {.seed = 4}};
    const samples<> s(6, static_cast<std::uint32_t>(rank.rank()));
    t.step(s.x, s.y);
    CHECK(comm.calls == calls);
    CHECK(comm.numbers == numbers);
    if (rank.rank() == 0) t.evaluate_loss(s.x, s.y); // alone
    t.step(s.x, s.y);
    CHECK(comm.calls == 2 * calls);
  });
}

} // namespace

TEST_CASE("sync_batch_norm: a call in the first forward and one in backward, where it has an input gradient") {
  // Four layers of 8 features, and one element that counts the ranks in each kind of run.
  check_calls<Net, sync_batch_norm>(8, 4 * (17 + 16) + 1);
  check_calls<checkpoint<recompute_all, Net>, sync_batch_norm>(8, 4 * (17 + 16) + 1); // each runs forward two or three times
  using Start = Sequential<BatchNorm1d<features>, frozen<Sequential<Linear<features, 8>, BatchNorm1d<8>>>, Linear<8, classes>>;
  check_calls<Start, sync_batch_norm>(3, 21 + 1 + 17 + 16);
  check_calls<Sequential<Linear<features, classes>>, sync_batch_norm>(0, 0);
}

TEST_CASE("sync_batch_norm: ranks that have it refuse to start with ranks that do not") {
  const auto meeting = []<class First, class Second>(First*, Second*) {
    return text_of([] {
      threads{2}.run([](threads::rank& rank) {
        if (rank.rank() == 0) First{rank, SGD{}, {.seed = 1}};
        else Second{rank, SGD{}, {.seed = 1}};
      });
    });
  };
  using without = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<6>>;
  CHECK(has(meeting(static_cast<synced<Net>*>(nullptr), static_cast<without*>(nullptr)),
            "expected the same batch statistics on every rank, found of all ranks (sync_batch_norm) in 4 layers on rank 0 and of "
            "each rank's own rows on rank 1; start every rank from the same program"));
}

TEST_CASE("sync_batch_norm: a rank that fails or is late ends the step of the others, which say in which layer") {
  std::string other;
  const auto fails = [&](bool late) {
    return text_of([&] {
      threads{2, {.deadline = std::chrono::milliseconds(late ? 200 : 60000)}}.run([&](threads::rank& rank) {
        synced<Net> t{rank, steep, {.seed = 4}};
        const samples<> s(6, static_cast<std::uint32_t>(rank.rank()));
        t.step(s.x, s.y);
        if (rank.rank() == 0 && late) std::this_thread::sleep_for(std::chrono::milliseconds(600));
        if (rank.rank() == 0) throw error("the disk is full");
        other = text_of([&] { t.step(s.x, s.y); });
        CHECK(has(text_of([&] { t.step(s.x, s.y); }), "expected synchronize() on every rank before the next step")); // final
      });
    });
  };
  CHECK(has(fails(false), "the disk is full"));
  CHECK(has(other, "trainer, step 2: statistics of layer 2, BatchNorm1d<8>: "));
  CHECK(has(other, "the disk is full"));
  fails(true);
  CHECK(has(other, "trainer, step 2: statistics of layer 2, BatchNorm1d<8>: "));
  CHECK(has(other, "is the communicator's deadline long enough?"));
}

TEST_CASE("sync_batch_norm: a loss that is no number on one rank stops them all, until they synchronize") {
  threads{2}.run([&](threads::rank& rank) {
    synced<Net> t{rank, steep, {.seed = 4, .check_loss = true}};
    samples<> s(6, static_cast<std::uint32_t>(rank.rank()));
    t.step(s.x, s.y);
    const std::uint64_t before = t.checksum();
    const float right = s.x[3];
    if (rank.rank() == 1) s.x[3] = std::numeric_limits<float>::infinity();
    CHECK(has(text_of([&] { t.step(s.x, s.y); }), "expected a finite loss")); // on both ranks: their statistics contain it
    CHECK(has(text_of([&] { t.step(s.x, s.y); }), "expected synchronize()"));
    t.synchronize();
    CHECK(t.checksum() == before);
    s.x[3] = right;
    t.step(s.x, s.y);
  });
}

} // namespace ddp_sync_batch_norm_tests
