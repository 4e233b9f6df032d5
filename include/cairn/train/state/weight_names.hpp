// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>

namespace cairn {

// What load_weights() takes: everything, or what fits.
enum class weights { all, partly };

// How load_weights() reads a file whose names are not those of the network:
//
//   load_weights(net, "resnet.safetensors", {.from = "backbone.", .to = "0.",
//                                            .rename = {{"conv1", "0"}, {"layer*.*.bn1", "*.*.0.1"}, {"fc", "7"}}});
struct weights_options {
  weights how = weights::all;
  std::string from{}; // the file's names that begin so are read, without this; others are left alone
  std::string to{};   // the network's names that begin so are meant, as if it were this part alone; others are left alone
  // The beginning of a name and what stands in its place, in whole words between dots: {"fc", "7"} makes "fc.weight"
  // "7.weight". A * is any text without a dot, and the same text in the new name. The first pair that fits a name counts.
  std::vector<std::pair<std::string, std::string>> rename{};
  // Matrices that the file has as (in, out), by the beginnings of their names in the network, and a * as above.
  std::vector<std::string> transposed{};
};

// What a file and a network do not share, by name. Where `missing`, `of_another_shape` and `of_another_type` are empty, every
// parameter and buffer has come from the file.
struct loaded_weights {
  std::vector<std::string> missing;          // the network has them, the file has not
  std::vector<std::string> unexpected;       // the file has them, the network has not
  std::vector<std::string> of_another_shape; // "0.weight (10, 784), found (784, 10)"
  std::vector<std::string> of_another_type;  // "0.weight is of I32", which does not become the network's numbers
  std::vector<std::string> taken;            // everything else, by the network's names
  bool has_old_names = false;                // the file names its tensors as earlier versions of Cairn did

  bool is_all() const { return missing.empty() && unexpected.empty() && of_another_shape.empty() && of_another_type.empty(); }
  std::string text() const {
    std::string out;
    const auto add = [&out](const char* what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      out += std::string(out.empty() ? "" : "; ") + what;
      for (const std::string& name : names) out += (&name == names.data() ? " " : ", ") + name;
    };
    add("missing:", missing);
    add("unexpected:", unexpected);
    add("of another shape:", of_another_shape);
    add("of another type:", of_another_type);
    if (has_old_names) out += std::string(out.empty() ? "" : "; ") + "its names are those of an earlier version of Cairn";
    return out;
  }
};

namespace detail {

// What the *s of a pattern stand for if a name begins with it, and the rest of the name; nothing if it does not.
struct matched_name {
  std::vector<std::string> words;
  std::string_view rest;
};
inline std::optional<matched_name> match_name(std::string_view pattern, std::string_view name) {
  matched_name out;
  const bool ends_word = pattern.ends_with('.');
  while (!pattern.empty()) {
    if (pattern.front() != '*') {
      if (name.empty() || name.front() != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      name.remove_prefix(1);
      continue;
    }
    pattern.remove_prefix(1);
    // As much as leaves the rest of the word to the rest of the pattern.
    const std::size_t word = std::min(name.find('.'), name.size());
    for (std::size_t length = word + 1; length-- > 0;) {
      std::optional<matched_name> rest = match_name(pattern, name.substr(length));
      if (!rest || length == 0) continue;
      rest->words.insert(rest->words.begin(), std::string(name.substr(0, length)));
      rest->words.insert(rest->words.begin(), out.words.begin(), out.words.end());
      return rest;
    }
    return std::nullopt;
  }
  if (!name.empty() && name.front() != '.' && !ends_word) return std::nullopt; // in the middle of a word
  out.rest = name;
  return out;
}

inline std::size_t stars_of(std::string_view text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '*')); }

// The network's name of a tensor that the file calls so.
inline std::string renamed(const std::string& name, const weights_options& options) {
  for (const auto& [pattern, to] : options.rename) {
    const std::optional<matched_name> found = match_name(pattern, name);
    if (!found) continue;
    std::string out;
    std::size_t next = 0;
    for (const char c : to)
      if (c == '*') out += found->words[next++];
      else out += c;
    const bool is_first = out.empty() && found->rest.starts_with('.');
    return out.append(found->rest.substr(is_first ? 1 : 0));
  }
  return name;
}

inline bool is_transposed(const std::string& name, const weights_options& options) {
  return std::any_of(options.transposed.begin(), options.transposed.end(),
                     [&](const std::string& pattern) { return match_name(pattern, name).has_value(); });
}

inline void check_renames(const weights_options& options) {
  for (const auto& [from, to] : options.rename) {
    if (from.empty()) throw input_error("load_weights: rename: expected the beginning of a name, found an empty text");
    if (stars_of(to) > stars_of(from))
      throw input_error("load_weights: rename: '" + to + "' has more * than '" + from + "', which says what they stand for");
  }
}

} // namespace detail

} // namespace cairn
