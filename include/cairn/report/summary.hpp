// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/largest_batch.hpp>
#include <cairn/net/summed_layers.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/names.hpp>
#include <cairn/report/network_lines.hpp>
#include <cairn/report/table.hpp>
#include <cairn/train/ddp.hpp>

namespace cairn::report {

// The costs of one training step of a whole network, for at most Batch samples.
struct step_costs {
  std::size_t peak = 0;       // bytes of the arena
  std::size_t tape_bytes = 0; // stored between the forward and the backward pass
  std::uint64_t flops = 0;
};

// The largest batches of which a step fits into some bytes. None was asked for if there are no bytes.
struct batches_within {
  std::size_t bytes = 0;
  std::size_t largest = 0; // of the network as it is
  std::size_t without = 0; // with every checkpoint<> taken away
  std::size_t dearer = 0;  // under the cheapest schedule that fits, if a larger `cost` was allowed
  double cost = 1;         // of its step at most, relative to one that stores everything
};

// An option of summary(): the largest batch of which a step fits into `Bytes`. With an excess of cost it also says how large the
// batch can be under budget<Bytes>, if a step may cost that much more: within<1_MiB, percent<20>>. It takes the compiler about
// five plans of the step for each number, and some seconds for a budget over many stages: see plan::largest_batch.
template <std::size_t Bytes, auto Dearer = detail::own_policy{}>
struct within {
  template <class Model, class Plain, class T, class Update>
  static batches_within find() {
    batches_within out{.bytes = Bytes,
                       .largest = plan::largest_batch<Model, Bytes, detail::own_policy{}, T, Update>,
                       .without = plan::largest_batch<Plain, Bytes, detail::own_policy{}, T, Update>};
    if constexpr (!std::is_same_v<std::remove_cv_t<decltype(Dearer)>, detail::own_policy>) {
      out.dearer = plan::largest_batch<Model, Bytes, Dearer, T, Update>;
      out.cost = 1 + static_cast<double>(Dearer);
    }
    return out;
  }
};

// A network as a table, a line for each stage; see summary(). Its members are for programs, text() and markdown() for people.
struct network_summary {
  std::string policy; // its name, and its remark if it has one
  std::string element;
  std::size_t batch = 0;
  std::size_t parameters = 0; // that are learnt
  std::size_t frozen = 0;     // parameters that are not
  std::size_t parameter_bytes = 0;
  std::vector<detail::network_line> lines{};
  std::vector<detail::bucket> buckets{}; // of a ddp<>, else none
  std::size_t statistics_calls = 0;      // of a sync_batch_norm, else none: calls in a step of one micro-batch
  std::size_t statistics_bytes = 0;      // of all of them
  std::string sums{};                    // in which order gradients are summed, if ranks of this kind offer a choice
  step_costs costs{};
  step_costs without{};      // with every checkpoint<> taken away
  bool checkpointed = false; // whether there is one
  batches_within batches{};  // if the option within<...> asked for them

  // FLOPs of a step relative to those without checkpointing: the ratio of times, as far as it is known before anything has
  // run.
  double time_ratio() const { return ratio(costs.flops, without.flops); }

  // For a terminal.
  std::string text() const { return heading() + "\n\n" + stages("  ").text() + "\n" + totals().text(); }

  // For a README or an issue, where blanks at the beginning of a cell would be lost.
  std::string markdown() const { return heading() + "\n\n" + stages("\u00a0\u00a0").markdown() + "\n" + totals().markdown(); }

private:
  static double ratio(std::uint64_t a, std::uint64_t b) { return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b); }
  static std::string bytes_or_dash(std::size_t n) { return n == 0 ? "-" : format_bytes(n); }

  std::string heading() const {
    return policy + ", batch " + format_count(batch) + " of " + element + ", " + format_count(parameters) + " parameters in " +
           format_bytes(parameter_bytes) + (frozen == 0 ? std::string() : ", " + format_count(frozen) + " frozen");
  }

  table stages(const std::string& indent) const {
    std::vector<std::string> header{"", "stage", "output", "parameters", "activation", "forwards", "tape bytes", "FLOPs"};
    if (!buckets.empty()) header.push_back("bucket");
    table out(std::move(header));
    detail::network_line sum{.name = "total", .group = true, .times = 1};
    for (const detail::network_line& line : lines) {
      add(out, line, indent);
      if (line.level > 0) continue;
      sum.parameters += line.parameters;
      sum.frozen += line.frozen;
      sum.tape_bytes += line.tape_bytes;
      sum.flops += line.flops;
    }
    add(out.rule(), sum, indent);
    return out;
  }

  void add(table& to, const detail::network_line& line, const std::string& indent) const {
    std::string name;
    for (std::size_t l = 0; l < line.level; ++l) name += indent;
    name += line.name;
    if (line.times > 1) name += " x " + format_count(line.times);
    const std::string outputs = detail::text_of_extents(line.outputs.items.data(), line.outputs.size(), batch);
    std::vector<std::string> cells{place(line),
                                   name,
                                   is_sum(line) ? std::string() : outputs,
                                   parameters_of(line),
                                   line.group ? std::string() : activation(line),
                                   line.group ? std::string() : format_count(line.forwards),
                                   bytes_or_dash(line.tape_bytes),
                                   line.flops == 0 ? "-" : format_quantity(static_cast<double>(line.flops * batch))};
    if (!buckets.empty()) cells.push_back(is_sum(line) ? std::string() : leaves_in(line));
    to.row(std::move(cells));
  }

  // Whether this is the last line of the table, which is no line of the network.
  static bool is_sum(const detail::network_line& line) { return line.positions.empty(); }

  // The positions of the stages in the whole network: "3", "3-8", "1, 3", "1, 3 .. 11". Stages inside a block have none.
  std::string place(const detail::network_line& line) const {
    const auto& at = line.positions;
    if (is_sum(line) || inside_block(line)) return "";
    const std::string first = std::to_string(at.front());
    if (at.size() == 1) return first;
    const std::string last = std::to_string(at.back());
    if (at.back() - at.front() + 1 == at.size()) return first + "-" + last;
    return first + ", " + (at.size() == 2 ? last : std::to_string(at[1]) + " .. " + last);
  }
  bool inside_block(const detail::network_line& line) const {
    std::size_t level = line.level;
    for (std::size_t i = static_cast<std::size_t>(&line - lines.data()); level > 0 && i-- > 0;)
      if (lines[i].level < level) {
        if (!lines[i].group) return true;
        level = lines[i].level;
      }
    return false;
  }

  // "144", "144 frozen", "68 + 144 frozen".
  static std::string parameters_of(const detail::network_line& line) {
    const std::string learnt = format_count(line.parameters), frozen = format_count(line.frozen) + " frozen";
    if (line.frozen == 0) return line.parameters == 0 ? "-" : learnt;
    return line.parameters == 0 ? frozen : learnt + " + " + frozen;
  }

  // "stored", "stored 3 of 10, recomputed 8 of 10"; an activation that is neither is only passed on to the next stage.
  static std::string activation(const detail::network_line& line) {
    std::string out;
    for (const auto& [count, word] : {std::pair{line.stored, "stored"}, {line.recomputed, "recomputed"}}) {
      if (count == 0) continue;
      out += std::string(out.empty() ? "" : ", ") + word;
      if (count < line.times) out += " " + format_count(count) + " of " + format_count(line.times);
    }
    return out.empty() ? "passed on" : out;
  }

  // The buckets of the line's gradients, counted as they leave: "2", "1-4".
  std::string leaves_in(const detail::network_line& line) const {
    std::size_t first = buckets.size();
    std::size_t last = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b)
      for (const detail::gradient_span& g : line.gradients)
        if (g.begin < g.end && buckets[b].begin < g.end && g.begin < buckets[b].end) {
          first = std::min(first, b);
          last = std::max(last, b);
        }
    if (first == buckets.size()) return "-";
    return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
  }

  table totals() const {
    const auto quantity = [](std::uint64_t n) { return format_quantity(static_cast<double>(n)); };
    const std::string statistics = format_count(statistics_calls) + " calls, " + format_bytes(statistics_bytes);
    if (!checkpointed) {
      table out({"one step", ""});
      out.row({"peak of activations", format_bytes(costs.peak)})
          .row({"tape bytes at the loss", format_bytes(costs.tape_bytes)})
          .row({"FLOPs", quantity(costs.flops)});
      if (statistics_calls > 0) out.row({"statistics of all ranks", statistics});
      if (!sums.empty()) out.row({"sums of all ranks", sums});
      if (batches.bytes > 0) out.row({batches_text(), format_count(batches.largest)});
      if (batches.cost > 1) out.row({dearer_text(), format_count(batches.dearer)});
      return out;
    }
    const auto part = [](std::uint64_t a, std::uint64_t b) { return format_fixed(ratio(a, b), 2); };
    table out({"one step", "as it is", "without checkpoint", "ratio"});
    out.row({"peak of activations", format_bytes(costs.peak), format_bytes(without.peak), part(costs.peak, without.peak)})
        .row({"tape bytes at the loss", format_bytes(costs.tape_bytes), format_bytes(without.tape_bytes),
              part(costs.tape_bytes, without.tape_bytes)})
        .row({"FLOPs, predicted time", quantity(costs.flops), quantity(without.flops), part(costs.flops, without.flops)});
    if (statistics_calls > 0) out.row({"statistics of all ranks", statistics, statistics, ""});
    if (!sums.empty()) out.row({"sums of all ranks", sums, "", ""});
    if (batches.bytes > 0)
      out.row(
          {batches_text(), format_count(batches.largest), format_count(batches.without), part(batches.largest, batches.without)});
    if (batches.cost > 1) out.row({dearer_text(), format_count(batches.dearer), "", ""});
    return out;
  }
  std::string batches_text() const { return "largest batch in " + format_bytes(batches.bytes); }
  std::string dearer_text() const { return "at " + format_fixed(batches.cost, 2) + " of the FLOPs of storing all"; }
};

} // namespace cairn::report

namespace cairn::detail {

// A summary() without the option within<...>.
struct within_any_bytes {
  template <class, class, class, class>
  static batches_within find() {
    return {};
  }
};

// The same network with every checkpoint<> taken away, at the root and inside: every block that adds only a schedule.
template <class T, class Parts = typename made_of<T>::parts>
struct without_checkpoint;
template <class T, class... Parts>
struct without_checkpoint<T, pack<Parts...>> {
  static auto find() {
    if constexpr (made_of<T>::as == part_kind::layer) return type_of<T>{};
    else if constexpr (adds_a_schedule<T>) return (without_checkpoint<Parts>{}, ...);
    else return type_of<typename made_of<T>::template with<typename without_checkpoint<Parts>::type...>>{};
  }
  using type = typename decltype(find())::type;
};

template <class T, class Parts = typename made_of<T>::parts>
inline constexpr bool has_checkpoint = false;
template <class T, class... Parts>
inline constexpr bool has_checkpoint<T, pack<Parts...>> = [] {
  for (const bool has : {adds_a_schedule<T>, has_checkpoint<Parts>...})
    if (has) return true;
  return false;
}();

template <class Plan>
step_costs costs_of() {
  const auto kept = kept_over_loss<Plan::size>(Plan::whole, Plan::training.ops());
  step_costs out{.peak = Plan::trained::memory.arena, .flops = flops(Plan::whole, Plan::training.ops()) * Plan::batch};
  for (std::size_t i = 0; i < Plan::size; ++i)
    out.tape_bytes += (kept.tape[i] ? Plan::whole.tape_bytes(i) : 0) + (kept.value[i + 1] ? Plan::whole.value_bytes(i + 1) : 0);
  return out;
}

} // namespace cairn::detail

namespace cairn {

//   std::fputs(summary<Model, 64>().text().c_str(), stdout);
//
// Describes each stage in a step of Model, for at most Batch samples of T, before anything has run: its output and
// parameters, whether its activation is stored or recomputed, the bytes that are stored for it between forward and backward,
// the FLOPs of a step, recomputation included, and the bucket in which its gradients leave. Model is whatever a trainer
// takes: a network, a checkpoint<>, a ddp<>; buckets have a column with ddp<> only.
//
// summary<Model, 64, float, report::within<1_MiB, percent<20>>>() also says how large the batch can be.
template <class Model, std::size_t Batch, class T = float, class Within = detail::within_any_bytes>
report::network_summary summary() {
  using distribution = detail::distribution<Model>;
  using model = typename distribution::model;
  using plan = blueprint_of<model, Batch, T, typename distribution::update>;
  using plain = typename detail::without_checkpoint<model>::type;
  report::network_summary out;
  out.policy = report::name_of_policy<plan, typename detail::whole<model>::policy>();
  out.element = detail::type_name<T>();
  out.batch = Batch;
  out.parameters = plan::parameters;
  out.parameter_bytes = plan::parameter_block * sizeof(accumulated<T>); // of the master copy
  out.lines = detail::lines_of<plan, typename detail::whole<model>::body>();
  for (const detail::network_line& line : out.lines)
    if (line.level == 0) out.frozen += line.frozen;
  out.costs = detail::costs_of<plan>();
  out.without = detail::costs_of<blueprint_of<plain, Batch, T, typename distribution::update>>();
  out.checkpointed = detail::has_checkpoint<model>;
  out.batches = Within::template find<model, plain, T, typename distribution::update>();
  if constexpr (distribution::distributed) {
    constexpr std::size_t most = plan::fused ? distribution::update::bytes : distribution::options::bytes;
    const auto buckets = plan::template buckets<most, plan::fused>.buckets();
    out.buckets.assign(buckets.begin(), buckets.end());
    if constexpr (requires { distribution::communicator_type::orders_of_sums; })
      out.sums = distribution::communicator_type::orders_of_sums;
    if constexpr (distribution::options::sums_statistics) {
      out.statistics_calls = detail::summed_layers<plan>::calls;
      out.statistics_bytes = detail::summed_layers<plan>::bytes;
    }
  }
  return out;
}

template <class Model, class Batch, class T = float, class Within = detail::within_any_bytes>
report::network_summary summary()
  requires(Batch::size > 0)
{
  return summary<Model, Batch::size, T, Within>();
}

} // namespace cairn
