// SPDX-License-Identifier: MIT
// Ranks as threads on a device whose memory the host does not share.
// expect: error: .*ddp: this communicator adds up in the host's memory, and the host cannot reach the memory of this device
// expect: checked_communicator<(thread_rank|threads::rank), Far::queue>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/sgd.hpp>
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

template <class Communicator>
double learn(Communicator& rank, const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<ddp<Sequential<Linear<784, 10>>, Communicator>, CrossEntropyLoss, SGD, batch<32>, float, Far> train{
      rank, SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
#ifdef EXPECT_SUCCESS
template double learn(loopback::rank&, const std::vector<float>&, const std::vector<int>&);
#else
template double learn(threads::rank&, const std::vector<float>&, const std::vector<int>&);
#endif
