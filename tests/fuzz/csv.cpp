// SPDX-License-Identifier: MIT
// CSV: bytes and a file of the same bytes are read alike, and the cells, written in quotes, are read as they were.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <cairn/data/csv/csv.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

std::string in_quotes(std::string_view cell) {
  std::string out = "\"";
  for (const char c : cell) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}
std::string written(const files::csv_table& table) {
  std::string out;
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t column = 0; column < table.names().size(); ++column)
      out += in_quotes(table.cell(row, table.names()[column])) + (column + 1 < table.names().size() ? "," : "\n");
  return out;
}

} // namespace

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t> bytes) {
  const types::csv_options how{.header = false};
  std::optional<files::csv_table> table, same, again;
  const bool is_read = reads(path, [&] { table = files::parse_csv({bytes.begin(), bytes.end()}, how, path); });
  require(is_read == reads(path, [&] { same = files::read_csv(path, how); }), "a file is read if and only if its bytes are");
  if (!is_read) return;
  const std::string text = written(*table);
  require(text == written(*same), "a file gives what its bytes give");
  require(reads(path, [&] { again = files::parse_csv(text, how, path); }), "what was written is read");
  require(text == written(*again), "what was written is read as it was");
  reads(path, [&] { table->numbers<double>({"0"}); });
}

void fuzzing::write_seeds(const std::string& folder) {
  write_seed(folder + "plain", "a,b\n1,2\n3,4\n");
  write_seed(folder + "quoted", "\"a,b\",\"c \"\"d\"\"\"\r\n\"1\n2\",-1.5e3\r\n");
  write_seed(folder + "marked", "\xEF\xBB\xBF"
                                "1\n\n2\n");
  write_seed(folder + "wrong", "a,b\n1\n");
}
