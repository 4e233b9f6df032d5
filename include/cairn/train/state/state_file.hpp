// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/state/buffers_of_others.hpp>
#include <cairn/train/state/safetensors.hpp>
#include <cairn/train/state/same_run.hpp>
#include <cairn/train/state/training_state.hpp>

namespace cairn::detail {

// The position of a job in a saved state.
struct saved_place {
  loader_place next; // the batch that is read next
  state_notes notes;
  training_state trainer; // as it was saved
};

} // namespace cairn::detail

namespace cairn::types {

// Differences that load_state() accepts.
struct state_options {
  bool other_settings = false;   // other settings of loss, optimizer, clipping, loss scaling or schedule, on purpose
  bool other_dataset = false;    // another one with as many samples, on purpose
  std::size_t micro_batches = 1; // in each step of this job, if fit() does not set them: ranks x micro-batches have to be those
                                 // of the saved run
};

} // namespace cairn::types

namespace cairn::detail {

// Metadata of a state: texts, numbers as decimal digits, and doubles by their bits, so that they are restored exactly.
class state_words {
public:
  // `whose` begins every error.
  explicit state_words(std::map<std::string, std::string> words = {}, std::string whose = "load_state: ")
      : words_(std::move(words)), whose_(std::move(whose)) {}

  const std::map<std::string, std::string>& all() const { return words_; }
  void set(const std::string& name, std::string text) { words_[name] = std::move(text); }
  void set(const std::string& name, std::uint64_t number) { words_[name] = std::to_string(number); }
  void set_bits(const std::string& name, double number) {
    words_[name] = hexadecimal(std::bit_cast<std::uint64_t>(number)) + " " + shortest_text(number);
  }

  bool has(const std::string& name) const { return words_.contains(name); }
  const std::string& text(const std::string& name) const {
    const auto found = words_.find(name);
    if (found == words_.end()) fail("it has no '" + name + "'");
    return found->second;
  }
  [[noreturn]] void fail(const std::string& what) const { throw file_error(whose_ + what); }
  std::uint64_t number(const std::string& name) const { return parsed(name, text(name), 10); }
  double bits(const std::string& name) const {
    return std::bit_cast<double>(parsed(name, std::string_view(text(name)).substr(0, 16), 16));
  }

  // Packs all words into one text, each after its length; unpacked() is the inverse. Rejected: JSON, whose tree allocates when
  // it is destroyed, and without memory ends the process.
  std::string packed() const {
    std::string out;
    for (const auto& [name, text] : words_)
      for (const std::string* word : {&name, &text}) out.append(std::to_string(word->size())).append(":").append(*word);
    return out;
  }
  static state_words unpacked(std::string_view text) {
    const auto next = [&text] {
      std::size_t size = 0;
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), size);
      const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;
      if (fault != std::errc{} || begin > text.size() || size > text.size() - begin || *end != ':')
        throw file_error("load_state: the words that rank 0 sent are damaged");
      std::string out(text.substr(begin, size));
      text.remove_prefix(begin + size);
      return out;
    };
    std::map<std::string, std::string> words;
    while (!text.empty()) {
      std::string& value = words[next()];
      value = next();
    }
    return state_words(std::move(words));
  }

  static std::string hexadecimal(std::uint64_t number) {
    std::string out(16, '0');
    for (std::size_t i = 16; i-- > 0; number >>= 4) out[i] = "0123456789abcdef"[number & 15U];
    return out;
  }

private:
  std::uint64_t parsed(const std::string& name, std::string_view text, int base) const {
    std::uint64_t out = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    if (fault != std::errc{} || end != text.data() + text.size())
      throw file_error(whose_ + "expected a number as '" + name + "', found '" + std::string(text) + "'");
    return out;
  }

  std::map<std::string, std::string> words_;
  std::string whose_;
};

inline constexpr const char *state_mark = "cairn state", *checksum_mark = "checksum", *checksum_of = "checksum of ",
                            *note_mark = "note ", *version_mark = "version";

// The format of a state, which is written with it. Format 2 has every setting of the run and the buffers of every rank. Format 3
// has the state of loss scaling too; a run without it is still written as format 2, which earlier versions read.
inline constexpr std::uint64_t state_format = 3, state_format_unscaled = 2;

// Whether the run scales its loss, or did so in an earlier part.
inline bool is_scaled(const training_state& s) { return s.loss_scale != loss_scale_state{}; }
inline void write_loss_scale(state_words& words, const loss_scale_state& s) {
  words.set_bits("loss scale", s.scale);
  words.set("steps since the loss scale changed", s.growth_tracker);
  words.set("skipped updates", s.skipped);
  words.set("skipped updates in a row", s.in_a_row);
}
inline loss_scale_state loss_scale_in(const state_words& words) {
  if (!words.has("loss scale")) return {};
  loss_scale_state s{words.bits("loss scale"), words.number("steps since the loss scale changed"),
                     words.number("skipped updates"), words.number("skipped updates in a row")};
  if (!(s.scale >= 0 && s.scale <= std::numeric_limits<float>::max()))
    words.fail("expected a loss scale of 0 or more, found " + shortest_text(s.scale));
  return s;
}

inline constexpr std::array<std::uint64_t, 3> own_version{CAIRN_VERSION_MAJOR, CAIRN_VERSION_MINOR, CAIRN_VERSION_PATCH};
inline std::string text_of_version(const std::array<std::uint64_t, 3>& v) {
  return std::to_string(v[0]) + "." + std::to_string(v[1]) + "." + std::to_string(v[2]);
}
// Returns nullopt if the text is not a version.
inline std::optional<std::array<std::uint64_t, 3>> version_of(std::string_view text) {
  std::array<std::uint64_t, 3> out{};
  const char *at = text.data(), *const end = at + text.size();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto [next, fault] = std::from_chars(at, end, out[i]);
    if (fault != std::errc{} || (i + 1 < out.size() ? next == end || *next != '.' : next != end)) return std::nullopt;
    at = next + 1;
  }
  return out;
}

// The checksum of the header: metadata, and the names, types and shapes of tensors. It covers neither the tensors' data, as each
// tensor has its own checksum, nor itself.
template <class Tensors>
std::uint64_t checksum_of_header(const std::map<std::string, std::string>& metadata, const Tensors& tensors) {
  std::map<std::string, std::string> lines;
  for (const auto& t : tensors) {
    std::string& line = lines[t.name];
    line = t.type;
    for (const std::uint64_t extent : t.extents) line.append(" ").append(std::to_string(extent));
  }
  std::string all;
  for (const std::map<std::string, std::string>* part : {&metadata, &std::as_const(lines)})
    for (const auto& [name, text] : *part)
      if (name != checksum_mark)
        for (const std::string* word : {&name, &text}) all.append(std::to_string(word->size())).append(":").append(*word);
  return quick_checksum(std::as_bytes(std::span{all}));
}

// Every tensor of a trainer, in the host's memory or, if it is permuted to the order of files, as a copy in `bytes`. Parameters
// and buffers have their own names, so that load_weights() and PyTorch find them; then come the optimizer's states, as
// "optimizer/0/0.weight".
template <class Weights>
std::vector<safetensors_source> state_tensors(Weights& all, const feature_orders& orders, file_bytes& bytes) {
  std::vector<safetensors_source> out;
  const auto add = [&](std::string name, const auto& q) {
    using number = typename decltype(q.numbers)::value_type;
    out.push_back({std::move(name), safetensors_type_of<number>, extents_in_files(*q.facts),
                   bytes.of(q.numbers, *q.facts, orders.of(q.leaf, q.facts))});
  };
  const auto add_weight = [&](const auto& q) { add(q.name, q); };
  for_all_weights(all, add_weight);
  for (std::size_t i = 0; i < all.states(); ++i) {
    const auto add_state = [&](const auto& q) { add(std::string(optimizer_prefix) + std::to_string(i) + "/" + q.name, q); };
    all.for_each_of_state(i, add_state);
  }
  return out;
}

template <class Trainer>
void write_state(Trainer& train, const std::string& path, const loader_place& next, state_words words, const state_notes& notes,
                 const buffers_of_others& others = {}) {
  const training_state s = train.state();
  if (train.micro_batches() != 0)
    throw input_error("save_state: expected no micro-batches on their way to a step, found " +
                      std::to_string(train.micro_batches()) + "; save after step(), or call drop_micro_batches()");
  words.set(version_mark, text_of_version(own_version));
  words.set("steps", s.steps);
  words.set("seed", s.seed);
  words.set("ranks", s.ranks);
  words.set("micro-batches", s.micro_batches);
  words.set_bits("rate behind the last step", s.learning_rate);
  words.set("rate was set", std::uint64_t{s.rate_was_set});
  words.set(state_mark, is_scaled(s) ? state_format : state_format_unscaled);
  if (is_scaled(s)) write_loss_scale(words, s.loss_scale);
  words.set("epoch", next.epoch);
  words.set("batch", next.batch);
  for (std::size_t i = 0; i < s.words.size(); ++i) words.set(training_state::compared[i].name, s.words[i]);
  for (const auto& [name, number] : notes) words.set_bits(note_mark + name, number);
  auto all = train.inside().states_on_host();
  const feature_orders orders = all.orders();
  file_bytes bytes;
  auto tensors = state_tensors(all, orders, bytes);
  others.add_to(tensors);
  for (const safetensors_source& t : tensors) words.set(checksum_of + t.name, state_words::hexadecimal(quick_checksum(t.bytes)));
  words.set(checksum_mark, state_words::hexadecimal(checksum_of_header(words.all(), tensors)));
  write_safetensors(path, std::move(tensors), words.all());
}

// Parses the words of a state.
inline saved_place place_of(const state_words& words) {
  saved_place out;
  training_state& s = out.trainer;
  s.steps = words.number("steps");
  s.seed = words.number("seed");
  s.ranks = words.number("ranks");
  s.micro_batches = words.number("micro-batches");
  s.learning_rate = words.bits("rate behind the last step");
  s.rate_was_set = words.number("rate was set") != 0;
  if (!(s.learning_rate >= 0 && s.learning_rate <= std::numeric_limits<double>::max()))
    words.fail("expected a learning rate of 0 or more, found " + shortest_text(s.learning_rate));
  if (s.micro_batches == 0 || s.ranks == 0) words.fail("expected at least one rank and one micro-batch in a step, found none");
  s.loss_scale = loss_scale_in(words);
  if (s.loss_scale.skipped > s.steps) words.fail("expected at most as many skipped updates as steps, found more");
  out.next = {words.number("epoch"), words.number("batch")};
  for (std::size_t i = 0; i < s.words.size(); ++i)
    if (const char* const name = training_state::compared[i].name; words.has(name) || std::string_view(name) != "loss scaling")
      s.words[i] = words.text(name);
    else s.words[i] = "none"; // an earlier version wrote it
  constexpr std::string_view note = note_mark;
  for (const auto& [name, text] : words.all())
    if (name.starts_with(note)) out.notes[name.substr(note.size())] = words.bits(name);
  return out;
}

// A state that is open for reading. The constructor compares the header and every tensor with their checksums, and throws
// file_error unless all of them match.
class state_file {
public:
  explicit state_file(const std::string& path) : file_(path), words_(file_.metadata(), text_of(path)) {
    if (!words_.has(state_mark)) fail("it is no state; weights alone are read by load_weights()");
    if (words_.text(checksum_mark) != state_words::hexadecimal(checksum_of_header(words_.all(), file_.entries())))
      fail("its header does not have the checksum that was written with it: the file is damaged");
    compare_formats();
    place_ = place_of(words_);
    for (const safetensors_entry& e : file_.entries()) {
      quick_hash found;
      file_.for_each_piece(e, [&](std::span<const std::byte> piece) { found.add(piece); });
      const std::string mark = checksum_of + e.name;
      if (!words_.has(mark) || words_.text(mark) != state_words::hexadecimal(found.value()))
        fail("'" + e.name + "' does not have the checksum that was written with it: the file is damaged");
    }
  }

  const saved_place& place() const { return place_; }
  const state_words& words() const { return words_; }

  // Loads all tensors into a trainer, or throws before the first one. (A disk that fails now, after everything was read once,
  // leaves some loaded.) The buffers of the other ranks go to `others`. Nothing is allocated after the first tensor.
  template <class Trainer>
  void give(Trainer& train, buffers_of_others& others) {
    auto all = train.inside().states_on_host();
    const feature_orders orders = all.orders();
    std::size_t fits = 0;
    std::string missing;
    file_bytes bytes;
    auto wanted = state_tensors(all, orders, bytes);
    others.add_to(wanted);
    for (const safetensors_source& t : wanted) {
      const safetensors_entry* const e = file_.find(t.name);
      if (e != nullptr && e->extents == t.extents && e->type == t.type) ++fits;
      else missing += (missing.empty() ? "" : ", ") + t.name;
    }
    if (fits != wanted.size() || fits != file_.entries().size())
      fail("expected the " + std::to_string(wanted.size()) + " tensors of this trainer, found " +
           std::to_string(file_.entries().size()) + (missing.empty() ? "" : "; of another shape or not there: " + missing));
    train.inside().replica.changed();
    for (const safetensors_source& t : wanted)
      file_.read_bytes(*file_.find(t.name), {const_cast<std::byte*>(t.bytes.data()), t.bytes.size()});
    bytes.give_back();
    all.give_back();
  }
  [[noreturn]] void fail(const std::string& what) const { throw file_error(text_of(file_.path()) + what); }

private:
  static std::string text_of(const std::string& path) { return "load_state: '" + path + "': "; }
  void compare_formats() const {
    const std::uint64_t format = words_.number(state_mark);
    const auto version = version_of(words_.text(version_mark));
    const std::string found = "it is of format " + std::to_string(format) + ", written by Cairn " + words_.text(version_mark);
    const std::string own = "this is Cairn " + text_of_version(own_version) + ", which reads formats " +
                            std::to_string(state_format_unscaled) + " and " + std::to_string(state_format);
    if (!version) fail(found + ", which is no version");
    if (format > state_format || *version > own_version) fail(found + "; " + own + ": take that version, or a later one");
    if (format < state_format_unscaled)
      fail(found + "; " + own + ": an earlier state does not say all that a run is made of, so that it could be taken up as " +
           "another without a word; end that run with its own version, or take its parameters by load_weights()");
  }

  safetensors_file file_;
  state_words words_;
  saved_place place_;
};

// Both texts around their first difference.
inline std::string where_they_differ(const std::string& own, const std::string& found) {
  std::size_t same = 0;
  while (same < own.size() && same < found.size() && own[same] == found[same]) ++same;
  const std::size_t begin = std::max(own.size(), found.size()) > 100 && same > 24 ? same - 24 : 0;
  const auto part = [&](const std::string& text) {
    return (begin > 0 ? "..." : "") + text.substr(begin, 100) + (text.size() > begin + 100 ? "..." : "");
  };
  return "expected " + part(own) + ", found " + part(found);
}

// Throws if a trainer would not go on as the saved one.
template <class Trainer>
void compare_states(Trainer& train, const state_file& file, const state_options& allowed, const buffers_of_others& others) {
  const training_state own = train.state(), &saved = file.place().trainer;
  for (std::size_t i = 0; i < own.words.size(); ++i)
    if (const run_setting& which = training_state::compared[i]; own.words[i] != saved.words[i]) {
      const bool can_be_meant = which.resumed == on_resume::same_unless_meant;
      if (allowed.other_settings && can_be_meant) continue;
      file.fail((which.name == std::string("batch statistics") ? "it has other " : "it is of another ") +
                std::string(which.name) + ": " + where_they_differ(own.words[i], saved.words[i]) +
                (can_be_meant ? "; state_options::other_settings takes it all the same" : ""));
    }
  if (const double rate = train.learning_rate_at(saved.steps);
      rate != saved.learning_rate && !saved.rate_was_set && !allowed.other_settings)
    file.fail("the learning rate behind step " + std::to_string(saved.steps) + " was " + shortest_text(saved.learning_rate) +
              ", found " + shortest_text(rate) + ": the schedule is another; state_options::other_settings takes it all the " +
              "same");
  if (saved.steps > 0) { // else no step has said how many micro-batches there are
    const std::uint64_t micro_batches = own.micro_batches_are_told ? own.micro_batches : allowed.micro_batches;
    const std::uint64_t before = saved.ranks * saved.micro_batches, now = own.ranks * micro_batches;
    if (before != now)
      file.fail("it was saved with " + std::to_string(saved.ranks) + " ranks and " + std::to_string(saved.micro_batches) +
                " micro-batches in a step, found " + std::to_string(own.ranks) + " ranks and " +
                (own.micro_batches_are_told ? "accumulate_grad_batches = " : "state_options::micro_batches = ") +
                std::to_string(micro_batches) + ": a step would see other samples; make ranks x micro-batches " +
                std::to_string(before));
  }
  if (own.ranks != saved.ranks && others.rank_has_buffers)
    file.fail(
        "it was saved by " + std::to_string(saved.ranks) + " ranks, found " + std::to_string(own.ranks) +
        ", and layers such as BatchNorm take statistics of the samples of a rank, which would be others; use as many ranks");
}

} // namespace cairn::detail
