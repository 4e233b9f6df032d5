// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn {

// The tensors that load_weights() takes: all of them, or those that fit.
enum class weights { all, partly };

} // namespace cairn

namespace cairn::types {

// A parameter or a buffer of a network: its name, its extents in files, and the name of the parameter whose elements it has, if
// that is another layer's, as with Tied.
struct weight_shape {
  std::string name;
  std::vector<std::uint64_t> extents{};
  std::string tied_to{};
};

// The tensors of a file that a parameter or a buffer of a network is made of:
//
//   {.parameter = "0.weight", .tensors = {"word_embeddings.weight"}}                               // another name
//   {.parameter = "1.weight", .tensors = {"position_embeddings.weight"}, .first_row = 0}           // rows of a longer tensor
//   {.parameter = "2.*.fc", .tensors = {"h.*.mlp.c_fc"}, .transposed = true}                       // (in, out) in the file
//   {.parameter = "3.in_proj_weight", .tensors = {"query.weight", "key.weight", "value.weight"}}   // rows of three tensors
//
// A * in `parameter` matches any text without a dot, and stands for the same text in `tensors`. `parameter` may be the beginning
// of a name, in whole words between dots; what follows it is then appended to the names of the tensors.
struct weight_source {
  std::string parameter;
  std::vector<std::string> tensors{};     // the rows (the first extent) of several tensors follow one another
  bool transposed = false;                // matrices are (in, out) in the file; tensors of other ranks are not affected
  std::optional<std::size_t> first_row{}; // of one tensor: the parameter is its rows from this one on, and it may have more
};

// Options of load_weights() for files whose names are not those of the network:
//
//   load_weights(net, "resnet.safetensors", {.from = "backbone.", .to = "0.",
//                                            .rename = {{"conv1", "0"}, {"layer*.*.bn1", "*.*.0.1"}, {"fc", "7"}}});
struct weights_options {
  weights how = weights::all;
  std::string from{}; // a prefix of names in the file, which is removed; names without it are left alone
  std::string to{};   // a prefix of names in the network: only this part of it is loaded
  // Prefixes of names and their replacements, in whole words between dots: {"fc", "7"} renames "fc.weight" to "7.weight".
  // A * matches any text without a dot, and stands for the same text in the new name. The first pair that fits a name counts.
  std::vector<std::pair<std::string, std::string>> rename{};
  // Matrices that the file has as (in, out), by prefixes of their names in the network, with * as above.
  std::vector<std::string> transposed{};
  // The sources of parameters, in names of the file after `from` and `rename`. If several fit a parameter, the first whose
  // tensors are all in the file counts, and the tensors of the others must be absent, used elsewhere, or equal. A parameter that
  // no source fits has its own name in the file.
  std::vector<weight_source> sources{};
  // Tensors of the file that are left out on purpose, by prefixes of their names after `from` and `rename`, with * as above.
  std::vector<std::string> ignored{};
};

// The differences between a file and a network, by name. If `missing`, `of_another_shape` and `of_another_type` are empty, every
// parameter and buffer has come from the file.
struct loaded_weights {
  std::vector<std::string> missing;          // in the network, but not in the file
  std::vector<std::string> unexpected;       // in the file, but not in the network
  std::vector<std::string> of_another_shape; // "0.weight (10, 784), found (784, 10)"
  std::vector<std::string> of_another_type;  // "0.weight is of I32", which is not converted to the network's type
  std::vector<std::string> taken;            // everything else, by the network's names
  std::vector<std::string> ignored;          // in the file, and left out on purpose
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

} // namespace cairn::types

namespace cairn::detail {

// The texts that the *s of a pattern stand for, and the rest of the name. match_name() returns nullopt unless a name begins with
// the pattern.
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
    // The longest match after which the rest of the pattern still fits.
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

// The new name of a name that matches a pattern: `to` with the words of the *s, then the rest of the name.
inline std::string replaced(const matched_name& found, std::string_view to) {
  std::string out;
  std::size_t next = 0;
  for (const char c : to)
    if (c == '*') out += found.words[next++];
    else out += c;
  const bool is_first = out.empty() && found.rest.starts_with('.');
  return out.append(found.rest.substr(is_first ? 1 : 0));
}

// The network's name of a tensor with this name in the file.
inline std::string renamed(const std::string& name, const weights_options& options) {
  for (const auto& [pattern, to] : options.rename)
    if (const std::optional<matched_name> found = match_name(pattern, name)) return replaced(*found, to);
  return name;
}

// Whether a name begins with one of the patterns.
inline bool is_among(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return match_name(pattern, name).has_value(); });
}

// The sources of a parameter, the preferred one first. Without a rule for it that is the tensor of its own name, without the
// prefix `to`.
inline std::vector<weight_source> sources_of(const std::string& name, const weights_options& options) {
  const bool other_way = is_among(options.transposed, name);
  std::vector<weight_source> out;
  for (const weight_source& rule : options.sources) {
    const std::optional<matched_name> found = match_name(rule.parameter, name);
    if (!found) continue;
    out.push_back({name, {}, rule.transposed || other_way, rule.first_row});
    for (const std::string& tensor : rule.tensors) out.back().tensors.push_back(replaced(*found, tensor));
  }
  if (out.empty()) out.push_back({name, {name.starts_with(options.to) ? name.substr(options.to.size()) : name}, other_way, {}});
  return out;
}

// Refuses options that mean nothing. `caller` begins the error.
inline void check_sources(const weights_options& options, const std::string& caller) {
  for (const weight_source& rule : options.sources) {
    const auto refuse = [&](const std::string& what) {
      throw input_error(caller + ": the source of '" + rule.parameter + "': " + what);
    };
    if (rule.parameter.empty()) refuse("expected the beginning of a parameter's name, found an empty text");
    if (rule.tensors.empty()) refuse("expected the names of one tensor or more, found none");
    if (rule.first_row && rule.tensors.size() > 1)
      refuse("expected one tensor to take rows from, found " + std::to_string(rule.tensors.size()) + "; leave out first_row");
    for (const std::string& tensor : rule.tensors) {
      if (tensor.empty()) refuse("expected the name of a tensor, found an empty text");
      if (stars_of(tensor) > stars_of(rule.parameter))
        refuse("'" + tensor + "' has more * than the parameter, which says what they stand for");
    }
  }
}
inline void check_renames(const weights_options& options) {
  for (const auto& [from, to] : options.rename) {
    if (from.empty()) throw input_error("load_weights: rename: expected the beginning of a name, found an empty text");
    if (stars_of(to) > stars_of(from))
      throw input_error("load_weights: rename: '" + to + "' has more * than '" + from + "', which says what they stand for");
  }
}

} // namespace cairn::detail
