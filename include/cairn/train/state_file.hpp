// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/safetensors.hpp>
#include <cairn/train/training_state.hpp>

namespace cairn {

// Where a job stands besides its trainer, as a state has it.
struct saved_place {
  loader_place next; // what is read next
  state_notes notes;
  training_state trainer; // as it was saved
};

// What load_state() lets pass.
struct state_options {
  bool other_settings = false;   // loss, optimizer, clipping or schedule with other numbers, on purpose
  std::size_t micro_batches = 1; // that this job will make of each step: with them another number of ranks may be the same
};

namespace detail {

// Metadata of a state: texts, numbers as decimal digits, and doubles by their bits, so that all of them come back.
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
    if (found == words_.end()) throw file_error(whose_ + "it has no '" + name + "'");
    return found->second;
  }
  std::uint64_t number(const std::string& name) const { return parsed(name, text(name), 10); }
  double bits(const std::string& name) const {
    return std::bit_cast<double>(parsed(name, std::string_view(text(name)).substr(0, 16), 16));
  }

  // All of them in one text, and back.
  std::string packed() const { return nlohmann::json(words_).dump(); }
  static state_words unpacked(const std::string& text) {
    return state_words(nlohmann::json::parse(text).get<std::map<std::string, std::string>>());
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
                            *note_mark = "note ";

// A number of everything in a file but the tensors' elements, which have numbers of their own, and of this number itself.
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

// Every tensor of a trainer, where the host reads them or, turned to the order of files, in `bytes`: parameters and buffers by
// their own names, so that load_weights() and PyTorch find them; then the optimizer's, as "optimizer/0/0.weight".
template <class Weights>
std::vector<safetensors_source> state_tensors(Weights& all, file_bytes& bytes) {
  std::vector<safetensors_source> out;
  const auto add = [&](std::string name, const auto& q) {
    using number = typename decltype(q.numbers)::value_type;
    out.push_back({std::move(name), safetensors_type_of<number>, extents_in_files(*q.facts), bytes.of(q.numbers, *q.facts)});
  };
  for_all_weights(all, [&](const auto& q) { add(q.name, q); });
  for (std::size_t i = 0; i < all.states(); ++i)
    all.for_each_of_state(i, [&](const auto& q) { add(std::string(optimizer_prefix) + std::to_string(i) + "/" + q.name, q); });
  return out;
}

template <class Trainer>
void write_state(Trainer& train, const std::string& path, const loader_place& next, state_words words, const state_notes& notes) {
  if (train.micro_batches() != 0)
    throw input_error("save_state: expected no micro-batches on their way to a step, found " +
                      std::to_string(train.micro_batches()) + "; save after step(), or call drop_micro_batches()");
  const training_state s = train.state();
  words.set(state_mark, "1");
  words.set("version", std::to_string(CAIRN_VERSION_MAJOR) + "." + std::to_string(CAIRN_VERSION_MINOR) + "." +
                           std::to_string(CAIRN_VERSION_PATCH));
  words.set("steps", s.steps);
  words.set("seed", s.seed);
  words.set("ranks", s.ranks);
  words.set("micro-batches", s.micro_batches);
  words.set_bits("learning rate", s.learning_rate);
  words.set("learning rate was set", std::uint64_t{s.rate_was_set});
  words.set("epoch", next.epoch);
  words.set("batch", next.batch);
  for (std::size_t i = 0; i < s.words.size(); ++i) words.set(training_state::names[i], s.words[i]);
  for (const auto& [name, number] : notes) words.set_bits(note_mark + name, number);
  auto all = replica_access::weights_and_states(train);
  file_bytes bytes;
  auto tensors = state_tensors(all, bytes);
  for (const safetensors_source& t : tensors) words.set(checksum_of + t.name, state_words::hexadecimal(quick_checksum(t.bytes)));
  words.set(checksum_mark, state_words::hexadecimal(checksum_of_header(words.all(), tensors)));
  write_safetensors(path, std::move(tensors), words.all());
}

// What the words of a state say.
inline saved_place place_of(const state_words& words) {
  saved_place out;
  training_state& s = out.trainer;
  s.steps = words.number("steps");
  s.seed = words.number("seed");
  s.ranks = words.number("ranks");
  s.micro_batches = words.number("micro-batches");
  s.learning_rate = words.bits("learning rate");
  s.rate_was_set = words.number("learning rate was set") != 0;
  out.next = {words.number("epoch"), words.number("batch")};
  for (std::size_t i = 0; i < s.words.size(); ++i) s.words[i] = words.text(training_state::names[i]);
  constexpr std::string_view note = note_mark;
  for (const auto& [name, text] : words.all())
    if (name.starts_with(note)) out.notes[name.substr(note.size())] = words.bits(name);
  return out;
}

// A state that is open for reading, and found to be whole: every number is compared with the checksum that was written with it.
class state_file {
public:
  explicit state_file(const std::string& path) : file_(path), words_(file_.metadata(), text_of(path)) {
    if (!words_.has(state_mark)) fail("it is no state; weights alone are read by load_weights()");
    if (words_.text(checksum_mark) != state_words::hexadecimal(checksum_of_header(words_.all(), file_.entries())))
      fail("its header does not have the checksum that was written with it: the file is damaged");
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

  // Takes all tensors, or throws before it takes one. (A disk that fails now, when all was read once, leaves some taken.)
  template <class Trainer>
  void give(Trainer& train) {
    std::size_t fits = 0;
    std::string missing;
    auto all = replica_access::weights_and_states(train);
    file_bytes bytes;
    auto wanted = state_tensors(all, bytes);
    for (const safetensors_source& t : wanted) {
      const safetensors_entry* const e = file_.find(t.name);
      if (e != nullptr && e->extents == t.extents && e->type == t.type) ++fits;
      else missing += (missing.empty() ? "" : ", ") + t.name;
    }
    if (fits != wanted.size() || fits != file_.entries().size())
      fail("expected the " + std::to_string(wanted.size()) + " tensors of this trainer, found " +
           std::to_string(file_.entries().size()) + (missing.empty() ? "" : "; of another shape or not there: " + missing));
    for (const safetensors_source& t : wanted)
      file_.read_bytes(*file_.find(t.name), {const_cast<std::byte*>(t.bytes.data()), t.bytes.size()});
    bytes.give_back();
    all.give_back();
  }
  [[noreturn]] void fail(const std::string& what) const { throw file_error(text_of(file_.path()) + what); }

private:
  static std::string text_of(const std::string& path) { return "load_state: '" + path + "': "; }

  safetensors_file file_;
  state_words words_;
  saved_place place_;
};

// Both texts around the place where they part.
inline std::string where_they_differ(const std::string& own, const std::string& found) {
  std::size_t same = 0;
  while (same < own.size() && same < found.size() && own[same] == found[same]) ++same;
  const std::size_t begin = std::max(own.size(), found.size()) > 100 && same > 24 ? same - 24 : 0;
  const auto part = [&](const std::string& text) {
    return (begin > 0 ? "..." : "") + text.substr(begin, 100) + (text.size() > begin + 100 ? "..." : "");
  };
  return "expected " + part(own) + ", found " + part(found);
}

// Throws if a trainer would not go on as the one that was saved.
template <class Trainer>
void compare_states(Trainer& train, const state_file& file, const state_options& allowed) {
  const training_state own = train.state(), &saved = file.place().trainer;
  for (std::size_t i = 0; i < own.words.size(); ++i)
    if (own.words[i] != saved.words[i] && !(allowed.other_settings && i >= training_state::settings))
      file.fail(std::string("it is of another ") + training_state::names[i] + ": " +
                where_they_differ(own.words[i], saved.words[i]) +
                (i >= training_state::settings ? "; state_options::other_settings takes it all the same" : ""));
  if (const double rate = train.learning_rate_at(saved.steps);
      rate != saved.learning_rate && !saved.rate_was_set && !allowed.other_settings)
    file.fail("the learning rate behind step " + std::to_string(saved.steps) + " was " + shortest_text(saved.learning_rate) +
              ", found " + shortest_text(rate) + ": the schedule is another; state_options::other_settings takes it all the " +
              "same");
  const std::uint64_t before = saved.ranks * saved.micro_batches, now = own.ranks * allowed.micro_batches;
  if (own.ranks != saved.ranks && before != now)
    file.fail("it was saved with " + std::to_string(saved.ranks) + " ranks and " + std::to_string(saved.micro_batches) +
              " micro-batches in a step, found " + std::to_string(own.ranks) +
              " ranks and state_options::micro_batches = " + std::to_string(allowed.micro_batches) +
              ": a step would see other samples; make ranks x micro-batches " + std::to_string(before));
}

inline constexpr const char *batches_mark = "batches of an epoch", *order_mark = "order of the epoch";

// Throws if a loader would not give what was going to be read.
template <class Loader>
void compare_loaders(const Loader& batches, const state_file& file, std::uint64_t own_ranks) {
  const saved_place& p = file.place();
  if (!file.words().has(order_mark)) file.fail("it was saved without a loader");
  if (own_ranks != p.trainer.ranks) {
    // Each rank reads every so-manieth sample: half an epoch of two ranks is not half an epoch of four.
    if (p.next.batch != 0)
      file.fail("it was saved by " + std::to_string(p.trainer.ranks) + " ranks in the middle of epoch " +
                std::to_string(p.next.epoch) + ", found " + std::to_string(own_ranks) +
                ", which share the samples otherwise; use as many ranks, or a state of the end of an epoch");
    return;
  }
  if (file.words().number(batches_mark) != batches.size())
    file.fail("expected a loader of " + std::to_string(file.words().number(batches_mark)) + " batches an epoch, found " +
              std::to_string(batches.size()) + "; is it the same dataset, the same batch?");
  if (p.next.batch > batches.size())
    file.fail("it goes on with batch " + std::to_string(p.next.batch) + " of " + std::to_string(batches.size()));
  if (file.words().text(order_mark) != state_words::hexadecimal(batches.fingerprint(p.next.epoch)))
    file.fail("the loader would read other samples in epoch " + std::to_string(p.next.epoch) +
              ", or in another order; is it the same dataset, sampler and seed?");
}

} // namespace detail

} // namespace cairn
