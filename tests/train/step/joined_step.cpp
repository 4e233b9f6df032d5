// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
// Ranks with different numbers of batches: finished ranks take part in the steps of the others.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/step/joined_step.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace joined_step_tests {

using namespace cairn;
using testing::has;
using testing::Net;
using testing::samples;
using testing::text_of;

namespace {

// The number of batches of each rank, for each epoch.
using epochs = std::vector<std::vector<int>>;

template <class T>
samples<T> samples_of(std::size_t epoch, int batch, int rank) {
  return samples<T>(static_cast<std::size_t>(rank == 1 ? 4 : 6),
                    static_cast<std::uint32_t>(epoch) * 100 + static_cast<std::uint32_t>(10 * batch + rank));
}

// A trainer's state after every epoch.
struct trace {
  std::vector<std::uint64_t> parameters, states, steps;
  std::vector<double> norms;
  bool operator==(const trace&) const = default;

  template <class Trainer>
  void look_at(Trainer& t) {
    parameters.push_back(t.checksum());
    states.push_back(detail::checksum(std::as_bytes(t.optimizer_state(t.optimizer().states() - 1))));
    steps.push_back(t.steps());
    norms.push_back(t.gradient_norm());
  }
};

template <class Replica, class T, class Optimizer, class Given>
std::vector<trace> run(const epochs& all, const Optimizer& optimizer, const Given& given) {
  std::vector<trace> out(all[0].size());
  threads{static_cast<int>(out.size())}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    using type = trainer<Replica, CrossEntropyLoss, Optimizer, batch<6>, T>;
    typename type::options options{.seed = 3, .learning_rate = given.learning_rate};
    options.check_every = 2;
    if constexpr (!type::fused) options.clip = given.clip;
    type t{rank, optimizer, options};
    for (std::size_t epoch = 0; epoch < all.size(); ++epoch) {
      for (int k = 0; k < all[epoch][r]; ++k) {
        const auto s = samples_of<T>(epoch, k, rank.rank());
        t.step(s.x, s.y);
      }
      int most = 0;
      for (const int batches : all[epoch]) most = batches > most ? batches : most;
      CHECK(t.join() == static_cast<std::uint64_t>(most - all[epoch][r]));
      out[r].look_at(t);
    }
  });
  return out;
}

// The only rank of a job, with the number of another rank, so that it draws that rank's random numbers.
struct numbered : loopback::rank {
  int number = 0;
  int rank() const { return number; }
};

// One rank that sees the same samples as micro-batches of the same steps.
template <class Model, class T, class Optimizer, class Given>
trace run_alone(const epochs& all, const Optimizer& optimizer, const Given& given) {
  numbered self;
  trainer<ddp<Model, numbered>, CrossEntropyLoss, Optimizer, batch<6>, T> t{
      self, optimizer, {.seed = 3, .learning_rate = given.learning_rate, .clip = given.clip}};
  trace out;
  for (std::size_t epoch = 0; epoch < all.size(); ++epoch) {
    for (int k = 0;; ++k) {
      std::vector<int> ranks; // those that have samples
      for (std::size_t r = 0; r < all[epoch].size(); ++r)
        if (k < all[epoch][r]) ranks.push_back(static_cast<int>(r));
      if (ranks.empty()) break;
      for (std::size_t m = 0; m < ranks.size(); ++m) {
        const auto s = samples_of<T>(epoch, k, ranks[m]);
        self.number = ranks[m] - static_cast<int>(m); // micro-batch m draws the numbers of m + number
        if (m + 1 < ranks.size()) t.accumulate(s.x, s.y);
        else t.step(s.x, s.y);
      }
    }
    CHECK(t.join() == 0);
    out.look_at(t);
  }
  return out;
}

struct settings {
  rate_schedule learning_rate{};
  clip_norm clip{};
};

template <class Replica, class T = float, class Optimizer>
void check(const epochs& all, const Optimizer& optimizer, const settings& given = {}) {
  CAPTURE(all[0]);
  const trace want = run_alone<Net, T>(all, optimizer, given);
  for (const trace& rank : run<Replica, T>(all, optimizer, given)) CHECK(rank == want);
}

// Without buffers and random numbers.
using Plain = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;
using replica = ddp<checkpoint<sqrt_n, Net>, threads::rank, bucket_bytes<2500>>;
using fused_replica = ddp<fused_update<Net>, threads::rank, bucket_bytes<2500>>;

} // namespace

TEST_CASE("joined_step: ranks that are finished at different times are one rank that sees the same samples") {
  check<replica>({{1, 2}}, testing::momentum);
  check<replica>({{2, 1}}, testing::momentum);
  for (const epochs& all : {epochs{{1, 3, 2}}, epochs{{3, 1, 2}}, epochs{{2, 0, 1}}, epochs{{0, 2, 2}}, epochs{{2, 2, 2}}})
    check<replica>(all, testing::momentum);
}
TEST_CASE("joined_step: several epochs, one of them without a sample, with clipping and a schedule") {
  const settings given{.learning_rate = step_rate{.learning_rate = 0.1, .step_size = 2}, .clip = {0.25}};
  check<replica>({{1, 2, 0}, {0, 0, 0}, {2, 1, 2}, {1, 1, 1}, {0, 0, 2}}, testing::momentum, given);
}
TEST_CASE("joined_step: with AdamW and numbers of double") {
  check<ddp<Net, threads::rank, after_backward>, double>({{1, 3}, {2, 0}}, AdamW{.learning_rate = 0.01});
}
TEST_CASE("joined_step: with a fused update, which divides by what it learns with the first bucket") {
  static_assert(trainer<fused_replica, CrossEntropyLoss, SGD, batch<6>>::buckets.size() >= 3);
  check<fused_replica>({{1, 3, 2}, {0, 2, 2}, {2, 2, 2}, {0, 0, 0}, {2, 0, 1}}, testing::momentum);
}

TEST_CASE("joined_step: ranks that accumulate are alike where others have none") {
  const auto checksums = [](int ranks) {
    std::vector<std::uint64_t> out(static_cast<std::size_t>(ranks));
    threads{ranks}.run([&](threads::rank& rank) {
      trainer<ddp<Plain, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
      for (int k = 0; k < 2 && rank.rank() < 2; ++k) {
        const auto a = samples_of<float>(0, k, rank.rank()), b = samples_of<float>(1, k, rank.rank());
        t.accumulate(a.x, a.y);
        t.step(b.x, b.y);
      }
      t.join();
      CHECK(t.state().micro_batches == 2);
      out[static_cast<std::size_t>(rank.rank())] = t.checksum();
    });
    for (const std::uint64_t sum : out) CHECK(sum == out[0]);
    return out[0];
  };
  CHECK(checksums(2) == checksums(3)); // the third rank has no samples
}

TEST_CASE("joined_step: layers' buffers are those of the lowest rank of the last step, if not all were there") {
  using Normed = Sequential<Linear<testing::features, 16>, BatchNorm1d<16>, ReLU, Linear<16, testing::classes>>;
  using type = trainer<ddp<Normed, threads::rank>, CrossEntropyLoss, SGD, batch<6>>;
  const auto buffers = [](type& t) { return std::vector<float>(t.buffers().begin(), t.buffers().end()); };
  const auto run = [&](const std::vector<int>& batches) {
    std::vector<std::array<std::vector<float>, 2>> out(batches.size()); // before and after join()
    threads{static_cast<int>(batches.size())}.run([&](threads::rank& rank) {
      const auto r = static_cast<std::size_t>(rank.rank());
      type t{rank, testing::momentum, {.seed = 3}};
      for (int k = 0; k < batches[r]; ++k) {
        const auto s = samples_of<float>(0, k, rank.rank());
        t.step(s.x, s.y);
      }
      out[r][0] = buffers(t);
      t.join();
      t.join(); // the end of an epoch without samples changes nothing
      out[r][1] = buffers(t);
    });
    return out;
  };
  for (const auto& its : run({1, 3, 3})) CHECK(its[1] == run({1, 3, 3})[1][0]);
  for (const auto& its : run({3, 1, 2})) CHECK(its[1] == run({3, 1, 2})[0][0]);
  const auto even = run({2, 2, 2});
  for (const auto& its : even) CHECK(its[1] == its[0]);
  CHECK(even[0] != even[1]);
}

namespace {

// y = x, with a parameter whose gradient is -0.
struct Negative {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {1}, initial::constant(1)}}; }
  static void forward(cpu::queue&, const auto& call) {
    std::copy_n(call.inputs[0], call.rows * call.in(0).size(), call.outputs[0]);
  }
  static void backward(cpu::queue&, const auto& call) {
    call.gradients[0][0] = -0.0F;
    if (call.input_gradients) std::copy_n(call.output_gradients[0], call.rows * call.in(0).size(), call.input_gradients[0]);
  }
};

} // namespace

TEST_CASE("joined_step: the zeros of a rank change no bit, not even that of -0") {
  for (const int with_samples : {0, 1}) {
    threads{2}.run([&](threads::rank& rank) {
      using Signed = Sequential<Linear<testing::features, testing::classes>, Negative>;
      trainer<ddp<Signed, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum};
      const auto s = samples_of<float>(0, 0, rank.rank());
      if (rank.rank() == with_samples) {
        t.step(s.x, s.y);
        t.for_each_gradient([](const auto& q) {
          if (q.numbers.size() == 1) CHECK(std::signbit(q.numbers[0]));
        });
      }
      t.join();
      CHECK(t.steps() == 1);
    });
  }
}

namespace {

// Counts the calls of a rank, and the numbers that they sum.
struct counting {
  static constexpr std::string_view name = "counting";

  explicit counting(threads::rank& rank) : inner(rank) {}
  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<double> span) {
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<float> span) {
    ++calls;
    numbers += span.size();
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    ++broadcasts;
    return inner.broadcast(queue, bytes, root);
  }
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) { inner.exchange(own, all); }

  threads::rank& inner;
  std::size_t calls = 0, numbers = 0, broadcasts = 0;
};

} // namespace

TEST_CASE(
    "joined_step: a step makes the calls that it made, and the end of all is one bucket, or with a fused update the facts") {
  const auto calls = []<class Model>(std::type_identity<Model>, std::size_t more, std::size_t of_the_end) {
    threads{2}.run([&](threads::rank& rank) {
      counting self(rank);
      trainer<ddp<Model, counting, bucket_bytes<1>>, CrossEntropyLoss, SGD, batch<6>> t{self, testing::momentum};
      const std::size_t before = self.broadcasts;
      const auto s = samples_of<float>(0, 0, rank.rank());
      for (std::size_t step = 1; step <= 3; ++step) {
        if (rank.rank() == 0 || step == 1) t.step(s.x, s.y);
        else break;
        CHECK(self.calls == step * (t.buckets.size() + more));
      }
      const std::size_t of_steps = 3 * (t.buckets.size() + more);
      t.join();
      CHECK(self.calls == of_steps + 1);
      t.join();
      CHECK(self.calls == of_steps + 2);
      const std::size_t sum = self.numbers;
      t.join();
      CHECK(self.numbers - sum == of_the_end);
      CHECK(self.broadcasts == before); // no buffers, so no broadcast
    });
  };
  using type = trainer<ddp<Plain, counting, bucket_bytes<1>>, CrossEntropyLoss, SGD, batch<6>>;
  constexpr std::size_t facts = detail::facts_of_ranks<float>::size(2);
  calls(std::type_identity<Plain>{}, 0, facts + type::buckets[0].size());
  calls(std::type_identity<fused_update<Plain>>{}, 1, facts);
}

namespace {

using plain_rank = trainer<ddp<Plain, threads::rank, bucket_bytes<1>>, CrossEntropyLoss, SGD, batch<6>>;

// The error texts of two ranks.
template <class Body>
std::array<std::string, 2> texts_of(const Body& body) {
  std::array<std::string, 2> out;
  threads{2}.run([&](threads::rank& rank) {
    plain_rank t{rank, testing::momentum, {.check_every = 1}};
    const auto s = samples_of<float>(0, 0, rank.rank());
    out[static_cast<std::size_t>(rank.rank())] = text_of([&] { body(t, rank.rank(), s); });
  });
  return out;
}

} // namespace

TEST_CASE("joined_step: what the ranks differ in is still found, before an update, and can be set right") {
  const auto rates = texts_of([](plain_rank& t, int rank, const samples<>& s) {
    t.step(s.x, s.y);
    const std::uint64_t before = t.checksum();
    for (const bool joins : {true, false}) { // in a step of the other rank, and when both are finished
      if (rank == 1) t.learning_rate(0.05);
      const std::string text = text_of([&] {
        if (rank == 1 || !joins) t.join();
        else t.step(s.x, s.y);
      });
      CHECK(has(text, "expected the same learning rate on every rank, found 0.1 on rank 0, 0.05 on rank 1;"));
      CHECK(t.checksum() == before);
      CHECK(t.steps() == 1);
      t.learning_rate(0.1);
    }
    if (rank == 0) t.step(s.x, s.y);
    CHECK(t.join() == (rank == 0 ? 0 : 1));
  });
  CHECK(rates == std::array<std::string, 2>{});
  const auto written = texts_of([](plain_rank& t, int rank, const samples<>& s) {
    if (rank == 1) t.parameters()[3] += 1;
    if (rank == 0) t.step(s.x, s.y);
    t.join();
  });
  for (const std::string& text : written) CHECK(has(text, "expected the same parameters"));
}

TEST_CASE("joined_step: micro-batches are compared among the ranks that have samples") {
  std::vector<std::string> texts(3);
  threads{3}.run([&](threads::rank& rank) {
    plain_rank t{rank, testing::momentum};
    const auto s = samples_of<float>(0, 0, rank.rank());
    texts[static_cast<std::size_t>(rank.rank())] = text_of([&] {
      if (rank.rank() == 2) t.accumulate(s.x, s.y);
      if (rank.rank() > 0) t.step(s.x, s.y);
      t.join();
    });
  });
  for (const std::string& text : texts)
    CHECK(has(text, "the same number of micro-batches on every rank, found 1 on rank 1, 2 on rank 2; call accumulate()"));
}

TEST_CASE("joined_step: micro-batches that are in no step are refused") {
  const auto texts = texts_of([](plain_rank& t, int, const samples<>& s) {
    t.accumulate(s.x, s.y);
    CHECK(has(text_of([&] { t.join(); }), "expected no micro-batches since the last step, found 1; make a step of them"));
    t.drop_micro_batches();
    CHECK(t.join() == 0);
  });
  CHECK(texts == std::array<std::string, 2>{});
  trainer<Plain, CrossEntropyLoss, SGD, batch<6>> alone{testing::momentum};
  CHECK(alone.join() == 0); // there are no other ranks
}

TEST_CASE("joined_step: a wish to stop of a rank that is finished reaches all, and is not forgotten at the end") {
  std::array<std::uint64_t, 2> steps{};
  const auto texts = texts_of([&](plain_rank& t, int rank, const samples<>& s) {
    t.step(s.x, s.y);
    if (rank == 1) t.request_stop();
    if (rank == 0)
      while (!t.stop_requested() && t.steps() < 9) t.step(s.x, s.y);
    t.join();
    CHECK(t.stop_requested());
    steps[static_cast<std::size_t>(rank)] = t.steps();
    t.step(s.x, s.y);
    CHECK_FALSE(t.stop_requested()); // the request was for one step
    if (rank == 0) t.request_stop();
    t.join(); // or for the end of an epoch
    CHECK(t.stop_requested());
  });
  CHECK(texts == std::array<std::string, 2>{});
  CHECK(steps == std::array<std::uint64_t, 2>{2, 2});
}

TEST_CASE("joined_step: synchronize makes ranks alike after a failure in it") {
  const auto texts = texts_of([](plain_rank& t, int rank, const samples<>& s) {
    CHECK(text_of([&] {
            if (rank == 0) throw error("the disk is full");
            t.join();
          }).find(rank == 0 ? "the disk is full" : "rank 0 recovers after") != std::string::npos);
    t.synchronize();
    if (rank == 0) t.step(s.x, s.y);
    CHECK(t.join() == static_cast<std::uint64_t>(rank));
  });
  CHECK(texts == std::array<std::string, 2>{});
}

TEST_CASE("joined_step: a rank that forgets it is missed, as one that makes fewer steps is") {
  for (const bool others_join : {false, true}) {
    std::string text;
    CHECK(has(text_of([&] {
                threads{2}.run([&](threads::rank& rank) {
                  plain_rank t{rank, testing::momentum};
                  const auto s = samples_of<float>(0, 0, rank.rank());
                  t.step(s.x, s.y);
                  if (rank.rank() == 0) return;
                  text = text_of([&] {
                    if (others_join) t.join();
                    else t.step(s.x, s.y);
                  });
                  throw error(text);
                });
              }),
              "rank 0"));
    CHECK(has(text, "trainer, step 2: "));
    CHECK(has(text, "rank 0 returned after"));
  }
}

} // namespace joined_step_tests
