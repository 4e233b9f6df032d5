// SPDX-License-Identifier: MIT
// How large can a batch be, and what does that cost? For each batch and each budget of bytes it solves the cheapest step that
// fits, and tells the operations of the step relative to those of one that stores everything: as a table and as a picture.
// The numbers follow from the type of the network; nothing is trained.
//
// long to compile
// test:
// test: --most-cost 1.1
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/report/charts.hpp>

#include "../command_line.hpp"

namespace mine {

using namespace cairn;

namespace {

// The network of examples/budget.md.
using Net = Sequential<Linear<64, 256>, ReLU, Repeat<8, Residual<Linear<256, 256>, ReLU>>, Linear<256, 10>>;

constexpr std::array<std::size_t, 5> budgets{256_KiB, 512_KiB, 1_MiB, 2_MiB, 4_MiB};
constexpr std::array<const char*, budgets.size()> colours{"#46515e", "#2f6db3", "#1d8a5b", "#c77f0a", "#a02c6b"};

struct solved_batch {
  std::size_t batch = 0;
  std::size_t stored = 0;                                   // bytes of a step that stores everything
  std::array<std::optional<double>, budgets.size()> cost{}; // of the cheapest step that fits, if one does
};

template <std::size_t Batch>
solved_batch solve() {
  using curve_type = memory_curve<Net, Batch>;
  const curve_type curve;
  solved_batch out{.batch = Batch, .stored = peak_activation_bytes<Net, Batch>};
  const auto everything = static_cast<double>(curve.cost_of(curve_type::plan::training.ops()));
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    if (out.stored <= budgets[b]) out.cost[b] = 1;
    else if (curve[0].bytes <= budgets[b])
      out.cost[b] = static_cast<double>(curve.cost_of(curve.within(budgets[b]).plan.training.ops())) / everything;
  }
  return out;
}

template <std::size_t... Batches>
std::vector<solved_batch> solve_all() {
  return {solve<Batches>()...};
}

report::table as_table(std::span<const solved_batch> all) {
  std::vector<std::string> header{"batch", "storing everything"};
  for (const std::size_t bytes : budgets) header.push_back("in " + report::format_bytes(bytes));
  report::table out(header);
  for (const solved_batch& s : all) {
    std::vector<std::string> row{report::format_count(s.batch), report::format_bytes(s.stored)};
    for (const std::optional<double>& cost : s.cost) row.push_back(cost ? report::format_fixed(*cost, 2) : "-");
    out.row(row);
  }
  return out;
}

// A line for each budget: from the largest batch that is stored as a whole to the largest that fits and costs at most `most`.
std::string draw(std::span<const solved_batch> all, double most) {
  report::line_chart chart{.title = "",
                           .x = {"samples in a batch", report::chart_unit::plain, true},
                           .y = {"operations of a step, storing everything = 1", report::chart_unit::plain}};
  chart.y.least = 1;
  for (const solved_batch& s : all)
    if (s.batch % 3 != 0) chart.x.ticks.push_back(static_cast<double>(s.batch));
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    report::chart_line line{report::format_bytes(budgets[b]), "", colours[b]};
    std::size_t largest = 0;
    for (const solved_batch& s : all) {
      if (!s.cost[b] || *s.cost[b] > most) continue;
      if (*s.cost[b] == 1) line.points.clear();
      line.points.push_back({static_cast<double>(s.batch), *s.cost[b]});
      largest = s.batch;
    }
    if (line.points.empty()) continue;
    line.note = "up to " + report::format_count(largest);
    chart.lines.push_back(std::move(line));
  }
  return report::draw_line_charts(
      std::span(&chart, 1), {.title = "What a larger batch costs in the same memory",
                             .subtitle = "each line is a budget of bytes for activations, from where everything is stored to a "
                                         "cost of " +
                                         report::format_fixed(most, 1) + " at most",
                             .width = 860,
                             .height = 320});
}

// Checks that more bytes never cost more, and that a larger batch never costs less.
bool is_ordered(std::span<const solved_batch> all) {
  constexpr double endless = 1e9;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t b = 0; b < budgets.size(); ++b) {
      const double here = all[i].cost[b].value_or(endless);
      if (b > 0 && all[i].cost[b - 1].value_or(endless) < here) return false;
      if (i > 0 && all[i - 1].cost[b].value_or(endless) > here) return false;
    }
  return true;
}

} // namespace

int program(int count, char** words) {
  double most = 2;
  std::string picture = "batches.svg";
  command_line given("batches", "solves what a larger batch costs in the same memory");
  given.add("most-cost", most, "of a step in the picture, relative to storing everything")
      .add("picture", picture, "file for the picture")
      .parse(count, words);
  if (most < 1) given.fail("--most-cost is at least 1");
  try {
    const std::vector<solved_batch> all = solve_all<12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024>();
    std::printf("operations of a step, relative to storing everything\n\n%s\n", as_table(all).text().c_str());
    report::write_svg(picture, draw(all, most));
    std::printf("drawn in %s\n", picture.c_str());
    if (is_ordered(all)) return 0;
    std::fprintf(stderr, "batches: expected more bytes to cost no more, and a larger batch no less\n");
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "batches: %s\n", fault.what());
  }
  return 1;
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
