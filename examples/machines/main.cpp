// SPDX-License-Identifier: MIT
// How many machines are worth it? A step is measured on this machine; the cost of communicating gradients between many follows
// from the bucket plan, which is a constant of the type. The result is a table, and a picture of the step's time against the
// number of machines.
//
// long to compile
// test: --step-ms 20
// test: --step-ms 20 --most 8 --latency-us 2
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/report/charts.hpp>

#include "../command_line.hpp"

namespace mine {

using namespace cairn;

namespace {

using Net = Sequential<Linear<784, 512>, ReLU, Repeat<7, Sequential<Linear<512, 512>, ReLU>>, Linear<512, 10>>;
// The program of one rank; the communicator that carries the gradients does not matter here.
using Model = ddp<Net, loopback::rank, bucket_bytes<2_MiB>>;
using Times = plan::op_times<Model, batch<128>>;

// The shortest of some steps of one rank, in seconds.
double measured_step() {
  trainer<Net, CrossEntropyLoss, SGD, batch<128>> train{SGD{.learning_rate = 0.01, .momentum = 0.9}, {.seed = 1}};
  const std::vector<float> inputs(128 * 784, 0.5F);
  const std::vector<int> labels(128, 3);
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    train.step(inputs, labels);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

std::vector<report::named_network> networks(double latency, double per_message, plan::all_reduce_algorithm sums) {
  std::vector<report::named_network> out;
  for (const int gigabits : {1, 10, 100})
    out.push_back({std::to_string(gigabits) + " Gbit/s",
                   {.latency = latency, .bandwidth = gigabits * 1e9 / 8, .per_message = per_message, .sums = sums}});
  return out;
}

// The time of a step, and the share of it that is work.
report::table as_table(const Times& times, const std::vector<report::named_network>& all, std::size_t most) {
  std::vector<std::string> header{"machines"};
  for (const report::named_network& n : all) header.insert(header.end(), {n.name, "efficiency"});
  report::table out(header);
  for (std::size_t machines = 1; machines <= most; machines *= 2) {
    std::vector<std::string> row{report::format_count(machines)};
    for (const report::named_network& n : all) {
      plan::cluster on = n.of;
      on.machines = machines;
      const auto step = predicted_step(times, on);
      row.insert(row.end(), {report::format_duration(step.seconds()), report::format_fixed(100 * step.efficiency(), 0) + " %"});
    }
    out.row(row);
  }
  return out;
}

} // namespace

int program(int count, char** words) {
  double step_ms = 0;
  double latency_us = 20;
  double message_us = 1;
  std::size_t most = 1024;
  std::string picture = "machines.svg";
  command_line given("machines", "predicts the time of a training step on 1, 2, 4, ... machines");
  given.add("step-ms", step_ms, "the time of a step on one machine; 0: it is measured")
      .add("latency-us", latency_us, "between two machines")
      .add("message-us", message_us, "of the processor, for each message")
      .add("most", most, "machines at the end of the axis")
      .add("picture", picture, "file for the picture")
      .parse(count, words);
  try {
    const Times times = Times::of_step(step_ms > 0 ? step_ms / 1e3 : measured_step());
    const auto by_parts = networks(latency_us / 1e6, message_us / 1e6, plan::all_reduce_algorithm::parts);
    const auto by_halving = networks(latency_us / 1e6, message_us / 1e6, plan::all_reduce_algorithm::halving);
    std::printf("sums by parts, in the order of the ranks\n\n%s\n", as_table(times, by_parts, most).text().c_str());
    std::printf("sums by halving, in any order\n\n%s\n", as_table(times, by_halving, most).text().c_str());
    std::array<report::line_chart, 2> charts{
        report::scaling_chart(times, by_parts, most, "Sums by parts, in the order of the ranks"),
        report::scaling_chart(times, by_halving, most, "Sums by halving, in any order")};
    double slowest = 0; // both charts have one scale
    for (const report::line_chart& c : charts)
      for (const report::chart_line& line : c.lines) slowest = std::max(slowest, line.points.back().y);
    for (report::line_chart& c : charts) c.y.most = 1.2 * slowest;
    const std::string bytes = report::format_bytes(Times::plan::parameters * sizeof(float));
    report::write_svg(picture, report::draw_line_charts(
                                   charts, {.title = "What a training step takes on many machines",
                                            .subtitle = bytes + " of gradients in " + std::to_string(Times::buckets.size()) +
                                                        " buckets, 128 samples a machine, latency " +
                                                        report::format_duration(latency_us / 1e6) + "; both axes logarithmic",
                                            .width = 1200,
                                            .height = 380}));
    std::printf("drawn in %s\n", picture.c_str());
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "machines: %s\n", fault.what());
    return 1;
  }
  return 0;
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
