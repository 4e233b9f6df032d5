// SPDX-License-Identifier: MIT
// A communicator of one's own whose tickets cannot be waited for as the trainer does.
// expect: error: .*ddp: what all_reduce or broadcast of this communicator returns is no pending
// expect: checked_communicator<Alone,
#include <span>
#include <string_view>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Alone {
  static constexpr std::string_view name = "alone";
  struct ticket {
#ifdef EXPECT_SUCCESS
    template <class Queue>
    void wait(Queue&) {}
#else
    void wait() {}
#endif
  };
  int rank() const { return 0; }
  int size() const { return 1; }

  template <class Queue, class T>
  ticket all_reduce(Queue&, std::span<T>) {
    return {};
  }
  template <class Queue>
  ticket broadcast(Queue&, std::span<std::byte>, int) {
    return {};
  }
};

double learn(Alone& rank, const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<ddp<Sequential<Linear<784, 10>>, Alone>, CrossEntropyLoss, SGD, batch<32>> train{
      rank, SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
