// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/train/state/feature_order.hpp>
#include <cairn/train/state/weight_names.hpp>
#include <cairn/train/state/weights_in_files.hpp>

namespace cairn::detail {

// A weight of a network: the memory for its elements, their layout in a file, and the tensors that they may come from. Sources
// of another `parameter` are those of a second name of this one.
template <class T>
struct wanted_weight {
  std::string name;
  std::span<T> numbers;
  const tensor* facts = nullptr;
  const turned_features* features = nullptr;
  std::vector<weight_source> sources{};
};

// A tensor of a file as a matrix: its rows are the first extent, or the second one of a transposed matrix.
struct rows_of_tensor {
  std::size_t rows = 1, columns = 1;
  bool is_transposed = false;

  rows_of_tensor(const std::vector<std::uint64_t>& extents, bool transposed) : is_transposed(transposed && extents.size() == 2) {
    for (std::size_t a = 0; a < extents.size(); ++a)
      (a == (is_transposed ? 1U : 0U) ? rows : columns) *= static_cast<std::size_t>(extents[a]);
  }
};

// The tensors of a file by the names of a network, compared with those that the network has. Nothing is changed before take().
template <class T>
class weights_to_load {
public:
  weights_to_load(safetensors_file& file, const weights_options& options) : file_(&file), options_(&options) {
    check_renames(options);
    check_sources(options, "load_weights");
    for (const safetensors_entry& e : file.entries()) {
      if (!e.name.starts_with(options.from) || is_no_weight(e.name)) continue;
      const auto [there, is_new] = tensors_.try_emplace(renamed(e.name.substr(options.from.size()), options), found_tensor{&e});
      if (!is_new)
        throw file_error("load_weights: '" + file.path() + "': '" + e.name + "' and '" + there->second.entry->name +
                         "' are both '" + shown(there->first) + "' by the names that were asked for");
    }
  }

  // Adds a parameter or a buffer of the network.
  void want(wanted_weight<T> w) {
    if (!w.name.starts_with(options_->to)) return;
    w.sources = sources_of(w.name, *options_);
    wanted_.push_back(std::move(w));
  }
  // Adds a second name of a tied weight, as torch has both. A file may have the one, the other, or both if they are equal.
  void want_also(const std::string& second, const std::string& first) {
    const auto owner = std::find_if(wanted_.begin(), wanted_.end(), [&](const auto& w) { return w.name == first; });
    if (owner == wanted_.end()) return;
    for (weight_source& s : sources_of(second, *options_)) owner->sources.push_back(std::move(s));
  }

  void compare() {
    for (const wanted_weight<T>& w : wanted_) {
      const auto there = std::find_if(w.sources.begin(), w.sources.end(), [this](const auto& s) { return has(s); });
      if (there == w.sources.end()) {
        out_.missing.push_back(w.name + in_words(w, missing_of(w)));
        for (const weight_source& s : w.sources) use(s); // a part of them may be there
        continue;
      }
      const fit chosen = made_of(w, *there);
      use(*there);
      const auto wrong_type = std::find_if(chosen.parts.begin(), chosen.parts.end(),
                                           [](const safetensors_entry* e) { return !becomes_real(e->type); });
      if (!has_right_shape(chosen)) out_.of_another_shape.push_back(w.name + different_shapes(chosen));
      else if (wrong_type != chosen.parts.end())
        out_.of_another_type.push_back(w.name + in_words(w, there->tensors[index(chosen.parts, wrong_type)]) + " is of " +
                                       (*wrong_type)->type);
      else {
        fits_.push_back(chosen);
        out_.taken.push_back(w.name);
      }
    }
    for (const fit& chosen : fits_) compare_others(chosen);
    for (const auto& [name, found] : tensors_)
      if (!found.is_used) (is_among(options_->ignored, name) ? out_.ignored : out_.unexpected).push_back(shown(name));
  }

  loaded_weights& report() { return out_; }
  std::size_t fits() const { return fits_.size(); }
  bool wants_none() const { return wanted_.empty(); }

  // Reads everything before the first element is changed, so that neither a damaged disk nor lack of memory leaves a part.
  void take() {
    std::size_t all = 0, most = 0;
    for (const fit& f : fits_) {
      all += f.weight->numbers.size();
      most = std::max(most, f.weight->numbers.size());
    }
    std::vector<T> ready(all), some(most);
    std::size_t at = 0;
    for (const fit& f : fits_) {
      const std::span<T> found(some.data(), f.weight->numbers.size());
      read(f, found);
      turn_weight(std::as_bytes(found), std::as_writable_bytes(std::span<T>(ready.data() + at, found.size())).data(), sizeof(T),
                  *f.weight->facts, f.weight->features, order::of_memory);
      at += found.size();
    }
    at = 0;
    for (const fit& f : fits_) {
      std::copy_n(ready.data() + at, f.weight->numbers.size(), f.weight->numbers.data());
      at += f.weight->numbers.size();
    }
  }

private:
  struct found_tensor {
    const safetensors_entry* entry = nullptr;
    bool is_used = false;
  };
  struct fit {
    const wanted_weight<T>* weight = nullptr;
    const weight_source* source = nullptr;
    std::vector<const safetensors_entry*> parts;
  };

  template <class List>
  static std::size_t index(const List& list, typename List::const_iterator at) {
    return static_cast<std::size_t>(at - list.begin());
  }
  static bool becomes_real(const std::string& type) { return type == "F32" || type == "F64" || type == "F16" || type == "BF16"; }
  bool has(const weight_source& s) const {
    return std::all_of(s.tensors.begin(), s.tensors.end(), [this](const std::string& name) { return tensors_.contains(name); });
  }
  void use(const weight_source& s) {
    for (const std::string& name : s.tensors)
      if (const auto found = tensors_.find(name); found != tensors_.end()) found->second.is_used = true;
  }
  fit made_of(const wanted_weight<T>& w, const weight_source& s) const {
    fit out{&w, &s, {}};
    for (const std::string& name : s.tensors) out.parts.push_back(tensors_.find(name)->second.entry);
    return out;
  }

  // Names of the file in errors. Where no sources are given, they are those of the network.
  std::string shown(const std::string& name) const { return (options_->sources.empty() ? options_->to : "") + name; }
  std::string in_words(const wanted_weight<T>& w, const std::string& tensors) const {
    return shown(tensors) == w.name ? "" : " (from " + tensors + ")";
  }
  std::string missing_of(const wanted_weight<T>& w) const {
    std::string out;
    for (const weight_source& s : w.sources) {
      if (s.parameter != w.name) continue;
      std::string some;
      for (const std::string& name : s.tensors)
        if (!tensors_.contains(name)) some += (some.empty() ? "" : " + ") + name;
      out += (out.empty() ? "" : " or ") + some;
    }
    return out;
  }

  bool has_right_shape(const fit& f) const {
    const std::vector<std::uint64_t> expected = extents_in_files(*f.weight->facts);
    const bool is_whole = f.parts.size() == 1 && !f.source->first_row;
    std::uint64_t rows = 0;
    for (const safetensors_entry* e : f.parts) {
      std::vector<std::uint64_t> found = e->extents;
      if (found.size() != expected.size() || (found.empty() && !is_whole)) return false;
      if (f.source->transposed && found.size() == 2) std::swap(found[0], found[1]);
      if (is_whole) return found == expected;
      if (!std::equal(found.begin() + 1, found.end(), expected.begin() + 1)) return false;
      rows += found[0];
    }
    if (!f.source->first_row) return rows == expected[0];
    return *f.source->first_row <= rows && expected[0] <= rows - *f.source->first_row;
  }
  std::string different_shapes(const fit& f) const {
    std::vector<std::uint64_t> expected = extents_in_files(*f.weight->facts);
    std::string out;
    if (f.source->transposed && expected.size() == 2) {
      std::swap(expected[0], expected[1]);
      out += " transposed";
    }
    out += " " + in_brackets(expected);
    if (f.source->first_row) out += " from row " + std::to_string(*f.source->first_row);
    for (std::size_t i = 0; i < f.parts.size(); ++i) {
      const std::string& name = f.source->tensors[i];
      out += (i == 0 ? ", found " : " + ") + (shown(name) == f.weight->name ? "" : name + " ") + in_brackets(f.parts[i]->extents);
    }
    return out;
  }

  // Reads the elements of a weight, in the order of files.
  void read(const fit& f, std::span<T> to) {
    std::vector<T> whole;
    for (const safetensors_entry* e : f.parts) {
      const rows_of_tensor m(e->extents, f.source->transposed);
      const std::size_t first = f.source->first_row.value_or(0);
      const std::size_t rows = f.source->first_row ? to.size() / std::max<std::size_t>(m.columns, 1) : m.rows;
      const std::span<T> part = to.first(rows * m.columns);
      to = to.subspan(part.size());
      if (rows == m.rows && !m.is_transposed) {
        file_->read(*e, part);
        continue;
      }
      whole.resize(m.rows * m.columns);
      file_->read(*e, std::span<T>(whole));
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < m.columns; ++c)
          part[r * m.columns + c] = whole[m.is_transposed ? c * m.rows + first + r : (first + r) * m.columns + c];
    }
  }

  // Other sources of a weight that the file has too must have the same elements.
  void compare_others(const fit& chosen) {
    for (const weight_source& s : chosen.weight->sources) {
      if (&s == chosen.source || !has(s)) continue;
      const bool is_new = std::any_of(s.tensors.begin(), s.tensors.end(),
                                      [this](const std::string& name) { return !tensors_.find(name)->second.is_used; });
      if (!is_new) continue;
      const fit other = made_of(*chosen.weight, s);
      const bool are_equal = has_right_shape(other) && has_same_elements(chosen, other);
      const std::string why =
          s.parameter == chosen.weight->name ? " (another source of " + chosen.weight->name : " (tied to " + chosen.weight->name;
      for (const std::string& name : s.tensors)
        if (!std::exchange(tensors_.find(name)->second.is_used, true) && !are_equal)
          out_.unexpected.push_back(shown(name) + why + ", and has other numbers)");
    }
  }
  bool has_same_elements(const fit& a, const fit& b) {
    if (!std::all_of(b.parts.begin(), b.parts.end(), [](const safetensors_entry* e) { return becomes_real(e->type); }))
      return false;
    std::vector<T> of_a(a.weight->numbers.size()), of_b(of_a.size());
    read(a, of_a);
    read(b, of_b);
    const auto bytes_of_a = std::as_bytes(std::span<const T>(of_a)), bytes_of_b = std::as_bytes(std::span<const T>(of_b));
    return std::equal(bytes_of_a.begin(), bytes_of_a.end(), bytes_of_b.begin());
  }

  safetensors_file* file_;
  const weights_options* options_;
  std::map<std::string, found_tensor, std::less<>> tensors_; // by the names that sources have
  std::vector<wanted_weight<T>> wanted_;
  std::vector<fit> fits_;
  loaded_weights out_;
};

} // namespace cairn::detail
