// SPDX-License-Identifier: MIT
// A small BERT that learns to guess masked characters of a text, and the table that made checkpointing known: the largest batches of
// BERT-Large that fit into 12 GB, planned by the compiler from the types alone.
//
// uses: ranks_of_program
// long to compile
// test: --steps 3 --batch 4
// test: --steps 2 --batch 2 --ranks 2
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/data/text/text.hpp>
#include <cairn/report/charts.hpp>

#include "../command_line.hpp"
#include "../found_text.hpp"
#include "../ranks_of_program/ranks_of_program.hpp"
#include "table.hpp"

namespace mine {

using namespace cairn;

namespace {

constexpr std::size_t letters_at_most = 65, mask = letters_at_most, vocabulary = letters_at_most + 1;
constexpr std::size_t tokens = 64, width = 128, capacity = 32;

using Characters = Embedding<vocabulary, width>;
using Layer = TransformerEncoderLayer<width, 4, 4 * width, GELU>;
using Net = initialized<
    Sequential<Inputs<integers<tokens>>, Characters, LearnedPositions<tokens, width>, LayerNorm<width>, Repeat<4, Layer>,
               Linear<width, width>, GELU, LayerNorm<width>, Tied<Linear<width, vocabulary>, Characters>>,
    normal_weights<percent<2>>>;

struct job {
  std::string data;
  ranks_of_program::told ranks;
  std::size_t threads = 0; // of each rank; 0: its share of the cores
  std::size_t steps = 1000;
  std::size_t batch = capacity;
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;
  std::string curve = "bert_curve.svg";
};

struct result {
  double loss = 0, right = 0; // of the masked characters that were held out
  std::string seen, guessed;
};

std::string shown(std::span<const std::int32_t> row, const text::characters& letters) {
  std::string out;
  for (const std::int32_t token : row) {
    const std::string letter = token < static_cast<std::int32_t>(letters.size()) ? letters.decode(std::span(&token, 1)) : "_";
    out += letter == "\n" ? "|" : letter;
  }
  return out;
}

// Evaluates the windows that were held out, with other masks than in training, and shows a window with its guesses.
template <class Trainer>
result held_out(Trainer& train, const text::token_windows<tokens>& windows, const text::characters& letters,
                const text::mask_tokens& masks) {
  result out;
  double counted = 0;
  for (const auto& [inputs, targets] : loader{windows, sequential_sampler{}, batch<capacity>{}, masks, {.seed = 99}}) {
    double here = 0, right = 0;
    const double loss = train.evaluate_loss(inputs, targets);
    const auto scores = train.evaluate(inputs);
    const auto guess = [&](std::size_t i) {
      const std::span<const float> of_place(scores.data() + i * vocabulary, letters.size());
      return static_cast<std::int32_t>(std::ranges::max_element(of_place) - of_place.begin());
    };
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets.data()[i] == masks.ignore_index) continue;
      right += guess(i) == targets.data()[i] ? 1 : 0;
      ++here;
    }
    out.loss += loss * here;
    out.right += right;
    counted += here;
    if (!out.seen.empty()) continue;
    std::vector<std::int32_t> row(inputs.data(), inputs.data() + tokens);
    out.seen = shown(row, letters);
    for (std::size_t i = 0; i < tokens; ++i)
      if (targets.data()[i] != masks.ignore_index) row[i] = guess(i);
    out.guessed = shown(row, letters);
  }
  out.loss /= counted;
  out.right /= counted;
  return out;
}

void print_table() {
  report::table rows({"tokens", "TensorFlow, 2018", "store_all", "sqrt_n", "an input for each layer"});
  for (const bert_table::row& r : bert_table::largest_batches())
    rows.row({std::to_string(r.tokens), std::to_string(r.tensorflow), std::to_string(r.store_all), std::to_string(r.sqrt_n),
              std::to_string(r.layer_inputs)});
  const bert_table::layer_bytes layer = bert_table::of_a_layer();
  std::printf("\nThe largest batches of BERT-Large in 12 GB, planned and not run:\n\n%s\n"
              "A layer stores %s for a sample of 512 tokens in elements of two bytes; Megatron's formula is %s.\n",
              rows.text().c_str(), report::format_bytes(static_cast<std::size_t>(layer.stored)).c_str(),
              report::format_bytes(static_cast<std::size_t>(layer.megatron)).c_str());
}

int train_net(const job& j, const command_line& given, int count, char** words) {
  if (j.steps < 1 || j.batch < 1 || j.batch > capacity)
    given.fail("--steps is at least 1, --batch is 1 to " + std::to_string(capacity));
  // Work that may fail in one process alone is done before the processes are joined, so that none of the others waits.
  const bool first = launch::of_process(count, words).rank == 0;
  const std::string all = found_text(j.data, first ? stdout : nullptr);
  const text::characters letters(all);
  if (letters.size() > letters_at_most)
    throw input_error("expected a text of at most " + std::to_string(letters_at_most) + " different characters, found " +
                      std::to_string(letters.size()) + "; give the network a larger vocabulary in examples/bert/main.cpp");
  const auto parts = text::token_windows<tokens>(letters.encode(all)).split(0.9);
  const text::token_windows<tokens>& seen = parts[0];
  const text::token_windows<tokens> windows = parts[1].with_stride(tokens);
  const text::mask_tokens masks{.mask = mask, .vocabulary = static_cast<std::int32_t>(letters.size())};
  ranks_of_program ranks(count, words, j.ranks);

  result out;
  report::recorded_metrics metrics;
  ranks.run([&](any_rank& rank) {
    const bool speaks = rank.rank() == 0;
    trainer<ddp<Net, any_rank>, CrossEntropyLoss, AdamW, batch<capacity>> train{
        rank,
        AdamW{.learning_rate = j.learning_rate},
        {.seed = j.seed,
         .threads = j.threads,
         .learning_rate = cosine_rate{.learning_rate = j.learning_rate, .total_steps = j.steps, .warm_up = j.steps / 20},
         .loss = {.ignore_index = masks.ignore_index}}};
    if (speaks) std::printf("%s, threads in each: %zu\n", ranks.text().c_str(), train.threads());
    if (speaks) std::fflush(stdout);
    loader batches{seen, sampler{rank, 0, {.seed = j.seed}}, batch<capacity>{}, masks, {.rows = j.batch, .drop_last = true}};
    progress bar(j.steps, {.label = "training", .unit = "steps", .out = speaks ? stderr : nullptr});
    while (train.steps() < j.steps)
      for (const auto& [inputs, targets] : batches) {
        const double loss = train.step(inputs, targets);
        bar.advance(1, {{"loss", loss}});
        if (speaks) metrics.add(train.steps(), "train_loss", loss);
        if (speaks && (train.steps() == j.steps || train.steps() % 250 == 0)) {
          out = held_out(train, windows, letters, masks);
          metrics.add(train.steps(), "validation_loss", out.loss, true);
        }
        if (train.steps() == j.steps) break;
      }
    bar.finish();
  });
  if (!ranks.first()) return 0;
  std::printf("\nof held-out characters that were masked, %.1f %% are guessed; loss %.3f\n  seen:    %s\n  guessed: %s\n",
              100 * out.right, out.loss, out.seen.c_str(), out.guessed.c_str());
  print_table();
  report::write_svg(j.curve, report::draw_metrics(metrics, "Learning, examples/bert"));
  std::printf("losses are drawn in %s\n", j.curve.c_str());
  return 0;
}

} // namespace

int program(int count, char** words) {
  job j;
  j.ranks.otherwise = 1;
  command_line given("bert", "trains a small BERT on masked characters, and prints the table of batches that fit");
  j.ranks.add_to(given);
  given.add("threads", j.threads, "threads inside one operation of a rank, 0 for its share of the cores")
      .add("steps", j.steps, "training steps")
      .add("batch", j.batch, "samples of one rank in a step")
      .add("rate", j.learning_rate, "learning rate after the warm-up")
      .add("seed", j.seed, "of weights, order and masks")
      .add("data", j.data, "a text file (else $CAIRN_DATA/tinyshakespeare/input.txt, else generated sentences)")
      .add("curve", j.curve, "file for the picture of losses")
      .parse(count, words);
  try {
    return train_net(j, given, count, words);
  } catch (const std::exception& fault) {
    return given.failed(fault);
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
