// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <type_traits>
#include <vector>

#include <cairn/train/trainer.hpp>

#include "../order.hpp"
#include "../training.hpp"

namespace trainer_device_tests {

using namespace cairn;
using recording::forgets;

namespace {

// A user's own layer for every device: y = x^2 / 2.
struct HalfSquare {
  struct value {
    CAIRN_HOST_DEVICE auto operator()(auto x) const { return x * x / 2; }
  };
  struct slope {
    CAIRN_HOST_DEVICE auto operator()(auto output_gradient, auto x) const { return output_gradient * x; }
  };
  static constexpr reads backward_reads = reads::input;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static void forward(auto& queue, const auto& call) {
    elementwise(queue, call.rows * call.in(0).size(), value{}, call.outputs[0], call.inputs[0]);
  }
  static void backward(auto& queue, const auto& call) {
    if (!call.input_gradients) return;
    elementwise(queue, call.rows * call.in(0).size(), slope{}, call.input_gradients[0], call.output_gradients[0], call.inputs[0]);
  }
};

using Layers =
    Sequential<Linear<testing::features, 16>, HalfSquare, ReLU, Residual<LayerNorm<16>, Linear<16, 16>, ReLU>,
               Repeat<2, Residual<Linear<16, 16>>>, Dropout<>,
               checkpoint<recompute_all, Sequential<Linear<16, 16>, ReLU, Linear<16, 16>>>, Linear<16, testing::classes>>;

template <class Model, forgets Forgets, class... Options>
using recorded =
    trainer<ddp<Model, recording::communicator<Forgets>, Options...>, CrossEntropyLoss, SGD, batch<6>, float, recording::device>;

// Records what a trainer discards.
template <class Trainer>
recording::log& record_discards(Trainer& t) {
  recording::log& log = t.device().log();
  t.on_discard({[](void* self, std::byte* first, std::size_t count) {
                  static_cast<recording::log*>(self)->entries.push_back(
                      {recording::kind::discard, 0, "discard", {{first, first + count, true}}, 0});
                },
                &log});
  return log;
}

// The fault in two steps, the second of two micro-batches, and an evaluation between them.
template <class Trainer>
std::string fault_of_training(bool clips = false) {
  typename Trainer::communicator_type comm;
  Trainer t{comm, testing::momentum, {.seed = 3, .clip = {clips ? 0.5 : 0.0}}};
  recording::log& log = record_discards(t);
  const testing::samples a(6, 1), b(4, 2), c(6, 3);
  t.step(a.x, a.y);
  t.evaluate(b.x);
  t.accumulate(b.x, b.y);
  t.step(c.x, c.y);
  std::size_t sums = 0;
  for (const recording::entry& e : log.entries) sums += e.name == "all_reduce";
  CHECK(sums == 2 * Trainer::buckets.size());
  CHECK(log.queues == 2);
  return recording::fault_of(log, t.arena());
}

// The fault in three steps with a fused update, and an evaluation between them. One rank alone has no communicator.
template <class Trainer>
std::string fault_of_fused_training() {
  typename Trainer::communicator_type comm;
  Trainer t = [&] {
    if constexpr (std::is_same_v<typename Trainer::communicator_type, loopback::rank>)
      return Trainer{testing::momentum, {.seed = 3}};
    else return Trainer{comm, testing::momentum, {.seed = 3}};
  }();
  recording::log& log = record_discards(t);
  const testing::samples a(6, 1), b(4, 2), c(6, 3);
  t.step(a.x, a.y);
  t.evaluate(b.x);
  t.step(b.x, b.y);
  t.step(c.x, c.y);
  std::size_t updates = 0;
  for (const recording::entry& e : log.entries) updates += e.name == "sgd";
  CHECK(updates == 3 * Trainer::buckets.size());
  return recording::fault_of(log, t.arena());
}

template <class Model>
using recorded_alone = trainer<fused_update<Model>, CrossEntropyLoss, SGD, batch<6>, float, recording::device>;

} // namespace

TEST_CASE("trainer: on a device with queues every op waits for what it depends on") {
  CHECK(fault_of_training<recorded<Layers, forgets::nothing, bucket_bytes<1>>>() == "");
  CHECK(fault_of_training<recorded<checkpoint<recompute_all, Layers>, forgets::nothing, bucket_bytes<2000>>>() == "");
  CHECK(fault_of_training<recorded<checkpoint<sqrt_n, Layers>, forgets::nothing>>(true) == "");
}

TEST_CASE("trainer: with a fused update every op waits too, and no place is used before it is free") {
  CHECK(fault_of_fused_training<recorded_alone<Layers>>() == "");
  CHECK(fault_of_fused_training<recorded_alone<checkpoint<sqrt_n, Layers>>>() == "");
  CHECK(fault_of_fused_training<recorded_alone<checkpoint<recompute_all, Layers>>>() == "");
  CHECK(fault_of_fused_training<recorded<fused_update<Layers>, forgets::nothing, bucket_bytes<1>>>() == "");
  CHECK(fault_of_fused_training<
            recorded<fused_update<checkpoint<recompute_all, Layers>>, forgets::nothing, bucket_bytes<2000>>>() == "");
  CHECK(fault_of_fused_training<recorded<fused_update<checkpoint<sqrt_n, Layers>>, forgets::nothing>>() == "");
}

TEST_CASE("trainer: a wait that is left out is found") {
  const auto update = fault_of_training<recorded<Layers, forgets::to_let_the_update_wait, bucket_bytes<2000>>>();
  CHECK(update == "sgd on queue 0 does not wait for all_reduce on queue 1");
  const auto sum = fault_of_training<recorded<Layers, forgets::to_wait_for_the_gradients, bucket_bytes<2000>>>();
  CHECK(testing::has(sum, "all_reduce on queue 1 does not wait for "));
  const auto fused =
      fault_of_fused_training<recorded<fused_update<Layers>, forgets::to_let_the_update_wait, bucket_bytes<2000>>>();
  CHECK(testing::has(fused, "does not wait for all_reduce on queue 1"));
  const auto fused_sum =
      fault_of_fused_training<recorded<fused_update<Layers>, forgets::to_wait_for_the_gradients, bucket_bytes<2000>>>();
  CHECK(testing::has(fused_sum, "all_reduce on queue 1 does not wait for "));
}

TEST_CASE("trainer: the proof finds what is read before it is there and after it was discarded") {
  recording::queue q(std::make_shared<recording::log>());
  alignas(64) std::byte bytes[16]{};
  q.put("reader", {{bytes, bytes + 16, false}});
  CHECK(recording::fault_of(*q.log(), bytes) == "reader reads what is not there");
  q.log()->entries.clear();
  q.put("writer", {{bytes, bytes + 16, true}});
  q.put("reader", {{bytes, bytes + 16, false}});
  CHECK(recording::fault_of(*q.log(), bytes) == "");
  q.log()->entries.insert(q.log()->entries.begin() + 1, {recording::kind::discard, 0, "", {{bytes, bytes + 4, true}}, 0});
  CHECK(recording::fault_of(*q.log(), bytes) == "reader reads what is not there");
}

TEST_CASE("trainer: a recording device trains as cpu does") {
  recording::communicator<forgets::nothing> comm;
  recorded<Layers, forgets::nothing> a{comm, testing::momentum, {.seed = 3}};
  trainer<Layers, CrossEntropyLoss, SGD, batch<6>> b{testing::momentum, {.seed = 3}};
  const testing::samples s(6, 1);
  CHECK(a.step(s.x, s.y) == b.step(s.x, s.y));
  CHECK(a.checksum() == b.checksum()); // the mean of two equal gradients
}

} // namespace trainer_device_tests
