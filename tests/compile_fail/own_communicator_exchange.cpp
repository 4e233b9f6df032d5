// SPDX-License-Identifier: MIT
// A communicator of one's own without an exchange, on a device whose memory the host does not share.
// expect: error: .*ddp: this communicator has no exchange, and cannot broadcast from the host's memory instead
// expect: checked_communicator<Alone, Far::queue>
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

struct Far : cpu {
  struct queue : cpu::queue {
    using cpu::queue::queue;
    static constexpr bool shares_memory = false;
  };
  explicit Far(cpu::options) {}
  queue& compute() { return line; }
  queue& transfers() { return line; }
  queue line{1};
};

struct Alone {
  static constexpr std::string_view name = "alone";
  struct ticket {
    void wait(Far::queue&) {}
  };
  int rank() const { return 0; }
  int size() const { return 1; }

  template <class T>
  ticket all_reduce(Far::queue&, std::span<T>) {
    return {};
  }
  ticket broadcast(Far::queue&, std::span<std::byte>, int) { return {}; }
#ifdef EXPECT_SUCCESS
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) { std::copy(own.begin(), own.end(), all.begin()); }
#endif
};

double learn(Alone& rank, const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<ddp<Sequential<Linear<784, 10>>, Alone>, CrossEntropyLoss, SGD, batch<32>, float, Far> train{
      rank, SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
