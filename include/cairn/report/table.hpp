// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/report/svg.hpp>

namespace cairn::report {

// A table of results for people: a header, rows of the same length. Columns are as wide as their widest cell;
// a column of numbers (with or without a unit) is aligned to the right, header included.
//
//   table results({"policy", "peak", "step"});
//   results.row({"sqrt_n", report::format_bytes(peak), report::format_duration(seconds)});
//   std::fputs(results.text().c_str(), stdout);
class table {
public:
  explicit table(std::vector<std::string> header) : columns_(header.size()) { lines_.push_back(std::move(header)); }

  // Appends a row. Throws input_error unless it has one cell for each column.
  table& row(std::vector<std::string> cells) {
    if (cells.size() != columns_)
      throw input_error("table: expected a row of " + std::to_string(columns_) + " cells, as the header has, found " +
                        std::to_string(cells.size()) + "; give every column a cell, empty where there is nothing to say");
    lines_.push_back(std::move(cells));
    return *this;
  }

  // A rule between the rows so far and those that follow, such as a sum. Only text() draws it: Markdown has none.
  table& rule() {
    rules_.push_back(lines_.size());
    return *this;
  }

  std::size_t size() const { return lines_.size() - 1; } // rows

  // For a terminal: two spaces between columns, a rule under the header.
  std::string text() const {
    const columns_form columns = measure(0);
    std::string rule;
    for (const std::size_t width : columns.width) rule += (rule.empty() ? "" : "  ") + std::string(width, '-');
    rule += '\n';
    std::string out;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      bool ruled = l == 1;
      for (const std::size_t at : rules_) ruled = ruled || at == l;
      if (ruled) out += rule;
      out += joined(lines_[l], columns, "  ");
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
    }
    return lines_.size() == 1 ? out + rule : out;
  }

  // For a README or an issue: the same in GitHub's Markdown, which reads well as plain text too.
  std::string markdown() const {
    table safe = *this;
    for (auto& cells : safe.lines_)
      for (auto& cell : cells) cell = without_bars(cell);
    const columns_form columns = safe.measure(3); // the rule under a column needs three characters
    std::string rule = "|";
    for (std::size_t c = 0; c < columns_; ++c)
      rule += " " + std::string(columns.width[c] - 1, '-') + (columns.right[c] ? ": |" : "- |");
    std::string out;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      out += "| " + joined(safe.lines_[l], columns, " | ") + " |\n";
      if (l == 0) out += rule + '\n';
    }
    return out;
  }

private:
  struct columns_form {
    std::vector<std::size_t> width;
    std::vector<std::size_t> right; // 1: aligned to the right
  };

  // Whether a cell begins as a number does, after a sign or a "~": the rest is taken for its unit.
  static bool is_number(std::string_view cell) {
    cell.remove_prefix(std::min(cell.size(), cell.find_first_not_of("+-.~<>")));
    return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
  }
  static std::string joined(const std::vector<std::string>& cells, const columns_form& columns, const char* between) {
    std::string out;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string space(columns.width[c] - detail::characters(cells[c]), ' ');
      out += (c > 0 ? between : "") + (columns.right[c] ? space + cells[c] : cells[c] + space);
    }
    return out;
  }
  // A bar or the end of a line would end a Markdown cell.
  static std::string without_bars(const std::string& cell) {
    std::string out;
    for (const char c : cell) {
      if (c == '|') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    return out;
  }

  // An empty cell or a dash means that there is no number: it does not decide the alignment.
  columns_form measure(std::size_t least) const {
    columns_form out;
    out.width.resize(columns_, least);
    out.right.resize(columns_, 0);
    for (std::size_t c = 0; c < columns_; ++c) {
      bool number = false;
      bool other = false;
      for (std::size_t l = 0; l < lines_.size(); ++l) {
        const std::string& cell = lines_[l][c];
        out.width[c] = std::max(out.width[c], detail::characters(cell));
        if (l == 0 || cell.empty() || cell == "-") continue;
        (is_number(cell) ? number : other) = true;
      }
      out.right[c] = number && !other ? 1 : 0;
    }
    return out;
  }

  std::size_t columns_;
  std::vector<std::vector<std::string>> lines_{}; // the header first
  std::vector<std::size_t> rules_{};              // before which lines
};

} // namespace cairn::report
