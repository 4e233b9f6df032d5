// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/plan/plan_route.hpp>
#include <cairn/plan/step/step_list.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/step/step_lists.hpp>
#include <cairn/train/trainer.hpp>

#include "../recording.hpp"
#include "../training.hpp"

namespace step_lists_tests {

using namespace cairn;
using namespace cairn::detail;
using testing::samples;

namespace {

constexpr std::size_t most = 6; // samples in a micro-batch

// A layer that also writes down when it runs, and of which stage of the network it is.
constexpr const char* forwards[] = {"@f0", "@f1", "@f2", "@f3", "@f4", "@f5", "@f6", "@f7"};
constexpr const char* again[] = {"@r0", "@r1", "@r2", "@r3", "@r4", "@r5", "@r6", "@r7"};
constexpr const char* backwards[] = {"@b0", "@b1", "@b2", "@b3", "@b4", "@b5", "@b6", "@b7"};
template <std::size_t Stage, class Layer>
struct Told : Layer {
  template <class T>
  static void forward(recording::queue& q, const forward_call<T>& call) {
    if (call.why != pass::evaluate) q.put(call.why == pass::recompute ? again[Stage] : forwards[Stage], {});
    Layer::forward(q, call);
  }
  template <class T>
  static void backward(recording::queue& q, const backward_call<T>& call) {
    q.put(backwards[Stage], {});
    Layer::backward(q, call);
  }
};

constexpr std::size_t in = testing::features, out = testing::classes;
// Stages 2 and 4 are blocks of several layers.
using Plain = Sequential<Told<0, Linear<in, 16>>, Told<1, ReLU>,
                         Residual<Told<2, LayerNorm<16>>, Told<2, Linear<16, 24>>, Told<2, Linear<24, 16>>>, Told<3, Dropout<>>,
                         Concat<Told<4, Linear<16, 8>>, Sequential<Told<4, Linear<16, 12>>, Told<4, ReLU>>>,
                         Told<5, Linear<20, 12>>, Told<6, Linear<12, out>>>;
using Summing =
    Sequential<Told<0, Linear<in, 16>>, Told<1, BatchNorm1d<16>>,
               Residual<Told<2, Linear<16, 16>>, Told<2, BatchNorm1d<16>>, Told<2, Linear<16, 16>>, Told<2, ReLU>>, Told<3, Tanh>,
               Concat<Told<4, BatchNorm1d<16>>, Sequential<Told<4, Linear<16, 4>>, Told<4, BatchNorm1d<4>>>>,
               Told<5, Linear<20, 12>>, Told<6, Linear<12, out>>>;
constexpr bool is_block(std::size_t stage) { return stage == 2 || stage == 4; }

using two = recording::communicator<recording::forgets::nothing>;

template <class Trainer>
recording::log& record_discards(Trainer& t) {
  t.on_discard({[](void* self, std::byte* first, std::size_t count) {
                  auto& log = *static_cast<recording::log*>(self);
                  log.entries.push_back({recording::kind::discard, 0, "discard", {recording::span_of(first, count)}, 0});
                },
                &t.device().log()});
  return t.device().log();
}

// What the device saw of a step, in the words of the list. Work inside of blocks is their op's: what they make again and discard
// there has no op.
template <class Trainer>
std::vector<std::string> seen(Trainer& t, const recording::log& log) {
  constexpr bool fused = Trainer::fused;
  const std::size_t facts = facts_of_ranks<float>::size(2) * sizeof(float);
  const std::span<const std::byte> gradients = [&] { // and the facts before them
    if constexpr (fused) return std::span<const std::byte>(t.arena());
    else return std::span{reinterpret_cast<const std::byte*>(t.gradients().data()) - facts, t.gradients().size_bytes() + facts};
  }();
  std::vector<std::string> words;
  std::map<std::size_t, std::string> calls; // by the event at their end
  std::string call, layer;
  std::size_t bucket = 0;
  bool is_used = false, is_inside = false; // a block's op was the last: what is discarded may be the block's own
  for (const recording::entry& e : log.entries) {
    const std::size_t bytes = e.ranges.empty() ? 0 : static_cast<std::size_t>(e.ranges[0].end - e.ranges[0].begin);
    if (e.name.starts_with('@')) {
      const auto stage = static_cast<std::size_t>(e.name[2] - '0');
      const std::string word = (e.name[1] == 'f'   ? "forward "
                                : e.name[1] == 'r' ? "recompute "
                                                   : "backward ") +
                               std::to_string(stage);
      is_inside = is_block(stage);
      if (word == layer || (is_block(stage) && e.name[1] == 'r')) continue;
      words.push_back(layer = word);
    } else if (e.name == "softmax_cross_entropy") {
      words.push_back(layer = "loss");
      is_inside = false;
    } else if (e.name == "squared_norm") {
      words.push_back("norm");
    } else if (e.name == "all_reduce") {
      const std::byte* const first = e.ranges[0].begin;
      const bool is_bucket = first >= gradients.data() && first < gradients.data() + gradients.size();
      if (is_bucket) CHECK(bytes == Trainer::buckets[bucket].size() * sizeof(float) + (bucket == 0 && !fused ? facts : 0));
      call = is_bucket ? "bucket " + std::to_string(bucket++) : bytes == facts ? "facts" : "statistics";
      words.push_back(is_bucket ? "reduce" + call.substr(6) : call);
    } else if (e.what == recording::kind::record && !call.empty()) {
      if (e.queue != 0) calls[e.event] = std::exchange(call, {});
    } else if (e.what == recording::kind::wait && e.queue == 0) {
      const std::string& awaited = calls[e.event];
      if (awaited == "facts") words.push_back("compare");
      else if (awaited != "statistics") words.push_back("wait" + awaited.substr(6));
    } else if (e.name == "sgd") {
      const auto begin = static_cast<std::size_t>(reinterpret_cast<const float*>(e.ranges[0].begin) - t.parameters().data());
      for (std::size_t b = 0; b < Trainer::buckets.size(); ++b)
        if (Trainer::buckets[b].begin == begin) words.push_back("update " + std::to_string(b));
      is_used = fused;
    } else if (e.what == recording::kind::discard) {
      if (std::exchange(is_used, false)) continue; // the bucket that was used
      if (!is_inside) words.push_back("discard " + std::to_string(bytes));
    }
  }
  return words;
}

// What the list says of it.
template <class Trainer>
std::vector<std::string> told(std::span<const step_op> list, std::span<const op> ops, std::span<const operands> at, int ranks,
                              bool clips) {
  using plan = typename Trainer::plan;
  std::vector<std::string> words;
  bool is_inside = false;
  const auto discarded = [](const op& o) {
    if (o.kind == op_kind::discard_tape) return plan::stages[o.position].tape.at(plan::batch);
    return o.kind == op_kind::discard_value ? plan::whole.value_bytes(o.position) : plan::whole.gradient_bytes(o.position);
  };
  for (const step_op& o : list) {
    const std::string number = " " + std::to_string(o.index);
    const std::string name = name_of(o.kind);
    switch (o.kind) {
    case step_op_kind::forward:
    case step_op_kind::recompute:
    case step_op_kind::backward: {
      const std::size_t stage = ops[o.index].position;
      if (ops[o.index].absorbed) break;
      is_inside = is_block(stage);
      if (!is_inside || o.kind != step_op_kind::recompute) words.push_back(name + " " + std::to_string(stage));
      break;
    }
    case step_op_kind::discard: {
      const op& given = ops[o.index];
      const region where = at[o.index].input.where;
      if (!is_inside && (where == region::tape || where == region::workspace))
        words.push_back("discard " + std::to_string(discarded(given)));
      break;
    }
    case step_op_kind::loss:
      words.push_back(name);
      is_inside = false;
      break;
    case step_op_kind::statistics:
      if (ranks > 1) words.push_back(name);
      break;
    case step_op_kind::reduce:
    case step_op_kind::wait:
      if (ranks > 1) words.push_back(name + number);
      break;
    case step_op_kind::facts:
    case step_op_kind::compare:
      if (ranks > 1 && Trainer::fused) words.push_back(name); // else they go with the first bucket
      break;
    case step_op_kind::update: words.push_back(name + number); break;
    case step_op_kind::norm:
      if (clips) words.push_back(name);
      break;
    case step_op_kind::find: // of a rank without samples
    case step_op_kind::take_inputs:
    case step_op_kind::clip: break; // the host's work here
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + ", ";
  return text;
}

// A schedule in which each backward may make anything again.
run_time_plan random_schedule(const chain& c, std::uint32_t number) {
  std::vector<route_step> moves;
  const random_key key{.seed = 5, .step = number, .position = 0};
  std::uint32_t drawn = 0;
  const auto n = static_cast<std::uint32_t>(c.size());
  for (std::uint32_t i = 0; i < n; ++i) moves.push_back({i, false});
  for (std::uint32_t i = n; i-- > 0;) {
    const std::uint32_t from = static_cast<std::uint32_t>(random_bits(key, drawn++) % (2 * n));
    for (std::uint32_t k = from; k < i; ++k) moves.push_back({k, false});
    moves.push_back({i, true});
  }
  return plan_route(c, moves);
}

// Steps, micro-batches and forwards alone of one trainer, with the compiled schedule or one of the program's own.
template <class Model, class Communicator = loopback::rank>
void check(int schedules, bool clips = false) {
  using trainer_type = trainer<Model, CrossEntropyLoss, SGD, batch<most>, float, recording::device>;
  using lists = step_lists<Model, most, float>;
  using plan = typename trainer_type::plan;
  constexpr bool distributed = !std::is_same_v<Communicator, loopback::rank>;
  constexpr int ranks = distributed ? 2 : 1;
  for (int number = 0; number <= schedules; ++number) {
    CAPTURE(number);
    typename trainer_type::options options{.seed = 3};
    if constexpr (!trainer_type::fused) options.clip.max_norm = clips ? 0.5 : 0;
    if (number > 0) options.schedule = random_schedule(plan::whole, static_cast<std::uint32_t>(number));
    const run_time_plan solved = options.schedule.plan;
    Communicator comm = [] {
      if constexpr (distributed) return Communicator{};
      else return loopback::rank{};
    }();
    trainer_type t = [&] {
      if constexpr (distributed) return trainer_type{comm, testing::momentum, options};
      else return trainer_type{testing::momentum, options};
    }();
    recording::log& log = record_discards(t);
    const auto compare = [&]<step_kind Kind>(std::integral_constant<step_kind, Kind>) {
      std::string expected;
      if (number == 0) {
        constexpr const auto& list = lists::template list<Kind>;
        expected = joined(told<trainer_type>(list.ops(), plan::training.ops(), plan::trained::memory.at, ranks, clips));
      } else {
        const auto list = write_step<at_run_time>(lists::parts(solved.training.ops(), solved.training.loss), Kind);
        expected = joined(told<trainer_type>(list.ops(), solved.training.ops(), {solved.memory.at.data(), solved.training.count},
                                             ranks, clips));
      }
      CHECK(joined(seen(t, log)) == expected);
      log.entries.clear();
    };
    const samples s(most, 1), fewer(most - 2, 2);
    log.entries.clear();
    t.step(s.x, s.y);
    compare(std::integral_constant<step_kind, step_kind::step>{});
    if constexpr (!trainer_type::fused) {
      t.accumulate(fewer.x, fewer.y);
      compare(std::integral_constant<step_kind, step_kind::micro_batch>{});
      t.step(s.x, s.y);
      compare(std::integral_constant<step_kind, step_kind::step>{});
    }
  }
}

} // namespace

TEST_CASE("step_lists: what a device records of a step is its list, op for op, for any schedule") {
  check<Plain>(15);
  check<Plain>(5, true);
  check<checkpoint<sqrt_n, Plain>>(0);
  check<checkpoint<recompute_all, Plain>>(0);
  check<fused_update<Plain>>(15);
}
TEST_CASE("step_lists: the same with two ranks, for buckets of any size") {
  check<ddp<Plain, two, bucket_bytes<1>>, two>(15);
  check<ddp<checkpoint<sqrt_n, Plain>, two, bucket_bytes<1500>>, two>(15, true);
  check<ddp<Plain, two, after_backward, bucket_bytes<700>>, two>(15);
  check<ddp<fused_update<Plain>, two, bucket_bytes<1>>, two>(15);
  check<ddp<fused_update<checkpoint<recompute_all, Plain>>, two, bucket_bytes<1500>>, two>(15);
}
TEST_CASE("step_lists: the same with statistics of all ranks, inside of blocks too") {
  check<ddp<Summing, two, sync_batch_norm, bucket_bytes<1>>, two>(15);
  check<ddp<checkpoint<recompute_all, Summing>, two, sync_batch_norm, bucket_bytes<1500>>, two>(15, true);
  check<ddp<Summing, two, sync_batch_norm, after_backward>, two>(15);
  check<ddp<fused_update<Summing>, two, sync_batch_norm, bucket_bytes<1>>, two>(15);
}

} // namespace step_lists_tests
