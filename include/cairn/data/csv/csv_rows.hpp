// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>

namespace cairn::detail {

// The cells of a table in text, row after row: RFC 4180 (2005), with any separator, lines that end with \n or \r\n, a byte order
// mark that is skipped, and empty lines that are left out. They are unquoted where the text is: memory is that of the text, and
// one number for each cell.
class csv_rows {
public:
  // Throws file_error, which names the file and the line, for quotes that do not end and rows of different lengths.
  csv_rows(std::string text, char separator, std::string name)
      : text_(std::move(text)), separator_(separator), name_(std::move(name)) {
    if (text_.empty() || text_.back() != '\n') text_ += '\n'; // so that there is room for a zero byte behind the last cell
    if (text_.starts_with("\xEF\xBB\xBF")) from_ = 3;
    while (from_ < text_.size())
      if (!skip_empty_line()) read_row();
    text_.resize(to_);
  }

  std::size_t rows() const { return lines_.size(); }
  std::size_t columns() const { return columns_; }
  // A zero byte follows the cell.
  std::string_view at(std::size_t row, std::size_t column) const {
    const std::size_t cell = row * columns_ + column, begin = cell == 0 ? 0 : ends_[cell - 1] + 1;
    return std::string_view(text_).substr(begin, ends_[cell] - begin);
  }
  // "FILE, line 7", the line with which a row begins.
  std::string place(std::size_t row) const { return name_ + ", line " + std::to_string(lines_[row]); }
  const std::string& name() const { return name_; }

private:
  bool ends_line() const { return text_[from_] == '\n' || (text_[from_] == '\r' && text_[from_ + 1] == '\n'); }
  bool skip_empty_line() {
    if (!ends_line()) return false;
    end_line();
    return true;
  }
  void end_line() {
    from_ += text_[from_] == '\r' ? 2 : 1;
    ++line_;
  }

  void read_row() {
    const std::size_t line = line_, before = ends_.size();
    for (bool goes_on = true; goes_on;) {
      if (text_[from_] == '"') read_quoted();
      else
        while (text_[from_] != separator_ && !ends_line()) text_[to_++] = text_[from_++];
      goes_on = text_[from_] == separator_;
      if (goes_on) ++from_;
      else end_line();
      ends_.push_back(to_);
      text_[to_++] = '\0';
    }
    const std::size_t cells = ends_.size() - before;
    if (lines_.empty()) columns_ = cells;
    lines_.push_back(line);
    if (cells != columns_)
      throw file_error(place(rows() - 1) + ": expected " + std::to_string(columns_) + " cells, as line " +
                       std::to_string(lines_[0]) + " has, found " + std::to_string(cells) + "; is '" + separator_ +
                       "' the separator, and is each cell that contains it in quotes?");
  }

  void read_quoted() {
    const std::size_t line = line_;
    for (++from_;; text_[to_++] = text_[from_++]) {
      if (from_ + 1 >= text_.size()) // the last byte is an end of line
        throw file_error(name_ + ", line " + std::to_string(line) +
                         ": expected a '\"' that ends the cell, found the end of the file");
      if (text_[from_] == '\n') ++line_;
      if (text_[from_] == '"' && text_[++from_] != '"') break;
    }
    if (text_[from_] != separator_ && !ends_line())
      throw file_error(name_ + ", line " + std::to_string(line_) + ": expected '" + separator_ +
                       "' or the end of the line after the '\"' that ends a cell; a '\"' in such a cell is written twice");
  }

  std::string text_; // a zero byte behind each cell
  char separator_;
  std::string name_;
  std::vector<std::size_t> ends_, lines_; // of cells; of rows
  std::size_t columns_ = 0;
  std::size_t from_ = 0, to_ = 0, line_ = 1; // while it is read
};

} // namespace cairn::detail
