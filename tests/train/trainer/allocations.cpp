// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <span>
#include <vector>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/session.hpp>
#include <cairn/train/trainer.hpp>

#if __has_include(<nlohmann/json.hpp>)
#include <new>
#include <string>

#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/train/state/saved_state.hpp>

#include "../../data/folder.hpp"
#endif

#include "../../data/allocations.hpp"
#include "../../layer/several_layers.hpp"
#include "../at_once.hpp"
#include "../training.hpp"

namespace trainer_allocations_tests {

using namespace cairn;
using testing::allocated_bytes;
using testing::allocations;
using testing::Net;
using testing::samples;

namespace {

template <class Trainer>
void use_once(Trainer& t, const samples<>& a, const samples<>& b) {
  std::array<float, 6 * testing::classes> outputs{};
  t.accumulate(a.x, a.y);
  t.step(b.x, b.y);
  t.step(a.x, a.y);
  t.evaluate(b.x, outputs);
  t.evaluate_loss(a.x, a.y);
  t.learning_rate(0.01);
  static_cast<void>(t.checksum());
}

} // namespace

TEST_CASE("trainer: what allocates is counted") {
  const std::size_t before = allocations;
  const samples a(6, 1);
  CHECK(allocations == before + 2);
  const cpu::memory aligned(64);
  CHECK(allocations == before + 3);
}

TEST_CASE("trainer: a step with a dense block allocates nothing") {
  trainer<Sequential<Input<3, 3, 2>, DenseBlock<2, 3, store_last<1>>, Flatten>, CrossEntropyLoss, Adam, batch<4>> t{
      Adam{}, {.seed = 3, .threads = 2}};
  const std::vector<float> x(4 * 3 * 3 * 2, 0.5F);
  const std::vector<int> y(4, 1);
  const std::size_t before = allocations;
  t.step(x, y);
  CHECK(allocations == before);
}

TEST_CASE("trainer: a step by a function allocates nothing after the first") {
  const samples a(6, 1), b(4, 2);
  trainer<Net, CrossEntropyLoss, Adam, batch<6>> t{Adam{}, {.seed = 3}};
  const auto first_outputs = [](tensor_view<const float> outputs, tensor_view<float> gradient) {
    gradient[0] = 1;
    return static_cast<double>(outputs[0]);
  };
  t.accumulate_by(a.x, first_outputs);
  const std::size_t before = allocations;
  t.step_by(b.x, first_outputs);
  t.accumulate_by(a.x, first_outputs);
  t.step_by(a.x, first_outputs);
  CHECK(allocations == before);
}

TEST_CASE("trainer: a step by a function of all outputs allocates nothing after the first") {
  using Heads = Sequential<Linear<testing::features, 8>, testing::Split, Linear<8, 3>, testing::Swap>;
  const samples a(6, 1), b(4, 2);
  trainer<with_all_outputs<Heads>, CrossEntropyLoss, Adam, batch<6>> t{Adam{}, {.seed = 3}};
  const auto both = [](const auto& outputs, const auto& gradients) {
    gradients[0][0] = gradients[1][1] = 1;
    return static_cast<double>(outputs[0][0] + outputs[1][1]);
  };
  t.accumulate_by(a.x, both);
  const std::size_t before = allocations;
  t.step_by(b.x, both);
  t.accumulate_by(a.x, both);
  t.step_by(a.x, both);
  CHECK(allocations == before);
}

TEST_CASE("trainer: a step with a loss for each head allocates nothing") {
  using Two = Sequential<Linear<testing::features, 8>, multi::Heads<Linear<8, testing::classes>, Linear<8, 2>>>;
  using both = multi::losses<CrossEntropyLoss, MSELoss>;
  const samples a(6, 1);
  const std::vector<float> boxes(12);
  trainer<with_all_outputs<Two>, both, Adam, batch<6>> t{Adam{}, {.seed = 3, .loss = {.weights = {1, 0.5}}}};
  t.accumulate(a.x, multi::targets(a.y, boxes));
  const std::size_t before = allocations;
  t.step(a.x, multi::targets(a.y, boxes));
  t.accumulate(a.x, multi::targets(a.y, boxes));
  t.step(a.x, multi::targets(a.y, boxes));
  t.evaluate_loss(a.x, multi::targets(a.y, boxes));
  CHECK(t.head_losses()[0] > 0);
  CHECK(allocations == before);
}

TEST_CASE("trainer: a step, a micro-batch and an evaluation allocate nothing") {
  const samples a(6, 1), b(4, 2);
  trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, Adam, batch<6>> t{
      Adam{}, {.seed = 3, .threads = 2, .check_loss = true, .clip = {1}}};
  t.step(a.x, a.y); // the first step and the first micro-batch are not counted
  const std::size_t first = allocations;
  t.step(b.x, b.y);
  CHECK(allocations == first);
  t.accumulate(a.x, a.y);
  const std::size_t before = allocations;
  for (int i = 0; i < 3; ++i) use_once(t, a, b);
  CHECK(allocations == before);
}

TEST_CASE("trainer: a step with a fused update allocates nothing, and its trainer no gradients") {
  const samples a(6, 1), b(4, 2);
  trainer<fused_update<checkpoint<sqrt_n, Net>>, CrossEntropyLoss, Adam, batch<6>> t{
      Adam{}, {.seed = 3, .threads = 2, .check_loss = true}};
  std::array<float, 6 * testing::classes> outputs{};
  const std::size_t first = allocations;
  for (int i = 0; i < 3; ++i) {
    t.step(a.x, a.y);
    t.step(b.x, b.y);
    t.evaluate(b.x, outputs);
  }
  CHECK(allocations == first);

  // Parameters, momentum, arena and scratch, and less than a kibibyte more.
  using large = Sequential<Linear<testing::features, 300>, ReLU, Linear<300, 300>, ReLU, Linear<300, testing::classes>>;
  using fused_trainer = trainer<fused_update<large>, CrossEntropyLoss, SGD, batch<6>>;
  const std::size_t before = allocated_bytes;
  const fused_trainer small{testing::momentum, {.seed = 3, .threads = 1}};
  constexpr std::size_t block = fused_trainer::plan::parameter_block * sizeof(float);
  CHECK(allocated_bytes - before < 2 * block + fused_trainer::plan::trained::memory.arena + cpu::queue::scratch_bytes + 1024);
}

namespace {

template <class Replica>
void check_joined_steps() {
  threads{2}.run([](threads::rank& rank) {
    trainer<Replica, CrossEntropyLoss, Adam, batch<6>> t{rank, Adam{}, {.seed = 3, .threads = 1}};
    const samples a(6, 1);
    const auto meet = [&rank] {
      const std::array<std::byte, 1> own{};
      std::array<std::byte, 2> all{};
      rank.exchange(own, all);
    };
    t.step(a.x, a.y);
    meet();
    const std::size_t before = allocations;
    meet();
    for (int i = 0; i < 2 && rank.rank() == 0; ++i) t.step(a.x, a.y);
    t.join();
    meet();
    const std::size_t after = allocations;
    meet(); // what follows may allocate
    CHECK(after == before);
    CHECK(t.steps() == 3);
  });
}

} // namespace

TEST_CASE("trainer: a rank that joins the steps of another allocates nothing") {
  check_joined_steps<ddp<Net, threads::rank>>();
  using Normed = Sequential<Linear<testing::features, 8>, BatchNorm1d<8>, Linear<8, testing::classes>>;
  check_joined_steps<ddp<checkpoint<recompute_all, Normed>, threads::rank, sync_batch_norm>>();
}

TEST_CASE("trainer: a step on several arrays allocates nothing") {
  using Masking = Sequential<Inputs<dims<10>, constant<10>>, Linear<10, 10>, testing::Masked<>,
                             Residual<testing::Split, Linear<10, 10>, testing::GatedPair>, Linear<10, 4>>;
  const samples a(6, 1);
  trainer<checkpoint<sqrt_n, Masking>, CrossEntropyLoss, Adam, batch<6>> t{Adam{}, {.seed = 3}};
  t.step(inputs(a.x, a.x), a.y);
  const std::size_t before = allocations;
  t.step(inputs(a.x, a.x), a.y);
  std::array<float, 6 * 4> outputs{};
  t.evaluate(inputs(a.x, a.x), outputs);
  CHECK(allocations == before);
}

TEST_CASE("model: it allocates parameters, buffers, packed weights and the memory of an evaluation, and an evaluation nothing") {
  using large =
      Sequential<Linear<testing::features, 300>, testing::Witness, ReLU, Linear<300, 300>, ReLU, Linear<300, testing::classes>>;
  using alone = model<checkpoint<sqrt_n, large>, batch<64>>;
  constexpr std::size_t weights = alone::plan::parameter_block * sizeof(float);
  constexpr std::size_t learnt = weights + alone::plan::state_block * sizeof(float);
  static_assert(alone::plan::evaluated::arena < blueprint_of<large, 64>::trained::arena);
  const std::size_t before = allocated_bytes;
  alone net{{.threads = 1}};
  const std::size_t taken = allocated_bytes - before;
  const std::size_t packed = net.inside().prepared_bytes();
  CHECK(packed == (detail::reads_packed_weights(detail::widest_instruction_set()) ? weights : 0));
  CHECK(taken >= learnt + packed + alone::plan::evaluated::arena);
  CHECK(taken < learnt + packed + alone::plan::evaluated::arena + cpu::queue::scratch_bytes + 1024);
  const samples s(64, 1);
  std::array<float, 64 * testing::classes> outputs{};
  const std::size_t first = allocations;
  net.evaluate(s.x, outputs);
  net.evaluate(std::span(s.x).first(testing::features), outputs);
  CHECK(allocations == first);
  net.evaluate(s.x);
  CHECK(allocations == first + 1); // for the tensor that it returns
}

TEST_CASE("session: it allocates the memory of an evaluation, no weights, and an evaluation nothing") {
  using large = Sequential<Linear<testing::features, 300>, ReLU, Linear<300, 300>, ReLU, Linear<300, testing::classes>>;
  const model<large, batch<64>> net{{.threads = 1}};
  const std::size_t before = allocated_bytes;
  session own{net};
  const std::size_t taken = allocated_bytes - before;
  constexpr std::size_t arena = model<large, batch<64>>::plan::evaluated::arena;
  CHECK(taken >= arena);
  CHECK(taken < arena + cpu::queue::scratch_bytes + 1024);
  const samples s(64, 1);
  std::array<float, 64 * testing::classes> outputs{};
  const std::size_t first = allocations;
  for (int i = 0; i < 3; ++i) {
    own.evaluate(s.x);
    own.evaluate(s.x, outputs);
  }
  CHECK(allocations == first);
}

TEST_CASE("model: calls at the same time allocate nothing once there have been as many") {
  const model<Net, batch<6>> net{{.threads = 1}};
  std::barrier gate(3);
  std::atomic<std::size_t> found{0};
  testing::on_threads(3, [&](std::size_t thread) {
    const samples s(6, 1);
    std::array<float, 6 * testing::classes> outputs{};
    {
      const auto own = detail::weights_in(net).hold_context();
      gate.arrive_and_wait(); // each thread has a context
    }
    gate.arrive_and_wait();
    const std::size_t before = allocations;
    gate.arrive_and_wait();
    for (int i = 0; i < 1000; ++i) net.evaluate(s.x, outputs);
    gate.arrive_and_wait();
    if (thread == 0) found = allocations - before;
    gate.arrive_and_wait();
  });
  CHECK(found == 0);
}

TEST_CASE("trainer: ranks allocate nothing in a step") {
  const samples a(6, 1), b(4, 2);
  for (const int ranks : {1, 3}) {
    CAPTURE(ranks);
    std::barrier gate(ranks);
    std::atomic<std::size_t> found{0};
    threads{ranks}.run([&](threads::rank& within) {
      any_rank rank(within); // its pendings are made in place
      trainer<ddp<checkpoint<recompute_all, Net>, any_rank, bucket_bytes<1000>>, CrossEntropyLoss, SGD, batch<6>> t{
          rank, testing::momentum, {.seed = 3}};
      t.accumulate(a.x, a.y);
      t.step(a.x, a.y);
      gate.arrive_and_wait();
      const std::size_t before = allocations;
      gate.arrive_and_wait();
      for (int i = 0; i < 5; ++i) use_once(t, a, b);
      gate.arrive_and_wait();
      if (rank.rank() == 0) found = allocations - before;
      gate.arrive_and_wait(); // nobody leaves before the count is read
    });
    CHECK(found == 0);
  }
}

TEST_CASE("trainer: ranks allocate nothing in a step with a fused update") {
  const samples a(6, 1), b(4, 2);
  std::barrier gate(2);
  std::atomic<std::size_t> found{0};
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<fused_update<checkpoint<recompute_all, Net>>, threads::rank, bucket_bytes<1000>>, CrossEntropyLoss, SGD, batch<6>>
        t{rank, testing::momentum, {.seed = 3}};
    t.step(a.x, a.y);
    gate.arrive_and_wait();
    const std::size_t before = allocations;
    gate.arrive_and_wait();
    for (int i = 0; i < 5; ++i) t.step(b.x, b.y);
    gate.arrive_and_wait();
    if (rank.rank() == 0) found = allocations - before;
    gate.arrive_and_wait();
  });
  CHECK(found == 0);
}

#if __has_include(<nlohmann/json.hpp>)
TEST_CASE("trainer: a state is taken whole where memory runs out, or not at all") {
  // The network has a weight with another order in the file, buffers, and states of an optimizer.
  using Images =
      Sequential<Input<2, 5, 1>, Conv2d<1, 4, 2>, ReLU, Flatten, Linear<16, testing::classes>, BatchNorm1d<testing::classes>>;
  using training = trainer<Images, CrossEntropyLoss, Adam, batch<6>>;
  const folder here;
  const std::string path = here.path / "run.state";
  const samples s(6, 1);
  const tensor_dataset<float, int> data(shape{testing::features}, s.x, 1, s.y);
  loader batches{data, sequential_sampler{}, batch<6>{}, {.prefetch = 0}};
  training saved{Adam{}, {.seed = 3}};
  saved.step(s.x, s.y);
  save_state(saved, batches, path);
  const std::size_t before = allocations;
  {
    training loaded{Adam{}, {.seed = 4}};
    const std::size_t made = allocations - before;
    load_state(loaded, batches, path);
    CHECK(loaded.checksum() == saved.checksum());
    CHECK(allocations - before > made + 300);
  }
  // Each of the last allocations of a load fails once; after them, only tensors remain to be taken.
  std::size_t refused = 0, taken = 0, parted = 0;
  training other{Adam{}, {.seed = 4}};
  const std::uint64_t start = other.checksum();
  const std::size_t first = allocations;
  load_state(other, batches, path);
  const std::size_t needed = allocations - first;
  for (std::size_t n = needed - 60; n <= needed + 3; ++n) {
    training train{Adam{}, {.seed = 4}};
    bool thrown = false;
    try {
      const testing::memory_runs_out spent(n - 1, false);
      load_state(train, batches, path);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool is_new = train.checksum() == saved.checksum() && train.steps() == 1;
    const bool is_old = train.checksum() == start && train.steps() == 0;
    refused += thrown && is_old ? 1 : 0;
    taken += !thrown && is_new ? 1 : 0;
    parted += thrown == is_old ? 0 : 1;
  }
  CHECK(refused == 61);
  CHECK(taken == 3);
  CHECK(parted == 0);
}
#endif

} // namespace trainer_allocations_tests
