// SPDX-License-Identifier: MIT
// The host's part of the benchmark for GPUs: tables in Markdown, and measured times.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gpu_bench {

// Writes a number with about three significant digits, without an exponent.
inline std::string number(double value) {
  char text[32];
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4;
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}
// 0 means that the share is unknown.
inline std::string percent(double share) { return share == 0 ? "-" : number(100 * share) + " %"; }

// A table whose first columns are words and whose others are numbers. Each row is printed at once, as a run may end early.
class table {
public:
  explicit table(const std::vector<std::string>& head, std::size_t words = 2) {
    row(head);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < head.size(); ++i) lines.push_back(i < words ? "---" : "---:");
    row(lines);
  }
  void row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) std::printf("| %s ", cell.c_str());
    std::printf("|\n");
    std::fflush(stdout);
  }
};

inline double median(std::vector<double> list) {
  if (list.empty()) return 0;
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

// Returns the milliseconds of one run: the median over some rounds, each of as many runs as take some milliseconds together.
// `finish` returns when everything that was put on the queue is done.
template <class Run, class Finish>
double milliseconds(const Run& run, const Finish& finish, double of_round = 20, std::size_t rounds = 7) {
  using clock = std::chrono::steady_clock;
  const auto of = [&](std::size_t runs) {
    const auto start = clock::now();
    for (std::size_t i = 0; i < runs; ++i) run();
    finish();
    return std::chrono::duration<double, std::milli>(clock::now() - start).count();
  };
  of(2); // the first run may choose an algorithm, or compile
  std::size_t runs = 1;
  for (double took = of(runs); took < of_round && runs < 100000; took = of(runs))
    runs = std::max(2 * runs,
                    static_cast<std::size_t>(static_cast<double>(runs) * std::min(100.0, of_round / std::max(took, 1e-3))));
  std::vector<double> found;
  for (std::size_t i = 0; i < rounds; ++i) found.push_back(of(runs) / static_cast<double>(runs));
  return median(found);
}

inline constexpr const char* parts[] = {"machine", "smoke", "algorithms", "constants", "ops", "products", "steps", "ranks"};

// The choices of the command line.
struct request {
  bool list = false;       // only names what would be measured, which needs no GPU
  std::string only{};      // one of `parts`
  std::string step{};      // one network, its policy and way: a line of JSON
  std::size_t steps = 30;  // of one round
  std::size_t smaller = 1; // sizes are divided by it, for a test of the program itself

  bool wants(const std::string& part) const { return only.empty() || only == part; }
};

} // namespace gpu_bench
