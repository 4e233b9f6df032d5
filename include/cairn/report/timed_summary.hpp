// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/device.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/layer_watch.hpp>
#include <cairn/report/network_lines.hpp>
#include <cairn/report/table.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/step/judged_by_losses.hpp>
#include <cairn/train/step/kept_training.hpp>
#include <cairn/train/step/training_step.hpp>

namespace cairn::report {

// How much timed_summary measures.
struct timing_options {
  std::size_t steps = 20;  // whose median is reported; between them as many that are not watched
  std::size_t warm_up = 3; // of each kind before them, so that memory is touched and libraries have chosen how they compute
};

// The times of one layer in a training step.
struct layer_times {
  std::string path{};         // the prefix of its parameters' names: "3.0"
  std::string layer{};        // as it was typed
  std::size_t index = 0;      // among all layers, in the order in which they first run
  std::string output{};       // "(64, 512)"
  std::size_t parameters = 0; // that are learnt
  std::size_t frozen = 0;     // parameters that are not
  double forward = 0;         // seconds of its first forward pass
  double recompute = 0;       // ... of those that recompute what a policy did not store
  double backward = 0;
  std::uint64_t flops = 0; // of a step of these samples, recomputation included

  double seconds() const { return forward + recompute + backward; }
  double flops_per_second() const { return seconds() > 0 ? static_cast<double>(flops) / seconds() : 0; }
};

// The times of the parts of a training step; see timed_summary(). Its members are for programs, text() and markdown() for
// people. All times are seconds, medians over the steps.
struct step_times {
  std::vector<layer_times> layers{}; // every one once, the slowest first
  double loss = 0;
  double gradients = 0; // sending them to the other ranks and waiting for theirs, unless that is part of the update
  double update = 0;    // a fused one includes the sums over the ranks
  double rest = 0;      // in none of these: transfers of inputs, work of blocks between their layers, checks, reading the clock
  double step = 0;      // as a whole, while its layers were measured
  double unwatched = 0; // the same, with the clock read only at its ends
  std::size_t samples = 0;
  std::size_t steps = 0;
  std::string element{};
  int rank = 0;
  int ranks = 1;

  double of_layers() const {
    double sum = 0;
    for (const layer_times& l : layers) sum += l.seconds();
    return sum;
  }
  // The median of the whole step minus those of its parts: interruptions, which hit another part in each step. If it is more
  // than a little, the machine is busy with something else; it may be slightly below 0.
  double interruptions() const { return step - of_layers() - loss - gradients - update - rest; }

  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  // For a terminal, at most 100 columns as long as paths and shapes are not very long; the slowest `most` layers one by one.
  std::string text(std::size_t most = all) const { return heading() + "\n\n" + by_layer(most).text() + "\n" + by_part().text(); }
  // For a README or an issue.
  std::string markdown(std::size_t most = all) const {
    return heading() + "\n\n" + by_layer(most).markdown() + "\n" + by_part().markdown();
  }

private:
  static constexpr std::size_t columns = 100;

  bool in_milliseconds() const { return step >= 0.1; } // one unit for all, so that digits can be compared
  std::string time(double seconds) const { return detail::three_digits(seconds * (in_milliseconds() ? 1e3 : 1e6)); }
  std::string time_or_dash(double seconds) const { return seconds > 0 ? time(seconds) : "-"; }
  std::string share(double seconds) const { return step > 0 ? format_fixed(100 * seconds / step, 1) : "-"; }
  static std::string giga(double flops_per_second) {
    return flops_per_second > 0 ? detail::three_digits(flops_per_second / 1e9) : "-";
  }

  std::string heading() const {
    return "a step of " + format_count(samples) + " samples of " + element +
           (ranks > 1 ? " on rank " + std::to_string(rank) + " of " + std::to_string(ranks) : std::string()) + ", " +
           (in_milliseconds() ? "milliseconds" : "microseconds") + ", medians of " + format_count(steps) + " steps";
  }

  std::vector<std::string> cells(const layer_times& l, const std::string& path, const std::string& name, bool recomputes) const {
    std::string parameters = l.parameters == 0 ? std::string() : format_count(l.parameters);
    if (l.frozen > 0) parameters += (parameters.empty() ? "" : " + ") + format_count(l.frozen) + " frozen";
    std::vector<std::string> out{path, name, l.output, parameters.empty() ? "-" : parameters, time_or_dash(l.forward)};
    if (recomputes) out.push_back(time_or_dash(l.recompute));
    out.insert(out.end(), {time_or_dash(l.backward), share(l.seconds()), giga(l.flops_per_second())});
    return out;
  }
  static void add(layer_times& to, const layer_times& l) {
    to.parameters += l.parameters;
    to.frozen += l.frozen;
    to.forward += l.forward;
    to.recompute += l.recompute;
    to.backward += l.backward;
    to.flops += l.flops;
  }

  table by_layer(std::size_t most) const {
    if (most + 1 == layers.size()) most = all; // the line of the others would take as much room
    layer_times sum, others;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      add(sum, layers[i]);
      if (i >= most) add(others, layers[i]);
    }
    const bool recomputes = sum.recompute > 0;
    std::vector<std::string> header{"", "layer", "output", "parameters", "forward", "backward", "%", "GFLOP/s"};
    if (recomputes) header.insert(header.begin() + 5, "recompute");
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < layers.size() && i < most; ++i)
      rows.push_back(cells(layers[i], layers[i].path, layers[i].layer, recomputes));
    if (most < layers.size()) rows.push_back(cells(others, "", format_count(layers.size() - most) + " others", recomputes));
    shorten_names(header, rows);
    table out(std::move(header));
    for (std::vector<std::string>& row : rows) out.row(std::move(row));
    out.rule().row(cells(sum, "", "all layers", recomputes));
    return out;
  }
  // The names of layers get the room that is left. If that is little, only the first of several outputs is shown.
  static void shorten_names(const std::vector<std::string>& header, std::vector<std::vector<std::string>>& rows) {
    constexpr std::size_t least = 10, name = 1, output = 2;
    std::size_t room = room_for(name, header, rows);
    if (room < least) {
      for (auto& row : rows) row[output].resize(std::min(row[output].size(), row[output].find(')') + 1));
      room = std::max(room_for(name, header, rows), least);
    }
    for (auto& row : rows)
      if (row[name].size() > room) row[name] = row[name].substr(0, room - 3) + "...";
  }
  static std::size_t room_for(std::size_t column, const std::vector<std::string>& header,
                              const std::vector<std::vector<std::string>>& rows) {
    std::size_t taken = 2 * (header.size() - 1);
    for (std::size_t c = 0; c < header.size(); ++c) {
      if (c == column) continue;
      std::size_t width = header[c].size();
      for (const auto& row : rows) width = std::max(width, row[c].size());
      taken += width;
    }
    return taken < columns ? columns - taken : 0;
  }

  table by_part() const {
    table out({"one step", in_milliseconds() ? "ms" : "us", "%"});
    const auto add = [&](const char* name, double seconds) { out.row({name, time(seconds), share(seconds)}); };
    add("layers", of_layers());
    add("loss", loss);
    if (gradients > 0) add("gradients of all ranks", gradients);
    add("update", update);
    add("the rest", rest);
    add("interruptions", interruptions());
    out.rule();
    add("total", step);
    add("a step that is not watched", unwatched);
    return out;
  }
};

} // namespace cairn::report

namespace cairn::detail {

inline double median(std::vector<double>& of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return of.size() % 2 == 1 ? *middle : (*middle + *std::max_element(of.begin(), middle)) / 2;
}

// The times of many steps, under a number for each part of a step.
class many_times {
public:
  void add(std::size_t number, double seconds) {
    if (of_.size() <= number) of_.resize(number + 1);
    of_[number].push_back(seconds);
  }
  double median_of(std::size_t number) { return number < of_.size() ? median(of_[number]) : 0; }

private:
  std::vector<std::vector<double>> of_;
};

// The layers before anything is measured, in the order in which they first run.
template <class T, class Queue>
std::vector<layer_times> untimed_layers(const std::vector<layer_place<T, Queue>>& places, std::size_t samples) {
  std::vector<layer_times> out;
  for (const layer_place<T, Queue>& at : places) {
    layer_times l{.path = at.path,
                  .layer = at.name(),
                  .index = out.size(),
                  .output = text_of_extents(at.behind->items.data(), at.code->gives, samples)};
    (at.is_frozen ? l.frozen : l.parameters) = at.code->parameters.elements();
    out.push_back(std::move(l));
  }
  return out;
}

// Throws input_error on every rank unless all have the same options: else they would wait for each other's steps.
template <class Communicator, class Queue>
void check_timing(Communicator& comm, Queue& queue, const timing_options& given) {
  const auto all = of_all_ranks(comm, queue, given);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].steps != all[0].steps || all[rank].warm_up != all[0].warm_up)
      throw input_error("timed_summary: expected the same steps and warm_up on every rank, found " +
                        std::to_string(all[0].steps) + " and " + std::to_string(all[0].warm_up) + " on rank 0, " +
                        std::to_string(all[rank].steps) + " and " + std::to_string(all[rank].warm_up) + " on rank " +
                        std::to_string(rank) + "; give every rank the same options");
  if (given.steps == 0) throw input_error("timed_summary: expected at least 1 step to measure, found 0");
}

} // namespace cairn::detail

namespace cairn {

//   std::fputs(timed_summary(train, images, labels).text().c_str(), stdout);
//
// Measures training steps on these samples. It reports the times of each layer in a step, the slowest first, also inside
// blocks: forward, recompute and backward; then those of the loss, the communication with other ranks, the update, and the
// rest. The steps are real ones, at a learning rate of 0, and they are undone: afterwards the trainer has every bit that it
// had before, including micro-batches that wait for their step and the results of the last one. Meanwhile a copy of
// parameters, buffers, states and gradients is in the host's memory. With several ranks every rank must make this call, with
// equal options, and gets its own times: let rank 0 print.
//
// Every second step is not watched: `unwatched` beside `step` shows what watching costs, some 50 ns per layer and pass. Each
// step is waited for, so that an asynchronous device begins none before the last is over. An activation that a product
// applies to its own result has no time of its own, and the product takes a little more; layers that sum statistics over the
// ranks wait for the others. Throws what a step throws. Even then the trainer is as it was, except after a failure that needs
// synchronize().
template <class Trainer, detail::step_inputs Inputs, detail::step_targets Targets, class Clock = std::chrono::steady_clock>
report::step_times timed_summary(Trainer& train, const Inputs& inputs, const Targets& targets,
                                 const report::timing_options& options = {}) {
  using T = typename Trainer::plan::element;
  using queue_type = std::remove_cvref_t<decltype(train.device().compute())>;
  static_assert(detail::tells_time<queue_type>,
                "timed_summary: this device does not tell how long its work takes; give its queue "
                "a stopwatch, as cairn/device/device.hpp says");
  report::step_times out;
  if constexpr (detail::tells_time<queue_type>) {
    auto& comm = train.inside().comm();
    detail::check_timing(comm, train.device().compute(), options);
    detail::kept_training before(train.inside());
    const struct unheard { // hides these steps from the listener of discards
      Trainer& train;
      decltype(train.inside().discarded) listener = train.inside().discarded;
      explicit unheard(Trainer& t) : train(t) { train.on_discard({}); }
      unheard(const unheard&) = delete;
      unheard& operator=(const unheard&) = delete;
      ~unheard() { train.on_discard(listener); }
    } quiet(train);
    train.drop_micro_batches();
    train.learning_rate(0);

    detail::layer_watch<T, queue_type> watch(comm.size() == 1, Trainer::fused);
    const detail::unwatched_step unwatched;
    const auto seconds_of = [&](auto& watched_by) {
      const auto begin = Clock::now();
      static_cast<void>(detail::step_watched(train.inside(), inputs, targets, watched_by));
      train.wait();
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    using part = detail::layer_watch<T, queue_type>;
    detail::many_times wholes, others, passes;
    for (std::size_t step = 0; step < options.warm_up + options.steps; ++step) {
      const double alone = seconds_of(unwatched);
      const double whole = seconds_of(watch);
      if (step < options.warm_up) continue;
      wholes.add(0, alone);
      wholes.add(1, whole);
      double rest = whole;
      const auto add = [&rest](detail::many_times& to, std::size_t number, std::int64_t nanoseconds) {
        const double seconds = 1e-9 * static_cast<double>(nanoseconds);
        to.add(number, seconds);
        rest -= seconds;
      };
      for (std::size_t k = 0; k < 3; ++k) add(others, k, watch.nanoseconds(static_cast<typename part::part>(k)));
      for (std::size_t l = 0; l < watch.layers().size(); ++l)
        for (std::size_t k = 0; k < 3; ++k) add(passes, 3 * l + k, watch.sums()[l].nanoseconds[k]);
      others.add(3, rest);
    }
    out.samples = train.inside().counters.rows;
    before.give_back();

    out.layers = detail::untimed_layers(watch.layers(), out.samples);
    for (report::layer_times& l : out.layers) {
      l.forward = passes.median_of(3 * l.index);
      l.recompute = passes.median_of(3 * l.index + 1);
      l.backward = passes.median_of(3 * l.index + 2);
      l.flops = watch.sums()[l.index].flops * out.samples;
    }
    std::sort(out.layers.begin(), out.layers.end(), [](const report::layer_times& a, const report::layer_times& b) {
      return a.seconds() != b.seconds() ? a.seconds() > b.seconds() : a.index < b.index;
    });
    out.loss = others.median_of(0);
    out.gradients = others.median_of(1);
    out.update = others.median_of(2);
    out.rest = others.median_of(3);
    out.unwatched = wholes.median_of(0);
    out.step = wholes.median_of(1);
    out.steps = options.steps;
    out.element = std::string(detail::type_name<T>());
    out.rank = comm.rank();
    out.ranks = comm.size();
  }
  return out;
}

} // namespace cairn
