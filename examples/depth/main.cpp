// SPDX-License-Identifier: MIT
// The cost of depth: networks of 10 to 1000 equal blocks, each trained for some steps under several checkpoint policies. It
// prints a table of planned and measured bytes and of time, and draws both against depth.
//
// long to compile
// has --device cuda
// test: --depths 10,30 --steps 2
// test: --depths 300 --steps 1
// test on a GPU: --device cuda --depths 10,100 --steps 2
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/data/file.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/line_chart.hpp>
#include <cairn/report/progress.hpp>
#include <cairn/report/table.hpp>

#include "../command_line.hpp"
#include "depth.hpp"

namespace mine {

using namespace cairn;
using namespace depth_study;

namespace {

struct measured : candidate {
  figures of;
};

// A family of policies keeps its colour in every picture.
struct ink {
  const char* family;
  const char* colour;
  const char* argument; // which grows with depth
};
constexpr std::array<ink, 5> inks{{{"store_all", "#46515e", ""},
                                   {"sqrt_n", "#2f6db3", ""},
                                   {"revolve", "#c77f0a", "<log2 n>"},
                                   {"recompute_all", "#a02c6b", ""},
                                   {"budget", "#1d8a5b", "<2_MiB>"}}};

std::vector<std::size_t> numbers_in(std::string_view list, const command_line& given) {
  std::vector<std::size_t> out;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    std::size_t number = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (fault != std::errc{} || end != word.data() + word.size())
      given.fail("--depths are numbers with commas between them, not " + std::string(list));
    out.push_back(number);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return out;
}

// Asks for the chosen networks only: some are planned when they are asked for.
std::vector<candidate> chosen_by(const std::vector<std::size_t>& depths, const command_line& given) {
  constexpr std::array<std::pair<std::size_t, std::vector<candidate> (*)()>, 5> lists{
      {{10, &depth_10}, {30, &depth_30}, {100, &depth_100}, {300, &depth_300}, {1000, &depth_1000}}};
  std::vector<candidate> out;
  for (const std::size_t depth : depths) {
    const auto list = std::ranges::find(lists, depth, [](const auto& l) { return l.first; });
    if (list == lists.end()) given.fail("--depths are some of 10, 30, 100, 300 and 1000");
    for (candidate& c : list->second()) out.push_back(std::move(c));
  }
  return out;
}

// store_all on the same network, with which the others are compared.
const measured& plain(const std::vector<measured>& all, std::size_t depth) {
  return *std::ranges::find_if(all, [&](const measured& m) { return m.depth == depth && m.family() == "store_all"; });
}

std::string times(double ratio) { return report::format_fixed(ratio, 2) + " ×"; }

report::table as_table(const std::vector<measured>& all) {
  report::table out({"blocks", "policy", "planned by", "peak planned", "peak measured", "of store_all", "step", "of store_all",
                     "predicted", "weights"});
  for (const measured& m : all) {
    const measured& base = plain(all, m.depth);
    out.row({report::format_count(m.depth), m.policy, m.planned_by, report::format_bytes(m.of.planned),
             report::format_bytes(m.of.measured),
             report::format_fixed(static_cast<double>(m.of.measured) / static_cast<double>(base.of.measured), 3),
             report::format_duration(m.of.seconds), times(m.of.seconds / base.of.seconds), times(m.flops / base.flops),
             report::format_checksum(m.of.weights)});
  }
  return out;
}

// A straight line of slope one half beside that of sqrt_n, as a guide to the eye.
report::chart_line guide_of(const report::chart_line& line) {
  report::chart_line out{"√n", "", "#6b7683", {}, true};
  const report::chart_point end = line.points.back();
  for (const report::chart_point& p : line.points) out.points.push_back({p.x, 0.7 * end.y * std::sqrt(p.x / end.x)});
  return out;
}

std::string where(const job& j) {
  return j.device == "cpu" ? std::to_string(j.threads) + (j.threads == 1 ? " thread" : " threads") : "a GPU";
}

// The same lines in both charts: bytes that were written, and seconds.
std::string draw(const std::vector<measured>& all, const job& j) {
  report::chart_axis blocks{"residual blocks", report::chart_unit::plain, true};
  for (const measured& m : all) blocks.ticks.push_back(static_cast<double>(m.depth));
  blocks.ticks.erase(std::unique(blocks.ticks.begin(), blocks.ticks.end()), blocks.ticks.end());
  std::array<report::line_chart, 2> charts{
      {{"Memory", blocks, {"activations of a training step, as written", report::chart_unit::bytes, true}},
       {"Time", blocks, {"one training step", report::chart_unit::seconds, true}}}};
  for (const ink& i : inks) {
    report::chart_line bytes{i.family + std::string(i.argument), "", i.colour};
    report::chart_line seconds = bytes;
    for (const measured& m : all) {
      if (m.family() != i.family) continue;
      const double x = static_cast<double>(m.depth);
      bytes.points.push_back({x, static_cast<double>(m.of.measured)});
      seconds.points.push_back({x, m.of.seconds});
      bytes.note = report::format_bytes(m.of.measured);
      seconds.note = m.family() == "store_all" ? report::format_duration(m.of.seconds)
                                               : times(m.of.seconds / plain(all, m.depth).of.seconds);
    }
    if (bytes.points.empty()) continue;
    if (bytes.name == "sqrt_n" && bytes.points.size() > 1) charts[0].lines.push_back(guide_of(bytes));
    charts[0].lines.push_back(std::move(bytes));
    charts[1].lines.push_back(std::move(seconds));
  }
  return report::draw_line_charts(charts, {.title = "What depth costs, and what a checkpoint policy makes of it",
                                           .subtitle = "Residual<Linear<64, 64>, ReLU>, batch " + std::to_string(samples) + ", " +
                                                       where(j) + "; both axes logarithmic; × is relative to store_all"});
}

// Checks that policies do not change the weights, and that no step writes more than planned.
bool all_agree(const std::vector<measured>& all) {
  bool fine = true;
  for (const measured& m : all) {
    const bool same = m.of.weights == plain(all, m.depth).of.weights;
    const bool fits = m.of.measured <= m.of.planned;
    if (!same) std::fprintf(stderr, "depth: %s changes the weights of %zu blocks\n", m.policy.c_str(), m.depth);
    if (!fits) std::fprintf(stderr, "depth: %s wrote more than it planned\n", m.policy.c_str());
    fine = fine && same && fits;
  }
  return fine;
}

int run(const job& j, const std::vector<candidate>& chosen, const std::string& picture) {
  std::printf("blocks Residual<Linear<%zu, %zu>, ReLU>, batch %zu, %zu timed steps each\n", width, width, samples, j.steps);
  std::fflush(stdout);
  std::vector<measured> all;
  {
    progress bar(chosen.size() * j.steps, {.label = "measuring", .unit = "steps"});
    for (const candidate& c : chosen)
      all.push_back({c, c.measure(j, [&] { bar.advance(1, {{"blocks", static_cast<double>(c.depth)}}); })});
  }
  std::printf("\n%s\n", as_table(all).text().c_str());
  files::write_file_atomically(picture, draw(all, j));
  std::printf("memory and time against depth are drawn in %s\n", picture.c_str());
  return all_agree(all) ? 0 : 1;
}

} // namespace

int program(int count, char** words) {
  job j;
  std::string depths = "10,30,100,300,1000";
  std::string picture = "depth.svg";
  command_line given("depth", "measures memory and time of networks of growing depth under several policies");
  given.add("device", j.device, devices_text)
      .add("depths", depths, "which of 10, 30, 100, 300 and 1000 blocks")
      .add("steps", j.steps, "timed steps of each")
      .add("threads", j.threads, "threads inside one operation")
      .add("picture", picture, "file for the picture")
      .parse(count, words);
  if (j.steps < 1 || j.threads < 1) given.fail("--steps and --threads are at least 1");
  try {
    on_device(j.device, [](auto) {}); // is it there?
    return run(j, chosen_by(numbers_in(depths, given), given), picture);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "depth: %s\n", fault.what());
    return 1;
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
