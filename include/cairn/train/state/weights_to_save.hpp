// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/safetensors_header.hpp>
#include <cairn/train/state/weight_names.hpp>
#include <cairn/train/state/weights_in_files.hpp>

namespace cairn::detail {

// The tensors of a file that load_weights() would read with the same options: the reverse of their sources. The rows of a
// parameter that has several tensors are divided equally; parameters that are rows of one tensor are put together.
class weights_to_save {
public:
  explicit weights_to_save(const weights_options& options) : options_(options) { check_sources(options, "save_weights"); }

  // Adds a weight, whose bytes are in the order of files and stay there. `element`: the bytes of one element.
  void add(const std::string& name, const char* type, const std::vector<std::uint64_t>& extents, std::span<const std::byte> bytes,
           std::size_t element) {
    if (!name.starts_with(options_.to)) return;
    const weight_source source = sources_of(name, options_).front();
    const std::size_t parts = source.tensors.size(), all = extents.empty() ? 1 : static_cast<std::size_t>(extents[0]);
    if (all % parts != 0)
      throw input_error("save_weights: expected rows of '" + name + "' for " + std::to_string(parts) +
                        " tensors of equal size, " + "found " + std::to_string(all) + " rows");
    for (std::size_t i = 0; i < parts; ++i) {
      const auto [at, is_new] = tensors_.try_emplace(options_.from + source.tensors[i]);
      tensor_to_save& to = at->second;
      if (is_new) to = {type, extents, element, source.transposed && extents.size() == 2, {}};
      else if (!have_equal_rows(to.extents, extents) || to.is_transposed != (source.transposed && extents.size() == 2))
        throw input_error("save_weights: '" + to.pieces[0].parameter + "' " + in_brackets(to.extents) + " and '" + name + "' " +
                          in_brackets(extents) + " would both be in '" + at->first + "', and have rows of other shapes");
      const std::size_t size = bytes.size() / parts;
      to.pieces.push_back({name, source.first_row.value_or(0), all / parts, bytes.subspan(i * size, size)});
    }
  }

  // All tensors. They point to the bytes that were given, or to memory of this object.
  std::vector<safetensors_source> tensors() {
    std::vector<safetensors_source> out;
    for (auto& [name, t] : tensors_) {
      check_rows(name, t);
      const std::span<const std::byte> bytes = bytes_of(t);
      if (t.is_transposed) std::swap(t.extents[0], t.extents[1]);
      out.push_back({name, t.type, t.extents, bytes});
    }
    return out;
  }

private:
  struct piece {
    std::string parameter;
    std::size_t first = 0, rows = 0;
    std::span<const std::byte> bytes;
  };
  struct tensor_to_save {
    const char* type = nullptr;
    std::vector<std::uint64_t> extents;
    std::size_t element = 0;
    bool is_transposed = false;
    std::vector<piece> pieces;
  };

  static bool have_equal_rows(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    return a.size() == b.size() && !a.empty() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
  }

  // The pieces of a tensor must be all its rows, each of them once.
  static void check_rows(const std::string& name, tensor_to_save& t) {
    std::sort(t.pieces.begin(), t.pieces.end(), [](const piece& a, const piece& b) { return a.first < b.first; });
    std::size_t rows = 0;
    for (std::size_t i = 0; i < t.pieces.size(); ++i) {
      const piece& p = t.pieces[i];
      if (p.first < rows)
        throw input_error("save_weights: row " + std::to_string(p.first) + " of '" + name + "' would be from '" +
                          t.pieces[i - 1].parameter + "' and from '" + p.parameter + "'");
      if (p.first > rows)
        throw input_error("save_weights: expected a parameter for row " + std::to_string(rows) + " of '" + name +
                          "', found none before '" + p.parameter + "', which begins at row " + std::to_string(p.first));
      rows += p.rows;
    }
    if (!t.extents.empty()) t.extents[0] = rows;
  }

  std::span<const std::byte> bytes_of(const tensor_to_save& t) {
    if (t.pieces.size() == 1 && !t.is_transposed) return t.pieces[0].bytes;
    std::vector<std::byte> all;
    for (const piece& p : t.pieces) all.insert(all.end(), p.bytes.begin(), p.bytes.end());
    if (t.is_transposed) {
      const std::size_t rows = static_cast<std::size_t>(t.extents[0]), columns = static_cast<std::size_t>(t.extents[1]);
      std::vector<std::byte> turned(all.size());
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
          std::memcpy(turned.data() + (c * rows + r) * t.element, all.data() + (r * columns + c) * t.element, t.element);
      all = std::move(turned);
    }
    return copies_.emplace_back(std::move(all));
  }

  const weights_options& options_;
  std::map<std::string, tensor_to_save> tensors_;
  std::deque<std::vector<std::byte>> copies_;
};

} // namespace cairn::detail
