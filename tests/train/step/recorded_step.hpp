// SPDX-License-Identifier: MIT
// A step as a device saw it, in the words of the list that is expected. Functions around the layers report what they did; the
// ops in the device's log say the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/plan/plan_route.hpp>
#include <cairn/plan/step/step_list.hpp>
#include <cairn/report/watched_layers.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/step/step_lists.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../recording.hpp"
#include "../training.hpp"

namespace testing {

using namespace cairn;
using namespace cairn::detail;

// Writes each run of a layer into the device's log, with its stage in the network and its pass.
class layer_recorder : public watched_layers<float, recording::queue>, public unwatched_step {
  using base = watched_layers<float, recording::queue>;

public:
  layer_recorder() : base(false) {}

  using typename base::at_work;
  const program<float, recording::queue>& program_of(const program<float, recording::queue>& own, recording::queue& queue) {
    queue_ = &queue;
    own_ = &own;
    return base::watched(own);
  }
  template <class Reduction>
  void begin(const program<float, recording::queue>&, recording::queue&, const frame<float>& lent, const Reduction&) {
    base::begin_layers(lent);
  }

private:
  std::size_t mark() override { return 0; }
  void about_to_run(const layer_run& r) override {
    constexpr const char* passes[] = {"@forward", "@recompute", "@backward"};
    std::size_t stage = 0;
    while (stage + 1 < own_->size() && own_->leaf_begin[stage + 1] <= r.leaf) ++stage;
    queue_->put(passes[static_cast<std::size_t>(r.what)], {});
    queue_->log()->entries.back().event = stage;
  }
  void ran(const layer_run&) override {}

  recording::queue* queue_ = nullptr;
  const program<float, recording::queue>* own_ = nullptr;
};

template <class Plan>
constexpr bool is_block(std::size_t stage) {
  return !program_of<Plan, float, recording::queue>.at(stage).chains.empty();
}

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

// The step that the device saw, in the words of the list. Work inside a block belongs to the block's op: what the block
// recomputes and discards has no op of its own.
template <class Trainer>
std::vector<std::string> seen(Trainer& t, const recording::log& log) {
  using plan = typename Trainer::plan;
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
  bool is_used = false, is_inside = false; // is_inside: after a block's op, whose own values may be discarded
  for (const recording::entry& e : log.entries) {
    const std::size_t bytes = e.ranges.empty() ? 0 : static_cast<std::size_t>(e.ranges[0].end - e.ranges[0].begin);
    if (e.name.starts_with('@')) {
      const std::size_t stage = e.event;
      const std::string word = std::string(e.name.substr(1)) + " " + std::to_string(stage);
      is_inside = is_block<plan>(stage);
      if (word == layer || (is_inside && e.name == "@recompute")) continue;
      words.push_back(layer = word);
    } else if ((e.name == "softmax_cross_entropy" || e.name == "mean_of_terms")) {
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
      if (std::exchange(is_used, false)) continue; // the bucket of the update
      if (!is_inside) words.push_back("discard " + std::to_string(bytes));
    }
  }
  return words;
}

// The step that the list describes, in the same words.
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
      const operands& lie = at[o.index];
      const bool stays = lie.input.where == region::input && lie.output.where == region::input; // reshaped in place: no call
      if (ops[o.index].absorbed || (o.kind != step_op_kind::backward && stays)) break;
      is_inside = is_block<plan>(stage);
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
      // Otherwise they go with the first bucket; without gradients there are none.
      if (ranks > 1 && Trainer::fused && Trainer::buckets.size() > 0) words.push_back(name);
      break;
    case step_op_kind::update: words.push_back(name + number); break;
    case step_op_kind::norm:
      if (clips) words.push_back(name);
      break;
    case step_op_kind::find: // only on a rank without samples
    case step_op_kind::take_inputs:
    case step_op_kind::check:
    case step_op_kind::clip: break; // the host's work here
    }
  }
  return words;
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + ", ";
  return text;
}

// A schedule in which anything may be recomputed before each backward.
inline run_time_plan random_schedule(const chain& c, std::uint32_t number) {
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

// Checks steps and a micro-batch of one trainer with the compiled schedule, and with `schedules` random ones.
// with_samples(rows, f) calls f(inputs, targets).
template <class Model, class Loss, std::size_t Most, class Communicator, class Samples>
void check_lists(int schedules, bool clips, const Samples& with_samples) {
  using trainer_type = trainer<Model, Loss, SGD, batch<Most>, float, recording::device>;
  using lists = typename trainer_type::lists;
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
    auto& parts = t.inside();
    using training = typename trainer_type::training_type;
    layer_recorder watch;
    const auto step = [&] {
      with_samples(Most, [&]<class Targets>(const auto& x, const Targets& y) {
        make_step<step_kind::step>(parts, x, judged_by_loss<training, Targets>{{parts}, y}, watch);
      });
    };
    step();
    log.entries.clear();
    step();
    compare(std::integral_constant<step_kind, step_kind::step>{});
    if constexpr (!trainer_type::fused) {
      with_samples(Most - 2, [&]<class Targets>(const auto& x, const Targets& y) {
        make_step<step_kind::micro_batch>(parts, x, judged_by_loss<training, Targets>{{parts}, y}, watch);
      });
      compare(std::integral_constant<step_kind, step_kind::micro_batch>{});
      step();
      compare(std::integral_constant<step_kind, step_kind::step>{});
    }
  }
}

} // namespace testing
