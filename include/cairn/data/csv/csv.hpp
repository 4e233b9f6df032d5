// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/csv/csv_column.hpp>
#include <cairn/data/csv/csv_rows.hpp>
#include <cairn/data/number_of_text.hpp>
#include <cairn/data/text/read_text.hpp>

namespace cairn::detail {

// The place of each category, by its text.
class category_places {
public:
  explicit category_places(const std::vector<std::string>& categories) {
    for (const std::string& each : categories) sorted_.emplace_back(each, sorted_.size());
    std::sort(sorted_.begin(), sorted_.end());
  }
  std::size_t count() const { return sorted_.size(); }
  std::optional<std::size_t> of(std::string_view text) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair{text, std::size_t{0}});
    if (found == sorted_.end() || found->first != text) return {};
    return found->second;
  }

private:
  std::vector<std::pair<std::string_view, std::size_t>> sorted_;
};

} // namespace cairn::detail

namespace cairn::files {

// A table of text cells with named columns. Errors are a file_error with the file, the line and the column.
class csv_table {
public:
  csv_table(std::string text, types::csv_options how, std::string name)
      : how_(checked(std::move(how))), cells_(std::move(text), how_.separator, std::move(name)), first_(how_.header ? 1 : 0) {
    if (cells_.rows() == 0) throw file_error(cells_.name() + ": expected a line, found an empty file");
    for (std::size_t c = 0; c < cells_.columns(); ++c)
      names_.push_back(how_.header ? std::string(cells_.at(0, c)) : std::to_string(c));
    std::vector<std::string> sorted = names_;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw file_error(cells_.place(0) + ": expected another name for each column, found '" + *twice +
                       "' twice; csv_options{.header = false} is for a table without names");
  }

  std::size_t rows() const { return cells_.rows() - first_; }
  const std::vector<std::string>& names() const { return names_; }
  std::string_view cell(std::size_t row, std::string_view name) const { return cells_.at(row + first_, column(name)); }

  // (rows, numbers of the columns): those of a sample lie beside each other, in the order of the columns given here. T may be a
  // type of whole numbers. Missing values, and numbers that are not finite or that T cannot hold, are an error.
  template <class T = float>
    requires std::is_arithmetic_v<T>
  std::vector<T> numbers(std::span<const csv_column> columns) const {
    std::size_t width = 0;
    for (const csv_column& each : columns) width += each.width();
    std::vector<T> out(rows() * width);
    std::size_t from = 0;
    for (const csv_column& each : columns) {
      const std::size_t c = column(each.name());
      const detail::category_places places(each.categories());
      for (std::size_t row = 0; row < rows(); ++row) {
        T* const to = out.data() + row * width + from;
        if (each.has_categories()) to[place_of(row, c, places)] = T(1);
        else *to = number<T>(row, c, each.in_place_of_missing());
      }
      from += each.width();
    }
    return out;
  }
  template <class T = float>
    requires std::is_arithmetic_v<T>
  std::vector<T> numbers(std::initializer_list<csv_column> columns) const {
    return numbers<T>(std::span<const csv_column>(columns.begin(), columns.size()));
  }

  // The texts that a column has, sorted by their bytes, each once.
  std::vector<std::string> categories(std::string_view name) const {
    const std::size_t c = column(name);
    std::vector<std::string_view> found;
    for (std::size_t row = 0; row < rows(); ++row) found.push_back(cells_.at(row + first_, c));
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return {found.begin(), found.end()};
  }
  // (rows): the place of each cell's text among the categories, whose order is free. Another text is an error.
  template <std::integral T = std::int32_t>
  std::vector<T> indices(std::string_view name, const std::vector<std::string>& categories) const {
    const std::size_t c = column(name);
    const detail::category_places places(categories);
    std::vector<T> out(rows());
    for (std::size_t row = 0; row < rows(); ++row) out[row] = static_cast<T>(place_of(row, c, places));
    return out;
  }

private:
  static types::csv_options checked(types::csv_options how) {
    if (std::string_view("\"\r\n\0", 4).find(how.separator) != std::string_view::npos)
      throw input_error("read_csv: expected a separator such as ',', ';' or a tab, found one that ends a line or a cell");
    return how;
  }
  std::size_t column(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    std::string known;
    for (const std::string& each : names_) known += (known.empty() ? "'" : ", '") + each + "'";
    throw input_error(cells_.name() + ": expected the name of a column, one of " + known + ", found '" + std::string(name) + "'");
  }
  [[noreturn]] void refuse(std::size_t row, std::size_t c, const std::string& expected, const char* advice) const {
    const std::string_view found = cells_.at(row + first_, c);
    throw file_error(cells_.place(row + first_) + ", column '" + names_[c] + "': expected " + expected + ", found " +
                     (found.empty() ? std::string("nothing") : "'" + std::string(found.substr(0, 60)) + "'") + advice);
  }

  template <class T>
  T number(std::size_t row, std::size_t c, const std::optional<double>& in_place_of_missing) const {
    std::string_view text = cells_.at(row + first_, c);
    double value = 0;
    if (text.empty() || text == how_.missing) {
      if (!in_place_of_missing)
        refuse(row, c, "a number", "; csv_column(name, 0) puts a 0, or another number, in place of missing ones");
      value = *in_place_of_missing;
    } else {
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      std::string without_spaces; // a text that is read ends with a zero byte
      if (const std::size_t end = text.find_last_not_of(" \t") + 1; end < text.size())
        text = without_spaces = text.substr(0, end);
      if (!detail::read_number(text, value) || !std::isfinite(value))
        refuse(row, c, "a number", "; csv_options{.missing = \"NA\"} names a text that stands for missing values");
    }
    if constexpr (std::integral<T>) {
      // The limits of T as double may be rounded up: the upper one is not among its numbers then.
      constexpr double least = static_cast<double>(std::numeric_limits<T>::min());
      constexpr double above = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
      if (value != std::floor(value) || value < least || value >= above)
        refuse(row, c, "a whole number of " + std::to_string(8 * sizeof(T)) + " bits", "");
    } else if (std::abs(value) > static_cast<double>(std::numeric_limits<T>::max()))
      refuse(row, c, "a number of " + std::to_string(8 * sizeof(T)) + " bits", "");
    return static_cast<T>(value);
  }
  std::size_t place_of(std::size_t row, std::size_t c, const detail::category_places& places) const {
    const std::optional<std::size_t> found = places.of(cells_.at(row + first_, c));
    if (!found) refuse(row, c, "one of " + std::to_string(places.count()) + " categories", "; were they taken from all data?");
    return *found;
  }

  types::csv_options how_;
  detail::csv_rows cells_;
  std::size_t first_; // row of the table that has values
  std::vector<std::string> names_;
};

// A table from text; `name` is what errors call it.
inline csv_table parse_csv(std::string text, types::csv_options how = {}, std::string name = "the table") {
  return {std::move(text), std::move(how), std::move(name)};
}
// The same from a file, which is read whole:
//
//   const auto flowers = files::read_csv("iris.csv");
//   const auto kinds = flowers.categories("species");
//   tensor_dataset data{sample_array{shape{2}, flowers.numbers({"petal length", "petal width"})},
//                       sample_array{shape{}, flowers.indices("species", kinds)}};
inline csv_table read_csv(const std::string& path, types::csv_options how = {}) {
  return {text::read_text(path), std::move(how), path};
}

} // namespace cairn::files
