// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/rooms.hpp>

namespace cairn::types {

// How a table in text is written.
struct csv_options {
  char separator = ',';
  bool header = true;       // the first line names the columns; else their names are "0", "1", …
  std::string missing = ""; // stands for a missing value, beside an empty cell; such as "NA" or "?"
};

} // namespace cairn::types

namespace cairn::files {

// A column that becomes numbers: one as it is, or of categories one for each, 1 for that of the row and 0 for all others
// (one-hot).
class csv_column {
public:
  csv_column(std::string name) : name_(std::move(name)) {}
  csv_column(const char* name) : name_(name) {}
  // The value takes the place of missing ones, which are an error otherwise.
  csv_column(std::string name, double in_place_of_missing) : name_(std::move(name)), missing_(in_place_of_missing) {}
  csv_column(std::string name, std::vector<std::string> categories)
      : name_(std::move(name)), categories_(std::move(categories)), has_categories_(true) {}

  const std::string& name() const { return name_; }
  const std::optional<double>& in_place_of_missing() const { return missing_; }
  bool has_categories() const { return has_categories_; }
  const std::vector<std::string>& categories() const { return categories_; }
  std::size_t width() const { return has_categories_ ? categories_.size() : 1; }

private:
  std::string name_;
  std::optional<double> missing_;
  std::vector<std::string> categories_;
  bool has_categories_ = false;
};

} // namespace cairn::files
