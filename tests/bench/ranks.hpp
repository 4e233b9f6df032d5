// SPDX-License-Identifier: MIT
// Measurements on several ranks, for any communicator.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <cairn/comm/communicator.hpp>
#include <cairn/comm/lent_memory.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>

#include "bench.hpp"

// A communicator that measures how long its caller waits.
template <class Rank>
class timed {
public:
  static constexpr std::string_view name = Rank::name;

  explicit timed(Rank& rank) : rank_(rank) {}

  class ticket {
  public:
    ticket() = default;
    ticket(cairn::detail::pending_of<Rank, float> inner, double* sum) : inner_(std::move(inner)), sum_(sum) {}

    template <class Queue>
    void wait(Queue& queue) {
      const auto start = std::chrono::steady_clock::now();
      inner_.wait(queue);
      if (sum_ != nullptr) *sum_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }

  private:
    cairn::detail::pending_of<Rank, float> inner_{};
    double* sum_ = nullptr;
  };

  int rank() const { return rank_.rank(); }
  int size() const { return rank_.size(); }

  template <class Queue, class T>
  ticket all_reduce(Queue& queue, std::span<T> numbers) {
    return {rank_.all_reduce(queue, numbers), &waited_};
  }
  template <class Queue>
  ticket broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    return {rank_.broadcast(queue, bytes, root), &waited_};
  }
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) { rank_.exchange(own, all); }
  void check() { rank_.check(); }
  void reserve(std::size_t bytes) { rank_.reserve(bytes); }
  cairn::types::lent_memory allocate(std::size_t bytes) { return cairn::detail::ask_for_memory(rank_, bytes); }

  double take_waited() { return std::exchange(waited_, 0.0); } // milliseconds waited since the last call

private:
  Rank& rank_;
  double waited_ = 0;
};

// 784 - 512 x 8 - 10 with ReLU, as in mlp.cpp. Every rank works on 128 samples of its own.
using net_of_ranks =
    cairn::Sequential<cairn::Linear<784, 512>, cairn::ReLU,
                      cairn::Repeat<7, cairn::Sequential<cairn::Linear<512, 512>, cairn::ReLU>>, cairn::Linear<512, 10>>;

// Calls visit with the requested model; returns false if it is not compiled in.
template <class Communicator, class Visit>
bool with_buckets(const request& asked, Visit visit) {
  using namespace cairn;
  const auto is = [&](const char* mode, double mebibytes) {
    return asked.mode == mode && std::abs(asked.bucket_mb - mebibytes) < 1e-4;
  };
  if (is("overlapped", 0.0625)) visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<64_KiB>>>();
  else if (is("overlapped", 0.25)) visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<256_KiB>>>();
  else if (is("overlapped", 1)) visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<1_MiB>>>();
  else if (is("overlapped", 4)) visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<4_MiB>>>();
  else if (is("overlapped", 25)) visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<25_MiB>>>();
  else if (is("after_backward", 1))
    visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<1_MiB>, after_backward>>();
  else if (is("after_backward", 25))
    visit.template operator()<ddp<net_of_ranks, Communicator, bucket_bytes<25_MiB>, after_backward>>();
  else return false;
  return true;
}

// Returns the measurements of all ranks, as numbers[rank * count + i]: a sum in which every rank leaves zeros in the places of
// the others.
template <class Rank>
std::vector<double> gather(Rank& rank, const std::vector<double>& own) {
  std::vector<double> all(own.size() * static_cast<std::size_t>(rank.size()));
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(own.size()) * rank.rank());
  cairn::cpu device;
  rank.all_reduce(device.compute(), std::span<double>(all)).wait(device.compute());
  return all;
}
// Returns the slowest rank's time for each step.
template <class Rank>
std::vector<double> slowest(Rank& rank, const std::vector<double>& own) {
  const std::vector<double> all = gather(rank, own);
  std::vector<double> out(own.size());
  for (std::size_t i = 0; i < all.size(); ++i) out[i % own.size()] = std::max(out[i % own.size()], all[i]);
  return out;
}

// Measures steps of a ddp<> model on the ranks that `group` joins, each on samples of its own; rank 0 prints.
template <class Model, std::size_t Batch, class Group>
void step_on_ranks(const request& asked, Group& group, const figures& of_model, cairn::SGD optimizer) {
  using namespace cairn;
  using rank_type = typename Group::rank;
  group.run([&](rank_type& rank) {
    figures own = of_model;
    timed<rank_type> comm(rank);
    {
      trainer<Model, CrossEntropyLoss, SGD, batch<Batch>> train{comm, optimizer, {.threads = asked.threads}};
      run_steps<CrossEntropyLoss>(asked, train, Batch, 1 + static_cast<std::uint64_t>(rank.rank()), own,
                                  [&] { own.exposed.push_back(comm.take_waited()); });
    }
    own.exposed.erase(own.exposed.begin()); // of the warm-up
    own.milliseconds = slowest(rank, own.milliseconds);
    own.exposed = slowest(rank, own.exposed);
    if (rank.rank() != 0) return;
    request as_it_was = asked;
    as_it_was.world = static_cast<std::size_t>(rank.size());
    print(as_it_was, own);
  });
}
// The same for the network above, in the requested buckets.
template <class Group>
bool step_on_ranks(const request& asked, Group group) {
  return with_buckets<timed<typename Group::rank>>(asked, [&]<class Model>() {
    step_on_ranks<Model, 128>(asked, group, describe_step<net_of_ranks, 128>(asked.mode.c_str(), 8),
                              {.learning_rate = 1e-2, .momentum = 0.9});
  });
}

// Measures sums of few and of many bytes, one at a time, on ranks that do nothing else. They give the latency and the bandwidth
// that predicted_step asks for. Rank 0 prints.
template <class Group>
bool ping_on_ranks(const request& asked, Group group) {
  using rank_type = typename Group::rank;
  group.run([&](rank_type& rank) {
    constexpr std::array<std::size_t, 4> bytes{64, 65536, 1048576, 4194304};
    std::array<double, bytes.size()> micros{};
    cairn::cpu device;
    std::vector<float> own(bytes.back() / sizeof(float));
    const cairn::types::lent_memory lent = cairn::detail::ask_for_memory(rank, bytes.back()); // as a trainer does
    const std::span<float> numbers(lent.data() == nullptr ? own.data() : reinterpret_cast<float*>(lent.data()), own.size());
    rank.reserve(bytes.back());
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      const std::size_t times = k == 0 ? 400 : std::min<std::size_t>(200, (std::size_t{64} << 20) / bytes[k]);
      std::vector<double> took;
      for (std::size_t i = 0; i < times + 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        rank.all_reduce(device.compute(), numbers.first(bytes[k] / sizeof(float))).wait(device.compute());
        took.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
      }
      took.erase(took.begin(), took.begin() + 5);
      took = slowest(rank, took);
      std::sort(took.begin(), took.end());
      micros[k] = took[took.size() / 4]; // the lower quartile: what the network can do, with less noise from other work
    }
    if (rank.rank() != 0) return;
    const double ranks = rank.size();
    // On a disturbed machine few bytes may have taken as long as many; then half of the time counts as that of the bytes.
    const double of_bytes = std::max(micros[2] - micros[0], micros[2] / 2);
    const double on_link = 2 * (ranks - 1) / ranks * static_cast<double>(bytes[2]); // of each rank, in each direction
    std::printf("{\"peer\": \"cairn\", \"workload\": \"ping\", \"communicator\": \"%s\", \"world\": %d, \"us_64\": %.2f, "
                "\"us_65536\": %.2f, \"us_1048576\": %.2f, \"us_4194304\": %.2f, \"latency_us\": %.3f, \"gbytes\": %.4f}\n",
                asked.communicator.c_str(), rank.size(), micros[0], micros[1], micros[2], micros[3], micros[0] / 2,
                on_link / of_bytes / 1e3);
    std::fflush(stdout);
  });
  return true;
}
