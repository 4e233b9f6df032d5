// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>

namespace cairn {

// A table of results for people: a header, rows of the same length. Columns are as wide as their widest cell;
// a column of numbers (with or without a unit) is aligned to the right, header included.
//
//   table results({"policy", "peak", "step"});
//   results.row({"sqrt_n", format_bytes(peak), format_duration(seconds)});
//   std::fputs(results.text().c_str(), stdout);
class table {
public:
  explicit table(std::vector<std::string> header) : header_(std::move(header)) {}

  // Appends a row. Throws cairn::error unless it has one cell for each column.
  table& row(std::vector<std::string> cells) {
    if (cells.size() != header_.size())
      throw error("table: expected a row of " + std::to_string(header_.size()) +
                  " cells, as the header has, found " + std::to_string(cells.size()) +
                  "; give every column a cell, empty where there is nothing to say");
    rows_.push_back(std::move(cells));
    return *this;
  }

  // A rule between the rows so far and those that follow, such as a sum. Only text() draws it: Markdown has none.
  table& rule() {
    rules_.push_back(rows_.size());
    return *this;
  }

  std::size_t size() const { return rows_.size(); }

  // For a terminal: two spaces between columns, a rule under the header.
  std::string text() const {
    const auto columns = measure(0);
    std::string out;
    const auto add = [&](const std::vector<std::string>& cells) {
      std::string line;
      for (std::size_t c = 0; c < cells.size(); ++c)
        line += (c > 0 ? "  " : "") + padded(cells[c], columns[c]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    };
    const auto add_rule = [&] {
      for (std::size_t c = 0; c < columns.size(); ++c)
        out += (c > 0 ? "  " : "") + std::string(columns[c].width, '-');
      out += '\n';
    };
    add(header_);
    add_rule();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (std::ranges::find(rules_, r) != rules_.end()) add_rule();
      add(rows_[r]);
    }
    return out;
  }

  // For a README or an issue: the same in GitHub's Markdown, which reads well as plain text too.
  std::string markdown() const {
    auto header = header_;
    auto rows = rows_;
    for (auto& cell : header) cell = without_bars(cell);
    for (auto& cells : rows)
      for (auto& cell : cells) cell = without_bars(cell);
    const auto columns = table(header, rows).measure(3); // the rule under a column needs three characters
    std::string out;
    const auto add = [&](const std::vector<std::string>& cells) {
      for (std::size_t c = 0; c < cells.size(); ++c)
        out += (c > 0 ? " | " : "| ") + padded(cells[c], columns[c]);
      out += " |\n";
    };
    add(header);
    for (const auto& column : columns)
      out += "| " + std::string(column.width - 1, '-') + (column.right ? ": " : "- ");
    out += "|\n";
    for (const auto& cells : rows) add(cells);
    return out;
  }

private:
  struct column_form {
    std::size_t width = 0;
    bool right = false;
  };

  table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows)
      : header_(std::move(header)), rows_(std::move(rows)) {}

  // Characters, not bytes, of UTF-8 text: every byte but the continuations.
  static std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  }
  // Begins as a number does, after a sign or a "~": what follows is taken for its unit.
  static bool is_number(std::string_view cell) {
    while (!cell.empty() && std::string_view("+-.~<>").find(cell.front()) != std::string_view::npos)
      cell.remove_prefix(1);
    return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
  }
  static std::string padded(const std::string& cell, const column_form& column) {
    const std::string space(column.width - width(cell), ' ');
    return column.right ? space + cell : cell + space;
  }
  // A bar or the end of a line would end a Markdown cell.
  static std::string without_bars(const std::string& cell) {
    std::string out;
    for (const char c : cell)
      out += c == '|' ? std::string("\\|") : c == '\n' ? std::string(" ") : std::string(1, c);
    return out;
  }

  // A cell that is empty or a dash says that there is no number: it decides nothing.
  std::vector<column_form> measure(std::size_t least) const {
    std::vector<column_form> out(header_.size());
    for (std::size_t c = 0; c < out.size(); ++c) {
      bool number = false;
      bool other = false;
      out[c].width = std::max(least, width(header_[c]));
      for (const auto& cells : rows_) {
        out[c].width = std::max(out[c].width, width(cells[c]));
        if (is_number(cells[c])) number = true;
        else if (!cells[c].empty() && cells[c] != "-") other = true;
      }
      out[c].right = number && !other;
    }
    return out;
  }

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> rules_{}; // before which rows
};

} // namespace cairn
