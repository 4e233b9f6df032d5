// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/make_folder.hpp>
#include <cairn/device/device.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/report/names.hpp>
#include <cairn/report/step_watch.hpp>
#include <cairn/report/trace_events.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/step/judged_by_losses.hpp>

namespace cairn::detail {

// The trace of a watched step. `live` are the bytes alive during each op, `names` the names of the stages; times count from
// `origin`, and the step takes from `whole.begin` to `whole.end`. `predicted` are seconds of each op, or none.
template <class Watch>
rank_trace trace_of(const Watch& seen, std::span<const std::size_t> live, std::span<const std::string> names,
                    const typename Watch::moments& whole, std::int64_t origin, bool alone,
                    std::span<const double> predicted = {}) {
  rank_trace out{.rows = {"compute"}, .counted = "live bytes of activations"};
  const auto add = [&](std::string name, const char* kind, const typename Watch::moments& at) -> trace_slice& {
    return out.slices.emplace_back(trace_slice{std::move(name), kind, 0, at.begin - origin, at.end - origin});
  };
  const auto count = [&](std::int64_t time, std::size_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (out.counts.empty() || out.counts.back().value != value) out.counts.push_back({time - origin, value});
  };
  add("training step", "step", whole);
  std::vector<trace_slice> foretold; // one after the other, as if nothing came between them
  double until = seen.ops.empty() ? 0 : static_cast<double>(seen.took.front().begin - origin);
  for (std::size_t t = 0; t < seen.ops.size(); ++t) {
    const op& o = seen.ops[t];
    count(seen.took[t].begin, live[t]);
    if (o.is_discard()) continue;
    const char* const kind = o.kind == op_kind::loss       ? "loss"
                             : o.kind == op_kind::backward ? "backward"
                             : o.recomputes                ? "recompute"
                                                           : "forward";
    std::string name = kind;
    if (o.kind != op_kind::loss) name = std::to_string(o.position) + " " + names[o.position] + " " + kind;
    trace_slice& s = add(std::move(name), kind, seen.took[t]);
    if (o.kind != op_kind::loss) s.facts.emplace_back("stage", o.position);
    s.facts.emplace_back(out.counted, live[t]);
    if (o.absorbed) s.facts.emplace_back("made by the op before it", 1);
    if (predicted.empty() || o.kind == op_kind::loss) continue;
    s.facts.emplace_back("predicted microseconds", 1e6 * predicted[t]);
    const double from = std::exchange(until, until + 1e9 * predicted[t]);
    foretold.push_back({s.name, kind, 0, static_cast<std::int64_t>(from), static_cast<std::int64_t>(until)});
  }
  count(seen.ops.empty() ? whole.begin : seen.took.back().end, 0);
  for (const auto& [leaf, what, at] : seen.calls) {
    constexpr const char* passes[] = {" forward", " recompute", " backward"};
    const auto& layer = seen.layers()[leaf];
    add(layer.path + " " + layer.name() + passes[static_cast<std::size_t>(what)], "layer", at);
  }
  if (!alone && !seen.fused()) add("wait for gradients", "communication", seen.waiting);
  add("update", "update", seen.updating);

  using inner = typename Watch::inner::kind;
  for (const auto& [what, bucket, at] : seen.inside) {
    if (alone && what != inner::use) continue;
    const char* const verb = what == inner::send ? "send bucket " : what == inner::wait ? "wait for bucket " : "use bucket ";
    add(verb + std::to_string(bucket), what == inner::use ? "update" : "communication", at);
  }
  std::vector<trace_slice> ways;
  for (std::size_t b = 0; !alone && b < seen.buckets.size(); ++b) {
    const auto& w = seen.buckets[b];
    ways.push_back({"bucket " + std::to_string(b),
                    "communication",
                    0,
                    w.sent - origin,
                    w.back - origin,
                    {{"bytes", static_cast<double>(w.bytes)}}});
  }
  add_side_by_side(out, std::move(ways), "communication");
  add_side_by_side(out, std::move(foretold), "predicted");
  return out;
}

// The moment from which times count. If the ranks have a common clock, as on one machine, rank 0 chooses it; else it is when
// rank 0's broadcast arrives. Called by all ranks.
template <class Clock, class Communicator, class Queue>
std::int64_t common_origin(Communicator& comm, Queue& queue) {
  std::int64_t first = nanoseconds_of<Clock>();
  broadcast_on_host(comm, queue, std::as_writable_bytes(std::span{&first, 1}));
  const std::int64_t own = nanoseconds_of<Clock>();
  constexpr std::int64_t longest = 50'000'000; // a broadcast takes less, and other machines were started at other times
  return own - first >= 0 && own - first < longest ? first : own;
}

// The texts of all ranks, one after another. Called by all ranks.
template <class Communicator, class Queue>
std::string texts_of_ranks(Communicator& comm, Queue& queue, const std::string& own) {
  std::string all;
  const std::vector<std::size_t> sizes = of_all_ranks(comm, queue, own.size());
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::string text = rank == comm.rank() ? own : std::string(sizes[static_cast<std::size_t>(rank)], ' ');
    broadcast_on_host(comm, queue, std::as_writable_bytes(std::span{text.data(), text.size()}), rank);
    all += text;
  }
  return all;
}

} // namespace cairn::detail

namespace cairn::report {

// Makes one step as train.step(inputs, targets) does, bit for bit, and returns when each of its ops ran. It has a slice for
// each op of the schedule, named by its stage and pass, in the order of draw_schedule's picture, and inside the op of a block
// one for each call of a layer; further the loss, the wait for gradients and the update; the buckets in flight; and the bytes
// of activations that live during each op, as they were planned. With several ranks every rank must make this call.
//
// `predicted` are the seconds of each op of the schedule, as op_times<Model, Batch>::of_stages(measured_costs<...>()).ops()
// gives them (train/predicted_step.hpp): they are shown in a row of their own, and beside each measured time.
//
// On an asynchronous device, times come from the device's clock; the update of a bucket ends, and a bucket is back, when the
// host sees it.
//
// A program that traces nothing has no code for it: a watched step is another instance of the same function, run op by op.
// Reading the clock twice, around each op and each layer in a block, takes some 50 ns.
template <class Trainer, detail::step_inputs Inputs, detail::step_targets Targets, class Clock = std::chrono::steady_clock>
rank_trace trace_step(Trainer& train, const Inputs& inputs, const Targets& targets, std::span<const double> predicted = {}) {
  using plan = typename Trainer::plan;
  using queue = std::remove_cvref_t<decltype(train.device().compute())>;
  constexpr bool tells_time = detail::tells_time<queue>;
  static_assert(tells_time, "trace_step: this device does not tell how long its work takes; give its queue a stopwatch, as "
                            "cairn/device/device.hpp says");
  if constexpr (!tells_time) return {};
  else {
    auto& parts = train.inside();
    const auto& solved = parts.options.schedule.plan;
    if (const std::size_t ops = parts.is_solved() ? solved.training.count : plan::training.count;
        !predicted.empty() && predicted.size() != ops)
      throw input_error("trace_step: expected predicted times of the " + std::to_string(ops) + " ops of this schedule, found " +
                        std::to_string(predicted.size()) + "; make them from the trainer's own model and batch");
    auto& comm = parts.comm();
    using watch_type = detail::step_watch<Clock, typename plan::element, queue>;
    watch_type watch;
    if constexpr (Trainer::fused) watch.is_fused();
    const std::int64_t origin = detail::common_origin<Clock>(comm, parts.compute());
    typename watch_type::moments whole{detail::nanoseconds_of<Clock>(), 0};
    const double loss = detail::step_watched(parts, inputs, targets, watch);
    whole.end = detail::nanoseconds_of<Clock>();

    const std::span<const std::size_t> live = parts.is_solved() ? std::span<const std::size_t>(solved.memory.live)
                                                                : std::span<const std::size_t>(plan::trained::memory.live);
    rank_trace out = detail::trace_of(watch, live, stage_names<plan>(), whole, origin, comm.size() == 1, predicted);
    out.rank = comm.rank();
    auto& facts = out.slices.front().facts;
    facts = {{"step", static_cast<double>(train.steps())}};
    if (parts.scales_loss()) {
      facts.emplace_back("loss scale of the next step", train.loss_scale());
      facts.emplace_back("skipped updates", static_cast<double>(train.skipped_updates()));
    }
    facts.emplace_back("loss", loss);
    return out;
  }
}

//   report::trace_step(train, images, labels, "step.json"); // in place of train.step(images, labels), once
//
// The same, written as a file in Chrome's trace format that ui.perfetto.dev and chrome://tracing open: a process for each
// rank, with a row for what it computes and rows for its buckets. Rank 0 writes the file with what all ranks did. Returns the
// step's loss. Throws what a step throws, and file_error if the file cannot be written; the step has been made then.
template <class Trainer, detail::step_inputs Inputs, detail::step_targets Targets>
double trace_step(Trainer& train, const Inputs& inputs, const Targets& targets, const std::string& file,
                  std::span<const double> predicted = {}) {
  const rank_trace own = trace_step(train, inputs, targets, predicted);
  auto& comm = train.inside().comm();
  const std::string events = detail::texts_of_ranks(comm, train.device().compute(), detail::chrome_events(own));
  if (comm.rank() == 0) {
    detail::make_folder_of(file);
    files::write_file_atomically(file, detail::chrome_file(events));
  }
  return own.slices.front().facts.back().second;
}

} // namespace cairn::report
