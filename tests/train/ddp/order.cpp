// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../order.hpp"
#include "../training.hpp"

namespace ddp_order_tests {

using namespace cairn;
using testing::samples;

namespace {

using Net = Sequential<Linear<testing::features, 16>, ReLU, Repeat<3, Residual<Linear<16, 16>, ReLU>>,
                       checkpoint<recompute_all, Sequential<Linear<16, 16>, Linear<16, 16>>>, Linear<16, testing::classes>>;

// A bucket's departure: its range of the gradients, and the end of the gradients that were written by then; in bytes.
struct departure {
  std::size_t begin = 0, end = 0, written = 0;
};

template <class Model, class... Options>
struct observed {
  using trainer_type = trainer<ddp<Model, recording::communicator<recording::forgets::nothing>, Options...>, CrossEntropyLoss,
                               SGD, batch<6>, float, recording::device>;
  std::vector<departure> departures;

  observed() {
    typename trainer_type::communicator_type comm;
    trainer_type t{comm, testing::momentum, {.seed = 3}};
    const samples s(6, 1);
    t.step(s.x, s.y);
    const auto* const first = reinterpret_cast<const std::byte*>(t.gradients().data());
    const auto* const last = first + t.gradients().size_bytes();
    std::size_t written = 0;
    for (const recording::entry& e : t.device().log().entries)
      for (const recording::range& r : e.ranges) {
        if (!r.writes || r.end <= first || r.end > last) continue;
        const auto end = static_cast<std::size_t>(r.end - first);
        const auto begin = static_cast<std::size_t>(std::max(r.begin, first) - first); // step facts precede the first bucket
        if (e.name == "all_reduce") departures.push_back({begin, end, written});
        else if (end > written) written = end;
      }
  }
};

// The end of the gradients of the layer that completes a bucket, in bytes; the last padding is not written.
template <class Trainer>
std::size_t complete_after(std::size_t b) {
  using plan = typename Trainer::plan;
  std::array<detail::gradient_end, plan::tensors> ends{};
  std::size_t leaf = 0;
  plan::write_ends(ends.data(), 0, leaf);
  std::size_t end = 0;
  for (const detail::gradient_end& e : ends)
    if (e.leaf == Trainer::buckets[b].leaves_after) end = e.end;
  return end * sizeof(float);
}

template <class Model, class... Options>
void check_order() {
  using seen = observed<Model, Options...>;
  using trainer_type = typename seen::trainer_type;
  const std::vector<departure> departures = seen{}.departures;
  REQUIRE(departures.size() == trainer_type::buckets.size());
  for (std::size_t b = 0; b < departures.size(); ++b) {
    CAPTURE(b);
    CHECK(departures[b].begin == trainer_type::buckets[b].begin * sizeof(float));
    CHECK(departures[b].end == trainer_type::buckets[b].end * sizeof(float));
    CHECK(detail::align_up(departures[b].written) == complete_after<trainer_type>(b));
  }
  CHECK(departures.back().end == trainer_type::plan::parameter_block * sizeof(float));
}

// A user's own communicator, for ranks that are threads. Each waits until all have put their span on the table, adds the spans
// in the order of the ranks, and waits until all have done so.
struct meeting_table {
  std::barrier<> gate;
  std::vector<std::span<std::byte>> spans;
  explicit meeting_table(int ranks) : gate(ranks), spans(static_cast<std::size_t>(ranks)) {}
};
class at_the_table {
public:
  static constexpr std::string_view name = "at_the_table";
  struct ticket {
    template <class Queue>
    void wait(Queue&) {}
  };

  at_the_table(meeting_table& all, int rank) : all_(all), rank_(rank) {}
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(all_.spans.size()); }

  template <class Queue, class T>
  ticket all_reduce(Queue&, std::span<T> span) {
    std::vector<T> sum(span.size());
    meet(std::as_writable_bytes(span));
    for (const std::span<std::byte>& other : all_.spans)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += reinterpret_cast<const T*>(other.data())[i];
    all_.gate.arrive_and_wait();
    for (std::size_t i = 0; i < sum.size(); ++i) span[i] = sum[i];
    return {};
  }
  template <class Queue>
  ticket broadcast(Queue&, std::span<std::byte> bytes, int root) {
    meet(bytes);
    const std::span<std::byte> from = all_.spans[static_cast<std::size_t>(root)];
    if (rank_ != root) std::copy(from.begin(), from.end(), bytes.begin());
    all_.gate.arrive_and_wait();
    return {};
  }

private:
  void meet(std::span<std::byte> bytes) {
    all_.spans[static_cast<std::size_t>(rank_)] = bytes;
    all_.gate.arrive_and_wait();
  }

  meeting_table& all_;
  int rank_;
};

// One of two identical ranks; records the bytes that it is asked to reserve.
struct reserving : recording::communicator<recording::forgets::nothing> {
  using base = recording::communicator<recording::forgets::nothing>;
  std::vector<std::size_t> reserved;
  std::size_t largest = 0;

  template <class T>
  ticket all_reduce(recording::queue& queue, std::span<T> span) {
    CHECK(reserved.size() == 1); // reserve() comes first
    largest = std::max(largest, span.size_bytes());
    return base::all_reduce(queue, span);
  }
  void reserve(std::size_t bytes) { reserved.push_back(bytes); }
};

template <class Model, class... Options>
void check_reserved() {
  reserving comm;
  trainer<ddp<Model, reserving, Options...>, CrossEntropyLoss, SGD, batch<6>, float, recording::device> t{comm,
                                                                                                          testing::momentum};
  const samples s(6, 1);
  for (int step = 0; step < 2; ++step) t.step(s.x, s.y);
  REQUIRE(comm.reserved.size() == 1);
  CHECK(comm.largest > 0);
  CHECK(comm.largest <= comm.reserved[0]);
  CHECK(comm.reserved[0] <= comm.largest + detail::facts_of_ranks<float>::size(2) * sizeof(float));
}

} // namespace

TEST_CASE("ddp: a communicator is told the largest sum of a step before the first") {
  check_reserved<Net>();
  check_reserved<Net, bucket_bytes<3000>>();
}

TEST_CASE("ddp: a bucket leaves right after the backward that completes it") {
  check_order<Net, bucket_bytes<1>>();
  check_order<Net, bucket_bytes<3000>>();
  check_order<checkpoint<recompute_all, Net>, bucket_bytes<1>>();
  check_order<checkpoint<sqrt_n, Net>, bucket_bytes<3000>>();
  // All buckets except those of the first layer leave before the last backward.
  const auto early = observed<Net, bucket_bytes<1>>{}.departures;
  REQUIRE(early.size() == 14);
  for (std::size_t b = 0; b + 2 < early.size(); ++b) CHECK(early[b].written <= early[12].begin);
}

TEST_CASE("ddp: after_backward lets nothing leave early") {
  const auto late = observed<Net, bucket_bytes<1>, after_backward>{}.departures;
  REQUIRE(late.size() == 14);
  for (const departure& d : late) CHECK(detail::align_up(d.written) == late.back().end);
}

TEST_CASE("ddp: a bucket does not leave before its gradients are those of all micro-batches") {
  using trainer_type = typename observed<Net, bucket_bytes<1>>::trainer_type;
  typename trainer_type::communicator_type comm;
  trainer_type t{comm, testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  t.accumulate(s.x, s.y);
  for (const recording::entry& e : t.device().log().entries) CHECK(e.name != "all_reduce");
  t.step(s.x, s.y);
  std::size_t sums = 0;
  for (const recording::entry& e : t.device().log().entries) sums += e.name == "all_reduce";
  CHECK(sums == trainer_type::buckets.size());
}

TEST_CASE("ddp: a user's own communicator") {
  static_assert(communicator<at_the_table, cpu::queue>);
  const samples a(6, 1), b(6, 2);
  meeting_table all(2);
  std::vector<std::uint64_t> sums(2);
  threads{2}.run([&](threads::rank& rank) {
    at_the_table own(all, rank.rank());
    trainer<ddp<Net, at_the_table, bucket_bytes<2000>>, CrossEntropyLoss, SGD, batch<6>> t{own, testing::momentum, {.seed = 3}};
    for (int step = 0; step < 3; ++step) rank.rank() == 0 ? t.step(a.x, a.y) : t.step(b.x, b.y);
    sums[static_cast<std::size_t>(rank.rank())] = t.checksum();
  });
  trainer<Net, CrossEntropyLoss, SGD, batch<6>> t{testing::momentum, {.seed = 3}};
  for (int step = 0; step < 3; ++step) {
    t.accumulate(a.x, a.y);
    t.step(b.x, b.y);
  }
  CHECK(sums[0] == t.checksum());
  CHECK(sums[1] == t.checksum());
}

} // namespace ddp_order_tests
