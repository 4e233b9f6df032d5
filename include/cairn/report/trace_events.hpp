// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/rooms.hpp>
#include <cairn/report/format.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::report {

// A span of time on one row of a rank. Times are nanoseconds from the same moment on all ranks.
struct trace_slice {
  std::string name;
  std::string kind; // "forward", "recompute", "backward", "loss", "update", "communication", "layer"
  std::size_t row = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<std::pair<std::string, double>> facts{}; // shown when it is clicked

  std::int64_t length() const { return end - begin; }
};

// The value of a quantity from this moment on.
struct trace_count {
  std::int64_t time = 0;
  double value = 0;
};

// The trace of one rank: the names of its rows, the slices on them, and one quantity over time.
struct rank_trace {
  int rank = 0;
  std::vector<std::string> rows{};
  std::vector<trace_slice> slices{};
  std::string counted{};
  std::vector<trace_count> counts{};
};

} // namespace cairn::report

namespace cairn::detail {

inline std::string json_text(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out.append(1, '\\').append(1, c);
    else if (byte < 0x20U) out.append("\\u00").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    else out += c;
  }
  return out + '"';
}
// JSON has no inf and no nan; they are written as texts.
inline std::string json_number(double value) {
  return value - value == 0 ? shortest_text(value) : json_text(shortest_text(value));
}

// The events of a rank in Chrome's trace format, each followed by a comma and a line break. A process is a rank and a thread
// one of its rows; times are microseconds. (Templates, so that a program that traces nothing does not compile them.)
template <class Trace>
std::string chrome_events(const Trace& trace) {
  std::string out;
  const auto begin = [&](char phase, std::string_view name, std::size_t row) {
    out += "{\"ph\":\"" + std::string(1, phase) + "\",\"pid\":" + std::to_string(trace.rank) + ",\"tid\":" + std::to_string(row) +
           ",\"name\":" + json_text(name);
  };
  const auto time = [](std::int64_t nanoseconds) { return format_fixed(static_cast<double>(nanoseconds) * 1e-3, 3); };
  const auto metadata = [&](std::string_view what, std::size_t row, std::string_view key, const std::string& value) {
    begin('M', what, row);
    out += ",\"args\":{" + json_text(key) + ":" + value + "}},\n";
  };
  metadata("process_name", 0, "name", json_text("rank " + std::to_string(trace.rank)));
  metadata("process_sort_index", 0, "sort_index", std::to_string(trace.rank));
  for (std::size_t row = 0; row < trace.rows.size(); ++row) {
    metadata("thread_name", row, "name", json_text(trace.rows[row]));
    metadata("thread_sort_index", row, "sort_index", std::to_string(row));
  }
  for (const trace_slice& s : trace.slices) {
    begin('X', s.name, s.row);
    out += ",\"cat\":" + json_text(s.kind) + ",\"ts\":" + time(s.begin) + ",\"dur\":" + time(s.length()) + ",\"args\":{";
    const char* between = "";
    for (const auto& [name, value] : s.facts) out += std::exchange(between, ",") + json_text(name) + ":" + json_number(value);
    out += "}},\n";
  }
  for (const trace_count& c : trace.counts) {
    begin('C', trace.counted, 0);
    out += ",\"ts\":" + time(c.time) + ",\"args\":{\"bytes\":" + json_number(c.value) + "}},\n";
  }
  return out;
}

// Adds rows for slices that may overlap, given in the order in which they begin. Each slice goes to the first row that is
// free by then, because viewers show the slices of a row only if they nest.
template <class Trace, class Slices>
void add_side_by_side(Trace& trace, Slices slices, const std::string& name) {
  const std::size_t first = trace.rows.size();
  std::vector<std::int64_t> busy_until;
  for (auto& s : slices) {
    std::size_t row = 0;
    while (row < busy_until.size() && busy_until[row] > s.begin) ++row;
    if (row == busy_until.size()) {
      busy_until.push_back(0);
      trace.rows.push_back(row == 0 ? name : name + ", " + std::to_string(row + 1) + " at once");
    }
    busy_until[row] = s.end;
    s.row = first + row;
    trace.slices.push_back(std::move(s));
  }
}

// A whole file with the events of all ranks.
inline std::string chrome_file(std::string events) {
  const std::size_t last = events.find_last_of(',');
  if (last != events.npos) events.erase(last, 1);
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "]}\n";
}

} // namespace cairn::detail
