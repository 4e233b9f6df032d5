// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <cairn/core/error.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/make_folder.hpp>
#include <cairn/data/number_of_text.hpp>

namespace cairn::detail {

// One measured quantity: its name and its value.
using named_value = std::pair<std::string, double>;

// The shortest text that reads back as the same number, whatever the locale; "nan", "inf" and "-inf".
inline std::string csv_number(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// A cell as in RFC 4180: in quotes if it contains a character that ends a cell.
inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// (The rest is templates, so that a program that logs nothing does not compile it.)
//
// The records of a table, each without its line break. A line break in quotes is part of a cell. Text after the last line
// break is left out: a program was stopped while it wrote it.
template <class Text>
std::vector<std::string_view> csv_records(const Text& whole) {
  const std::string_view text = whole;
  std::vector<std::string_view> out;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] != '\n' || quoted) continue;
    out.push_back(text.substr(begin, at - begin - (at > begin && text[at - 1] == '\r' ? 1 : 0)));
    begin = at + 1;
  }
  return out;
}

// The cells of one record.
template <class Record>
std::vector<std::string> csv_cells(const Record& record) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t at = 0; at < record.size(); ++at) {
    const bool doubled = quoted && record.substr(at, 2) == "\"\"";
    if (record[at] == '"' && !doubled) quoted = !quoted;
    else if (record[at] == ',' && !quoted) out.emplace_back();
    else out.back() += record[at];
    if (doubled) ++at;
  }
  return out;
}

// The contents of a small file. Throws file_error.
template <class File = open_file>
std::string text_of_file(const std::string& path) {
  File file(path, O_RDONLY);
  const std::uint64_t size = file.size();
  if (size == File::no_size) throw file_error("cannot read '" + path + "': " + file.fault());
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!file.read(text.data(), text.size(), 0)) throw file_error("cannot read all of '" + path + "'");
  return text;
}

// See csv_log.
template <class File>
class csv_table {
public:
  explicit csv_table(std::string file) : path_(std::move(file)) {}

  void write(std::uint64_t step, std::size_t epoch, std::span<const std::pair<std::string, double>> metrics) {
    if (!std::exchange(writes_, true)) begin(step);
    const std::size_t known = names_.size();
    std::vector<std::string> cells(known);
    for (const auto& [name, value] : metrics) {
      const std::size_t at = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
      if (at == names_.size()) names_.push_back(name), cells.emplace_back();
      cells[at] = csv_number(value);
    }
    if (names_.size() > known) add_columns(names_.size() - known);
    std::string row = std::to_string(step) + ',' + std::to_string(epoch);
    for (const std::string& cell : cells) row += ',' + cell;
    append(row + '\n');
  }
  void write(std::uint64_t step, std::size_t epoch, std::initializer_list<std::pair<std::string, double>> metrics) {
    write(step, epoch, std::span<const std::pair<std::string, double>>(metrics.begin(), metrics.size()));
  }

  template <class Run>
  void on_begin(const Run& run) {
    if (run.rank() == 0) begin(run.step() + 1);
  }
  template <class Run>
  void on_log(const Run& run) {
    if (run.rank() == 0) write(run.step(), run.epoch(), run.metrics());
  }
  template <class Run>
  void on_epoch(const Run& run) {
    on_log(run);
  }

private:
  static constexpr std::string_view first_columns = "step,epoch";

  // Continues an existing table, without the rows from `step` on. A run begins after the step of its state; if its first row
  // is of that step itself (the epoch that ended with it), the rows of that step are dropped too.
  void begin(std::uint64_t step) {
    if (step >= first_step_) return;
    first_step_ = step;
    if (!file_exists(path_)) return;
    const std::string text = text_of_file(path_);
    const std::vector<std::string_view> rows = csv_records(text);
    if (rows.empty()) return rewrite({}); // not even the header was written whole
    names_ = csv_cells(rows[0]);
    if (!rows[0].starts_with(first_columns) || names_.size() < 2 || names_[1] != "epoch")
      refuse(1, "a header that begins with '" + std::string(first_columns) + "'", rows[0]);
    const std::size_t width = names_.size();
    names_.erase(names_.begin(), names_.begin() + 2);
    std::vector<std::string_view> kept;
    std::size_t length = rows[0].size() + 1;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      std::uint64_t of = 0;
      const char* const end = rows[i].data() + rows[i].size();
      const auto [next, fault] = std::from_chars(rows[i].data(), end, of);
      const bool right = fault == std::errc{} && next != end && *next == ',' &&
                         static_cast<std::size_t>(std::count(rows[i].begin(), rows[i].end(), ',')) + 1 == width;
      if (!right) refuse(i + 1, "a step and " + std::to_string(width) + " cells", rows[i]);
      if (of < step) kept.push_back(rows[i]), length += rows[i].size() + 1;
    }
    if (kept.size() + 1 != rows.size() || length != text.size()) rewrite(kept);
    is_there_ = true;
  }

  // Adds columns, with empty cells in the rows so far, by writing the file again. That is cheap: the table is small, or its
  // columns are known after its first rows.
  void add_columns(std::size_t count) {
    if (!is_there_) return rewrite({});
    const std::string text = text_of_file(path_);
    std::vector<std::string_view> rows = csv_records(text);
    if (!rows.empty()) rows.erase(rows.begin());
    rewrite(rows, std::string(count, ','));
  }
  void rewrite(std::span<const std::string_view> rows, const std::string& behind = "") {
    std::string out{first_columns};
    for (const std::string& name : names_) out += ',' + csv_cell(name);
    out += '\n';
    for (const std::string_view row : rows) out.append(row).append(behind) += '\n';
    make_folder_of(path_);
    write_file_atomically(path_, out);
    is_there_ = true;
  }

  // Opens the file for each row: if it stayed open, rows would be lost when another program replaces the file.
  void append(const std::string& row) {
    if (!is_there_) rewrite({});
    File file(path_, O_WRONLY | O_APPEND);
    if (!file || !file.write(row) || !file.close())
      throw file_error("csv_log: cannot add to '" + path_ + "': " + std::strerror(errno) +
                       ". It must stay where it is, be writable and have room.");
  }

  [[noreturn]] void refuse(std::size_t line, const std::string& expected, std::string_view found) const {
    throw file_error("csv_log: expected " + expected + " in line " + std::to_string(line) + " of '" + path_ + "', found '" +
                     std::string(found.substr(0, 60)) + "'; choose another file, or move this one away");
  }

  std::string path_;
  std::vector<std::string> names_; // of the columns after the step and the epoch
  std::uint64_t first_step_ = std::numeric_limits<std::uint64_t>::max();
  bool is_there_ = false;
  bool writes_ = false;
};

} // namespace cairn::detail

namespace cairn {

// Metrics as a table in a CSV file, a row for each write(): the step, the epoch, and a column for each name.
//
//   csv_log log{"runs/a/metrics.csv"};
//   log.write(step, epoch, {{"train_loss", loss}});
//
// For a new name the file is written again with one more column; a row has an empty cell where it has no value. The folder is
// made if needed. An existing table is continued, as a resumed run does it: the first write drops the rows of steps that come
// again, so that none is there twice. In a new run in the same folder these are all rows.
//
// As a callback of fit it writes the metrics of on_log and on_epoch, on rank 0. Each row is in the file when write() returns:
// it survives a crash of the program, but maybe not one of the machine. Throws file_error if a file cannot be written, or if
// an existing file is not such a table.
using csv_log = detail::csv_table<detail::open_file>;

} // namespace cairn
