// SPDX-License-Identifier: MIT
#include <mutex>

#include <cairn/comm/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/train/cross_entropy_loss.hpp>

#include "bench.hpp"

using namespace cairn;

namespace {

// A communicator that measures how long its caller waits.
class timed {
public:
  static constexpr std::string_view name = "timed threads";

  explicit timed(threads::rank& rank) : rank_(rank) {}

  class ticket {
  public:
    ticket() = default;
    ticket(pending_of<threads::rank, float> inner, double* sum) : inner_(std::move(inner)), sum_(sum) {}

    template <class Queue>
    void wait(Queue& queue) {
      const auto start = std::chrono::steady_clock::now();
      inner_.wait(queue);
      if (sum_ != nullptr) *sum_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }

  private:
    pending_of<threads::rank, float> inner_{};
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

  double take_waited() { return std::exchange(waited_, 0.0); } // milliseconds since the last call

private:
  threads::rank& rank_;
  double waited_ = 0;
};

using net = Sequential<Linear<784, 512>, ReLU, Repeat<7, Sequential<Linear<512, 512>, ReLU>>, Linear<512, 10>>;

// Every rank works on 128 samples of its own. A step is as long as that of the slowest rank.
template <std::size_t Kibibytes, class... Options>
bool run(const request& asked, const char* mode) {
  if (asked.mode != mode || std::abs(asked.bucket_mb * 1024 - double{Kibibytes}) > 0.5) return false;
  figures out = describe_step<net, 128>(mode, 8);
  std::mutex lock;
  threads{static_cast<int>(asked.world)}.run([&](threads::rank& rank) {
    timed comm(rank);
    trainer<ddp<net, timed, bucket_bytes<Kibibytes * 1024>, Options...>, CrossEntropyLoss, SGD, batch<128>> train{
        comm, SGD{.learning_rate = 1e-2, .momentum = 0.9}, {.threads = asked.threads}};
    figures own;
    run_steps<CrossEntropyLoss>(asked, train, 128, 1 + static_cast<std::uint64_t>(rank.rank()), own,
                                [&] { own.exposed.push_back(comm.take_waited()); });
    own.exposed.erase(own.exposed.begin()); // of the warm-up
    const std::lock_guard guard(lock);
    out.milliseconds.resize(own.milliseconds.size());
    out.exposed.resize(own.exposed.size());
    for (std::size_t i = 0; i < own.milliseconds.size(); ++i) {
      out.milliseconds[i] = std::max(out.milliseconds[i], own.milliseconds[i]);
      out.exposed[i] = std::max(out.exposed[i], own.exposed[i]);
    }
    out.first_loss = own.first_loss;
    out.last_loss = own.last_loss;
  });
  print(asked, out);
  return true;
}

} // namespace

bool bench_ddp(const request& asked) {
  return run<64>(asked, "overlapped") || run<256>(asked, "overlapped") || run<1024>(asked, "overlapped") ||
         run<4096>(asked, "overlapped") || run<25600>(asked, "overlapped") ||
         run<1024, after_backward>(asked, "after_backward") || run<25600, after_backward>(asked, "after_backward");
}
