// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/state/weight_names.hpp>
#include <cairn/train/state/weights_in_files.hpp>

namespace cairn::detail {

// Gives the weights of a network names in a file, one after another, and compares their extents with the expected ones.
class names_in_order {
public:
  static constexpr std::uint64_t any = 0;
  using extents = std::initializer_list<std::uint64_t>; // `any` fits any extent

  names_in_order(const std::vector<weight_shape>& all, std::string whose, std::string order)
      : all_(all), whose_(std::move(whose)), order_(std::move(order)) {}

  bool next_is(extents expected, std::size_t ahead = 0) const {
    if (at_ + ahead >= all_.size() || !all_[at_ + ahead].tied_to.empty()) return false;
    const std::vector<std::uint64_t>& found = all_[at_ + ahead].extents;
    return std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                      [](std::uint64_t a, std::uint64_t b) { return a == any || a == b; });
  }
  std::uint64_t extent(std::size_t axis) const {
    return at_ < all_.size() && axis < all_[at_].extents.size() ? all_[at_].extents[axis] : any;
  }

  // The next weight has these extents, and comes from the first of these sources that the file has.
  void take(extents expected, std::initializer_list<weight_source> sources) {
    if (!next_is(expected)) refuse(expected, *sources.begin());
    for (weight_source source : sources) {
      source.parameter = all_[at_].name;
      sources_.push_back(std::move(source));
    }
    ++at_;
  }
  void take(extents expected, const std::string& tensor) { take(expected, {whole(tensor)}); }
  void take_one_of(extents expected, const std::string& tensor, const std::string& other) {
    take(expected, {whole(tensor), whole(other)});
  }
  static weight_source whole(const std::string& tensor) { return {.parameter = {}, .tensors = {tensor}}; }
  static weight_source first_rows(const std::string& tensor) { return {.parameter = {}, .tensors = {tensor}, .first_row = 0}; }
  // The weight and the bias of a layer.
  void take_norm(std::uint64_t width, const std::string& name) {
    take({width}, name + ".weight");
    take({width}, name + ".bias");
  }
  void take_linear(std::uint64_t out, std::uint64_t in, const std::string& name, bool transposed = false) {
    const std::uint64_t rows = out == any ? extent(0) : out;
    take({out, in}, {{.parameter = {}, .tensors = {name + ".weight"}, .transposed = transposed}});
    take({rows}, name + ".bias");
  }
  // The second names of the first weight, which is that of the tokens.
  void take_tied(const std::string& tensor) {
    for (const weight_shape& w : all_)
      if (!w.tied_to.empty() && w.tied_to == all_[0].name) sources_.push_back({.parameter = w.name, .tensors = {tensor}});
  }

  std::vector<weight_source> sources() && { return std::move(sources_); }

  // The blocks of a network: each has one attention.
  std::size_t attentions() const {
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(), [](const weight_shape& w) { return w.name.ends_with("in_proj_weight"); }));
  }

private:
  [[noreturn]] void refuse(extents expected, const weight_source& source) const {
    std::string text = "(";
    for (const std::uint64_t e : expected) text += (text.size() > 1 ? ", " : "") + (e == any ? "any" : std::to_string(e));
    const bool is_over = at_ >= all_.size() || !all_[at_].tied_to.empty();
    throw input_error(
        whose_ + ": expected " + source.tensors.front() + " as weight " + std::to_string(at_) + " of the network, of " + text +
        "), found " + (is_over ? "no more weights" : all_[at_].name + " " + in_brackets(all_[at_].extents)) +
        "; the weights must be in the order of " + order_ + "; give the names of another network by weights_options::sources");
  }

  const std::vector<weight_shape>& all_;
  std::string whose_, order_;
  std::size_t at_ = 0;
  std::vector<weight_source> sources_;
};

} // namespace cairn::detail

// The names of transformers' weights in files of Hugging Face's library, as maps for load_weights() and save_weights(). They find
// the weights of a network by their order and shapes, wherever they are nested, and throw input_error for another order. Weights
// after those of a known head keep their own names.
namespace cairn::transformers {

// GPT-2: an embedding of tokens; an embedding of positions, which are the first rows of the file's; any number of blocks of
// LayerNorm, attention, LayerNorm, two Linears; LayerNorm; and a Linear without bias, if it is not tied to the embedding of
// tokens. The four matrices of a block are (in, out) in the file. The causal masks of older files are ignored.
inline types::weights_options gpt2_names(const std::vector<types::weight_shape>& all) {
  detail::names_in_order names(all, "gpt2_names",
                               "tokens, positions, for each block norm, in_proj, out_proj, norm, two Linears, then a norm");
  constexpr std::uint64_t any = detail::names_in_order::any;
  const std::uint64_t tokens = names.extent(0), width = names.extent(1);
  names.take({any, any}, "wte.weight");
  names.take({any, width}, {names.first_rows("wpe.weight")});
  for (std::size_t n = 0, blocks = names.attentions(); n < blocks; ++n) {
    const std::string block = "h." + std::to_string(n) + ".";
    names.take_norm(width, block + "ln_1");
    names.take_linear(3 * width, width, block + "attn.c_attn", true);
    names.take_linear(width, width, block + "attn.c_proj", true);
    names.take_norm(width, block + "ln_2");
    names.take_linear(any, width, block + "mlp.c_fc", true);
    names.take_linear(width, any, block + "mlp.c_proj", true);
  }
  names.take_norm(width, "ln_f");
  if (names.next_is({tokens, width})) names.take_one_of({tokens, width}, "lm_head.weight", "wte.weight");
  names.take_tied("lm_head.weight");
  return {.rename = {{"transformer", ""}},
          .sources = std::move(names).sources(),
          .ignored = {"h.*.attn.bias", "h.*.attn.masked_bias"}};
}

// BERT: embeddings of tokens, of positions, which are the first rows of the file's, and of token types (of the last two the one
// with fewer rows is that of token types); LayerNorm; any number of blocks of attention, LayerNorm, two Linears, LayerNorm. The
// file has query, key and value of an attention as three tensors. The head of masked words, which a network may leave out, is a
// Linear, LayerNorm, and a Linear with a bias, tied to the embedding of tokens or not. Files without the prefix "bert.", and
// those that name a LayerNorm's weights gamma and beta, are read too. The pooler and the head of next sentences are ignored, and
// so is the head of masked words for a network without one.
inline types::weights_options bert_names(const std::vector<types::weight_shape>& all) {
  detail::names_in_order names(all, "bert_names",
                               "tokens, positions, token types, norm, for each block in_proj, out_proj, norm, two Linears, norm");
  constexpr std::uint64_t any = detail::names_in_order::any;
  const std::uint64_t tokens = names.extent(0), width = names.extent(1);
  const std::string embeddings = "bert.embeddings.", predictions = "cls.predictions.";
  names.take({any, any}, embeddings + "word_embeddings.weight");
  const types::weight_source positions = names.first_rows(embeddings + "position_embeddings.weight");
  const types::weight_source kinds = names.whole(embeddings + "token_type_embeddings.weight");
  const bool has_kinds_first = all.size() > 2 && !all[2].extents.empty() && names.extent(0) < all[2].extents[0];
  names.take({any, width}, {has_kinds_first ? kinds : positions});
  names.take({any, width}, {has_kinds_first ? positions : kinds});
  const auto take_norm = [&](const std::string& name) {
    names.take_one_of({width}, name + ".weight", name + ".gamma");
    names.take_one_of({width}, name + ".bias", name + ".beta");
  };
  take_norm(embeddings + "LayerNorm");
  for (std::size_t n = 0, blocks = names.attentions(); n < blocks; ++n) {
    const std::string block = "bert.encoder.layer." + std::to_string(n) + ".", self = block + "attention.self.";
    const auto take_rows = [&](detail::names_in_order::extents expected, const char* what) {
      names.take(expected,
                 {{.parameter = {}, .tensors = {self + "query." + what, self + "key." + what, self + "value." + what}}});
    };
    take_rows({3 * width, width}, "weight");
    take_rows({3 * width}, "bias");
    names.take_linear(width, width, block + "attention.output.dense");
    take_norm(block + "attention.output.LayerNorm");
    names.take_linear(any, width, block + "intermediate.dense");
    names.take_linear(width, any, block + "output.dense");
    take_norm(block + "output.LayerNorm");
  }
  std::vector<std::string> ignored{"bert.embeddings.position_ids", "bert.pooler", "cls.seq_relationship"};
  const bool has_head = names.next_is({width, width}) && names.next_is({width}, 1) && names.next_is({width}, 2);
  if (has_head) {
    names.take_linear(width, width, predictions + "transform.dense");
    take_norm(predictions + "transform.LayerNorm");
    if (names.next_is({tokens, width}))
      names.take_one_of({tokens, width}, predictions + "decoder.weight", embeddings + "word_embeddings.weight");
    names.take_one_of({tokens}, predictions + "bias", predictions + "decoder.bias");
    names.take_tied(predictions + "decoder.weight");
  } else {
    ignored.emplace_back("cls.predictions");
  }
  return {.rename = {{"embeddings", "bert.embeddings"}, {"encoder", "bert.encoder"}, {"pooler", "bert.pooler"}},
          .sources = std::move(names).sources(),
          .ignored = std::move(ignored)};
}

} // namespace cairn::transformers
