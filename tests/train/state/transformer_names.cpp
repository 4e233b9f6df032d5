// SPDX-License-Identifier: MIT
// Files in the layouts of Hugging Face's GPT-2 and BERT, which tests/reference/transformer_files.py writes.
#include <cairn/train/state/transformer_names.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/state/safetensors.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../training.hpp"

namespace transformer_names_tests {

using namespace cairn;
using testing::has;
using testing::text_of;

namespace {

constexpr std::size_t width = 4, hidden = 6, tokens = 5, length = 3; // and two blocks; the files have 7 positions

// The parameters of an attention by torch's names, and of a table that is added. The values are left alone.
struct passes_on {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    std::copy_n(call.inputs[0], call.rows * call.in(0).size(), call.outputs[0]);
  }
  static void clear(const tensor_list& all, const auto& call) {
    for (std::size_t k = 0; k < all.count; ++k) std::fill_n(call.gradients[k], all[k].size(), 0);
    if (call.input_gradients) std::copy_n(call.output_gradients[0], call.rows * call.in(0).size(), call.input_gradients[0]);
  }
};
struct Attention : passes_on {
  static constexpr tensor_list parameters(const arguments&) {
    return {{"in_proj_weight", {3 * width, width}, initial::uniform(1)},
            {"in_proj_bias", {3 * width}, initial::uniform(1)},
            {"out_proj.weight", {width, width}, initial::uniform(1)},
            {"out_proj.bias", {width}, initial::uniform(1)}};
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    clear(parameters(*call.given), call);
  }
};
template <std::size_t Rows>
struct Table : passes_on {
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {Rows, width}, initial::uniform(1)}}; }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    clear(parameters(*call.given), call);
  }
};

using Tokens = Embedding<tokens, width>;
using PerceptronOf = Sequential<Linear<width, hidden>, GELU, Linear<hidden, width>>;
using GptBlock = Sequential<Residual<LayerNorm<width>, Attention>, Residual<LayerNorm<width>, PerceptronOf>>;
template <class Head, class Positions = Table<length>, std::size_t Blocks = 2>
using Gpt = Sequential<Inputs<integers<length>>, Tokens, Positions, Repeat<Blocks, GptBlock>, LayerNorm<width>, Head>;
using TiedHead = Tied<Linear<width, tokens, false>, Tokens>;
using GptOfFile = Gpt<TiedHead>;

using BertBlock = Sequential<Residual<Attention>, LayerNorm<width>, Residual<PerceptronOf>, LayerNorm<width>>;
template <class First, class Second>
using BertBody = Sequential<Inputs<integers<length>>, Tokens, First, Second, LayerNorm<width>, Sequential<Repeat<2, BertBlock>>>;
using Body = BertBody<Table<length>, Table<2>>;
using Bert =
    Sequential<Inputs<integers<length>>, Tokens, Table<length>, Table<2>, LayerNorm<width>, Sequential<Repeat<2, BertBlock>>,
               Linear<width, width>, GELU, LayerNorm<width>, Tied<Linear<width, tokens>, Tokens>>;

// Element j of a tensor in the files, as transformer_files.py has it.
double value(std::string_view name, std::size_t j) {
  std::size_t start = 0;
  for (const char letter : name) start = (31 * start + static_cast<unsigned char>(letter)) % 9973;
  return (static_cast<double>((start + 7 * j) % 251) - 125) / 64;
}
std::vector<float> tensor_of(const std::string& name, std::size_t count) {
  std::vector<float> out;
  for (std::size_t j = 0; j < count; ++j) out.push_back(static_cast<float>(value(name, j)));
  return out;
}
std::vector<float> transposed(const std::vector<float>& m, std::size_t rows) {
  const std::size_t columns = m.size() / rows;
  std::vector<float> out(m.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = m[r * columns + c];
  return out;
}
template <class... Lists>
std::vector<float> joined(const Lists&... lists) {
  std::vector<float> out;
  (out.insert(out.end(), lists.begin(), lists.end()), ...);
  return out;
}

// The parameters that the files have, in the order of the networks.
using numbers = std::vector<std::vector<float>>;
numbers gpt2_numbers(std::size_t positions = length) {
  numbers out{tensor_of("wte.weight", tokens * width), tensor_of("wpe.weight", positions * width)};
  const auto take = [&](const std::string& name, std::size_t in, std::size_t made) {
    out.push_back(in == 0 ? tensor_of(name + ".weight", made) : transposed(tensor_of(name + ".weight", in * made), in));
    out.push_back(tensor_of(name + ".bias", made));
  };
  for (const std::string h : {"h.0.", "h.1."}) {
    take(h + "ln_1", 0, width);
    take(h + "attn.c_attn", width, 3 * width);
    take(h + "attn.c_proj", width, width);
    take(h + "ln_2", 0, width);
    take(h + "mlp.c_fc", width, hidden);
    take(h + "mlp.c_proj", hidden, width);
  }
  take("ln_f", 0, width);
  return out;
}
numbers bert_numbers(const std::string& prefix, const std::string& weight, const std::string& bias, bool has_head) {
  const std::string at = prefix + "embeddings.";
  numbers out{tensor_of(at + "word_embeddings.weight", tokens * width),
              tensor_of(at + "position_embeddings.weight", length * width),
              tensor_of(at + "token_type_embeddings.weight", 2 * width)};
  const auto take_norm = [&](const std::string& name) {
    out.push_back(tensor_of(name + "LayerNorm." + weight, width));
    out.push_back(tensor_of(name + "LayerNorm." + bias, width));
  };
  const auto take = [&](const std::string& name, std::size_t in, std::size_t made) {
    out.push_back(tensor_of(name + ".weight", in * made));
    out.push_back(tensor_of(name + ".bias", made));
  };
  take_norm(at);
  for (const std::string n : {"0.", "1."}) {
    const std::string block = prefix + "encoder.layer." + n, self = block + "attention.self.";
    for (const auto& [part, size] : {std::pair{".weight", width * width}, {".bias", width}})
      out.push_back(joined(tensor_of(self + "query" + part, size), tensor_of(self + "key" + part, size),
                           tensor_of(self + "value" + part, size)));
    take(block + "attention.output.dense", width, width);
    take_norm(block + "attention.output.");
    take(block + "intermediate.dense", width, hidden);
    take(block + "output.dense", hidden, width);
    take_norm(block + "output.");
  }
  if (!has_head) return out;
  take("cls.predictions.transform.dense", width, width);
  take_norm("cls.predictions.transform.");
  out.push_back(tensor_of("cls.predictions.bias", tokens));
  return out;
}

template <class Owner>
numbers numbers_of(Owner& owner) {
  numbers out;
  owner.for_each([&](const auto& q) { out.emplace_back(q.numbers.begin(), q.numbers.end()); });
  return out;
}

std::string in_reference(const std::string& name) { return std::string(CAIRN_TEST_DATA_DIR "/") + name; }

// The tensors of a file in memory, to be changed and written again.
struct copied_file {
  std::map<std::string, files::safetensors_source> tensors;
  std::map<std::string, std::vector<std::byte>> bytes;

  explicit copied_file(const std::string& path) {
    files::safetensors_file file(path);
    for (const files::safetensors_entry& e : file.entries()) {
      std::vector<std::byte> own(static_cast<std::size_t>(e.end - e.begin));
      file.read_bytes(e, own);
      add(e.name, e.type, e.extents, std::move(own));
    }
  }
  void add(const std::string& name, const std::string& type, std::vector<std::uint64_t> extents, std::vector<std::byte> own) {
    bytes[name] = std::move(own);
    tensors[name] = {name, type, std::move(extents), {}};
  }
  void rename(const std::string& from, const std::string& to) {
    add(to, tensors.at(from).type, tensors.at(from).extents, bytes.at(from));
    erase(from);
  }
  void erase(const std::string& name) {
    tensors.erase(name);
    bytes.erase(name);
  }
  std::string write(const folder& here) {
    std::vector<files::safetensors_source> all;
    for (auto& [name, t] : tensors) {
      t.bytes = bytes.at(name);
      all.push_back(t);
    }
    files::write_safetensors((here.path / "changed.safetensors").string(), all);
    return (here.path / "changed.safetensors").string();
  }
};

// Expects that nothing of the file is taken, and returns the error.
template <class Net, class Names>
std::string refused(const std::string& path, Names names) {
  model<Net, batch<2>> net{{.seed = 3}};
  const numbers before = numbers_of(net);
  const std::string said = text_of([&] { load_weights(net, path, names); });
  CHECK(numbers_of(net) == before);
  return said;
}

} // namespace

TEST_CASE("transformer_names: GPT-2's file is read by a model and by a trainer of any policy") {
  const std::string path = in_reference("gpt2.safetensors");
  model<GptOfFile, batch<2>> net{{.seed = 3}};
  const types::loaded_weights found = load_weights(net, path, transformers::gpt2_names);
  CHECK(found.is_all());
  CHECK(found.taken.size() == 28);
  CHECK(found.ignored ==
        std::vector<std::string>{"h.0.attn.bias", "h.0.attn.masked_bias", "h.1.attn.bias", "h.1.attn.masked_bias"});
  CHECK(numbers_of(net) == gpt2_numbers());

  trainer<checkpoint<sqrt_n, GptOfFile>, CrossEntropyLoss, SGD, batch<2>, double> train{testing::momentum, {.seed = 4}};
  CHECK(load_weights(train, path, transformers::gpt2_names).is_all());
  CHECK(numbers_of(train) == gpt2_numbers());
  model<Gpt<frozen<Linear<width, tokens, false>>>, batch<2>> frozen_head;
  CHECK(load_weights(frozen_head, path, transformers::gpt2_names).is_all());
  CHECK(numbers_of(frozen_head).back() == gpt2_numbers()[0]);
}

TEST_CASE("transformer_names: GPT-2's head is that of its embedding, or another one") {
  const folder here;
  copied_file file(in_reference("gpt2.safetensors"));
  const auto with_head = [&](const std::vector<float>& head) {
    const auto bytes = std::as_bytes(std::span<const float>(head));
    file.add("lm_head.weight", "F32", {tokens, width}, {bytes.begin(), bytes.end()});
    return file.write(here);
  };
  using Apart = Gpt<Linear<width, tokens, false>>;
  model<GptOfFile, batch<2>> tied;
  model<Apart, batch<2>> apart;
  CHECK(load_weights(apart, in_reference("gpt2.safetensors"), transformers::gpt2_names).is_all());
  CHECK(numbers_of(apart).back() == gpt2_numbers()[0]);
  std::string path = with_head(gpt2_numbers()[0]);
  CHECK(load_weights(tied, path, transformers::gpt2_names).is_all());
  CHECK(numbers_of(tied) == gpt2_numbers());

  std::vector<float> other = gpt2_numbers()[0];
  other.back() += 1;
  path = with_head(other);
  CHECK(load_weights(apart, path, transformers::gpt2_names).is_all());
  CHECK(numbers_of(apart).back() == other);
  CHECK(numbers_of(apart)[0] == gpt2_numbers()[0]);
  CHECK(has(refused<GptOfFile>(path, transformers::gpt2_names),
            "unexpected: lm_head.weight (tied to 0.weight, and has other numbers); see weights::partly"));

  // As GPT2LMHeadModel names them; the word embedding is there by its second name only.
  file.erase("wte.weight");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors)
    if (name != "lm_head.weight") names.push_back(name);
  for (const std::string& name : names) file.rename(name, "transformer." + name);
  CHECK(load_weights(tied, file.write(here), transformers::gpt2_names).is_all());
  CHECK(numbers_of(tied)[0] == other);
  CHECK(numbers_of(tied)[1] == gpt2_numbers()[1]);
}

TEST_CASE("transformer_names: a GPT-2 of another size takes nothing, and the error says what differs") {
  const folder here;
  const auto names = transformers::gpt2_names;
  const std::string path = in_reference("gpt2.safetensors");
  CHECK(has(refused<Gpt<TiedHead, Table<8>>>(path, names),
            "of another shape: 1.weight (8, 4) from row 0, found wpe.weight (7, 4)"));
  CHECK(has(refused<Gpt<TiedHead, Table<length>, 1>>(path, names),
            "unexpected: h.1.attn.c_attn.bias, h.1.attn.c_attn.weight, h.1.attn.c_proj.bias"));
  CHECK(has(refused<Gpt<TiedHead, Table<length>, 3>>(path, names),
            "missing: 4.0.0.weight (from h.2.ln_1.weight), 4.0.0.bias (from h.2.ln_1.bias), 4.0.1.in_proj_weight (from "
            "h.2.attn.c_attn.weight)"));

  copied_file file(path);
  file.tensors.at("h.1.mlp.c_fc.weight").extents = {hidden, width}; // as a Linear has it
  CHECK(has(refused<GptOfFile>(file.write(here), names),
            "nothing was taken from it; of another shape: 3.1.1.0.weight transposed (4, 6), "
            "found h.1.mlp.c_fc.weight (6, 4); see weights::partly"));
  file.tensors.at("h.1.mlp.c_fc.weight") = {"h.1.mlp.c_fc.weight", "I32", {width, hidden}, {}};
  CHECK(has(refused<GptOfFile>(file.write(here), names),
            "nothing was taken from it; of another type: 3.1.1.0.weight (from h.1.mlp.c_fc.weight) is of I32; see"));

  // Of a file that does not fit, what fits is taken on request.
  auto partly = [&](const std::vector<types::weight_shape>& all) {
    types::weights_options out = names(all);
    out.how = weights::partly;
    return out;
  };
  model<GptOfFile, batch<2>> net{{.seed = 3}};
  const numbers before = numbers_of(net);
  const types::loaded_weights some = load_weights(net, file.write(here), partly);
  CHECK(some.taken.size() == 27);
  numbers expected = gpt2_numbers();
  expected[22] = before[22];
  CHECK(numbers_of(net) == expected);
}

TEST_CASE("transformer_names: a network of another order is refused before its file is read") {
  model<Sequential<Inputs<integers<length>>, Tokens, LayerNorm<width>>, batch<2>> net;
  CHECK(text_of([&] { load_weights(net, "no such file", transformers::gpt2_names); }) ==
        "gpt2_names: expected wpe.weight as weight 1 of the network, of (any, 4), found 1.weight (4); the weights must be in the "
        "order of tokens, positions, for each block norm, in_proj, out_proj, norm, two Linears, then a norm; give the names of "
        "another network by weights_options::sources");
  CHECK(has(
      text_of([&] { load_weights(net, "no such file", transformers::bert_names); }),
      "bert_names: expected bert.embeddings.position_embeddings.weight as weight 1 of the network, of (any, 4), found 1.weight "
      "(4); the weights must be in the order of tokens, positions, token types, norm, for each block in_proj"));
  model<Sequential<Inputs<integers<length>>, Tokens, Table<length>>, batch<2>> short_net;
  CHECK(has(text_of([&] { load_weights(short_net, "no such file", transformers::gpt2_names); }),
            "expected ln_f.weight as weight 2 of the network, of (4), found no more weights; the"));
  CHECK(has(text_of([&] { transformers::gpt2_names({}); }), "of (any, any), found no more weights"));
}

TEST_CASE("transformer_names: BERT's files of today and of earlier years are read, with and without the head") {
  for (const std::string name : {"bert", "bert_old"}) {
    CAPTURE(name);
    const bool is_old = name == "bert_old";
    const std::string path = in_reference(name + ".safetensors"), prefix = is_old ? "" : "bert.";
    const auto expected = [&](bool has_head) {
      return bert_numbers(prefix, is_old ? "gamma" : "weight", is_old ? "beta" : "bias", has_head);
    };
    model<Bert, batch<2>> net{{.seed = 3}};
    const types::loaded_weights found = load_weights(net, path, transformers::bert_names);
    CHECK(found.is_all());
    CHECK(numbers_of(net) == expected(true));
    std::vector<std::string> ignored{"bert.pooler.dense.bias", "bert.pooler.dense.weight", "cls.seq_relationship.bias",
                                     "cls.seq_relationship.weight"};
    if (is_old) ignored.insert(ignored.begin(), "bert.embeddings.position_ids");
    CHECK(found.ignored == ignored);

    trainer<Body, CrossEntropyLoss, SGD, batch<2>> body{testing::momentum, {.seed = 4}};
    CHECK(load_weights(body, path, transformers::bert_names).ignored.size() == ignored.size() + 5);
    CHECK(numbers_of(body) == expected(false));
    model<BertBody<Table<2>, Table<length>>, batch<2>> swapped; // token types before positions
    CHECK(load_weights(swapped, path, transformers::bert_names).is_all());
    numbers other = expected(false);
    std::swap(other[1], other[2]);
    CHECK(numbers_of(swapped) == other);
  }
}

TEST_CASE("transformer_names: BERT's query, key and value must be the rows of one matrix, and its second names equal") {
  const folder here;
  const auto names = transformers::bert_names;
  const std::string path = in_reference("bert.safetensors"), self = "bert.encoder.layer.1.attention.self.";
  {
    copied_file file(path);
    file.tensors.at(self + "key.weight").extents = {2, 8};
    CHECK(has(refused<Bert>(file.write(here), names), "of another shape: 4.1.0.0.in_proj_weight (12, 4), found " + self +
                                                          "query.weight (4, 4) + " + self + "key.weight (2, 8) + " + self +
                                                          "value.weight (4, 4); see"));
    file.add(self + "key.weight", "BF16", {3, 4}, std::vector<std::byte>(24));
    CHECK(has(refused<Bert>(file.write(here), names), "key.weight (3, 4) + "));
    file.erase(self + "key.weight");
    CHECK(has(refused<Bert>(file.write(here), names),
              "missing: 4.1.0.0.in_proj_weight (from " + self + "key.weight); see weights::partly"));
    file.erase("bert.embeddings.LayerNorm.bias");
    CHECK(has(refused<Bert>(file.write(here), names),
              "missing: 3.bias (from bert.embeddings.LayerNorm.bias or bert.embeddings.LayerNorm.beta), 4.1.0.0.in_proj"));
  }
  copied_file file(path);
  const auto copy_of = [&](const std::string& name, const std::string& as) {
    file.add(as, "BF16", file.tensors.at(name).extents, file.bytes.at(name));
  };
  copy_of("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight");
  copy_of("cls.predictions.bias", "cls.predictions.decoder.bias");
  model<Bert, batch<2>> net{{.seed = 3}};
  CHECK(load_weights(net, file.write(here), names).is_all());
  CHECK(numbers_of(net) == bert_numbers("bert.", "weight", "bias", true));
  file.bytes.at("cls.predictions.decoder.bias")[0] = std::byte{1};
  CHECK(has(refused<Bert>(file.write(here), names),
            "unexpected: cls.predictions.decoder.bias (another source of 8.bias, and has other numbers); see"));
  file.rename("cls.predictions.decoder.bias", "cls.predictions.decoder.bios");
  CHECK(has(refused<Bert>(file.write(here), names), "unexpected: cls.predictions.decoder.bios; see"));
}

TEST_CASE("transformer_names: what is written has the names and layouts of the file that it was read from") {
  const folder here;
  const std::string path = (here.path / "saved.safetensors").string();
  const auto compare = [&](auto& net, const std::string& original, const auto& names, const std::vector<std::string>& without) {
    REQUIRE(load_weights(net, original, names).is_all());
    save_weights(net, path, names, {{"format", "pt"}});
    files::safetensors_file a(original), b(path);
    CHECK(b.metadata().at("format") == "pt");
    std::size_t expected = 0;
    for (const files::safetensors_entry& e : a.entries()) {
      if (std::any_of(without.begin(), without.end(), [&](const auto& part) { return has(e.name, part); })) continue;
      CAPTURE(e.name);
      const files::safetensors_entry* const written = b.find(e.name);
      REQUIRE(written != nullptr);
      CHECK(written->type == "F32");
      CHECK(written->extents == e.extents);
      std::size_t count = 1;
      for (const std::uint64_t extent : e.extents) count *= static_cast<std::size_t>(extent);
      std::vector<float> of_a(count), of_b(count);
      a.read(e, std::span<float>(of_a));
      b.read(*written, std::span<float>(of_b));
      CHECK(of_a == of_b);
      ++expected;
    }
    CHECK(b.entries().size() == expected);
  };
  model<Gpt<TiedHead, Table<7>>, batch<2>> gpt;
  compare(gpt, in_reference("gpt2.safetensors"), transformers::gpt2_names, {".attn.bias", "masked_bias"});
  model<Sequential<Inputs<integers<length>>, Tokens, Table<7>, Table<2>, LayerNorm<width>, Repeat<2, BertBlock>,
                   Linear<width, width>, GELU, LayerNorm<width>, Tied<Linear<width, tokens>, Tokens>>,
        batch<2>>
      bert;
  compare(bert, in_reference("bert.safetensors"), transformers::bert_names, {"pooler", "seq_relationship"});
}

} // namespace transformer_names_tests
