// SPDX-License-Identifier: MIT
// A GPT that learns to write like a text, character by character: 4 layers of width 128 that see 64 characters, as in nanoGPT's
// example for a CPU. Each checkpoint policy is one compiled instantiation, picked from a table; a schedule for a budget of bytes is
// solved at run time. At the end it writes a sample.
//
// uses: ranks_of_program
// test: --steps 4 --batch 4
// test: --steps 2 --batch 2 --policy all --ranks 2
// test: --steps 2 --batch 2 --budget 8MiB --write 100 --prompt the --top-k 5 --weights int8
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/data/text/text.hpp>
#include <cairn/report/charts.hpp>

#include "../arena_use.hpp"
#include "../command_line.hpp"
#include "../found_text.hpp"
#include "../ranks_of_program/ranks_of_program.hpp"
#include "../text_to_learn.hpp"

namespace mine {

using namespace cairn;

namespace {

constexpr std::size_t vocabulary = 65; // the characters of tiny Shakespeare; a text may have fewer
constexpr std::size_t tokens = 64, width = 128, heads = 4, layers = 4;
constexpr std::size_t capacity = 12; // samples of one rank in a step, at most

// The head is tied to the table of characters, so both start small, as in GPT-2: the first loss is the logarithm of the vocabulary.
using Small = normal_weights<percent<2>>;
using Characters = initialized<Embedding<vocabulary, width>, Small>;
using Layer = TransformerEncoderLayer<width, heads, 4 * width, GELU, attention::norm_first, attention::causal>;
using Net = Sequential<Inputs<integers<tokens>>, Characters, initialized<LearnedPositions<tokens, width>, Small>,
                       Repeat<layers, Layer>, LayerNorm<width>, Tied<Linear<width, vocabulary, false>, Characters>>;
static_assert(peak_activation_bytes<Net, capacity> < 27_MiB);
static_assert(peak_activation_bytes<checkpoint<budget<8_MiB>, Net>, capacity> <= 8_MiB);

struct job {
  std::string policy, budget, data;
  ranks_of_program::told ranks;
  std::size_t threads = 0; // of each rank; 0: its share of the cores
  std::size_t steps = 2000;
  std::size_t batch = capacity;
  std::size_t written = 500; // characters of the sample
  double learning_rate = 1e-3;
  double temperature = 0.8;
  std::size_t top_k = 0;
  std::string prompt;
  std::string weights = "float"; // the numbers in which the model that writes packs its weights
  std::uint64_t seed = 1;
  std::string curve = "gpt_curve.svg";
};

using material = text_to_learn<tokens>;

struct result {
  std::size_t planned = 0, measured = 0; // bytes of the arena, and those that a step wrote
  double step_seconds = 0;               // median
  double seconds = 0;                    // of all steps
  double held_out = 0;                   // loss
  std::uint64_t weights = 0;
  double tokens_a_second = 0;   // of the sample
  double held_out_of_model = 0; // with its packed weights
  std::string sample;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Policy>
using model = ddp<checkpoint<Policy, Net>, any_rank, bucket_bytes<1_MiB>>;
using solved_curve = memory_curve<Net, capacity>;
using solved_step = solved_curve::step;

ops::weight_format format_of(const std::string& word) {
  if (word == "float") return ops::weight_format::own;
  if (word == "bfloat16") return ops::weight_format::bfloat16;
  if (word == "int8") return ops::weight_format::int8;
  throw input_error("expected --weights float, bfloat16 or int8, found '" + word + "'");
}

// Writes on after the prompt, or after a line break.
template <class Trainer>
void write(const Trainer& train, const material& m, const job& j, result& out) {
  const text::characters& letters = m.letters;
  cairn::model<Net, batch<1>> net{{.weights = format_of(j.weights)}};
  net.copy_parameters(train);
  if (j.weights != "float") out.held_out_of_model = held_out_loss_of_model<1>(net, m.held_out());
  const std::vector<std::int32_t> prompt = j.prompt.empty() ? std::vector<std::int32_t>{0} : letters.encode(j.prompt);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::int32_t> written = text::generate(net, prompt,
                                                           {.tokens = j.written,
                                                            .temperature = j.temperature,
                                                            .top_k = j.top_k,
                                                            .vocabulary = letters.size(),
                                                            .seed = j.seed,
                                                            .threads = j.threads});
  out.tokens_a_second = static_cast<double>(written.size()) / seconds_since(start);
  out.sample = j.prompt + letters.decode(written);
}

// If a solved step is given, the compiled schedule of Policy is not used. Only rank 0 knows the result.
template <class Policy>
result run(ranks_of_program& ranks, const job& j, const material& m, const solved_step& solved, report::recorded_metrics& curve) {
  result out;
  ranks.run([&](any_rank& rank) {
    const bool first = rank.rank() == 0;
    trainer<model<Policy>, CrossEntropyLoss, AdamW, batch<capacity>> train{
        rank,
        AdamW{.learning_rate = j.learning_rate, .betas = {0.9, 0.99}, .weight_decay = 0.1},
        {.seed = j.seed,
         .threads = j.threads,
         .learning_rate = cosine_rate{.learning_rate = j.learning_rate,
                                      .total_steps = j.steps,
                                      .warm_up = j.steps / 20,
                                      .start_factor = 0.01,
                                      .min_rate = j.learning_rate / 10},
         .clip = {.max_norm = 1},
         .schedule = solved}};
    if (first) std::printf("%s, threads in each: %zu\n", ranks.text().c_str(), train.threads());
    if (first) std::fflush(stdout);
    mark_untouched_arena(train);
    // An epoch is all windows of the text, in a random order; a training sees a small part of one.
    loader batches{m.train(), sampler{rank, 0, {.seed = j.seed}}, batch<capacity>{}, {.rows = j.batch, .drop_last = true}};
    progress bar(j.steps, {.label = "training", .unit = "steps", .out = first ? stderr : nullptr});
    std::vector<double> seconds;
    seconds.reserve(j.steps);
    while (seconds.size() < j.steps)
      for (const auto& [inputs, targets] : batches) {
        const auto start = std::chrono::steady_clock::now();
        const double loss = train.step(inputs, targets);
        seconds.push_back(seconds_since(start));
        bar.advance(1, {{"loss", loss}});
        if (first) curve.add(train.steps(), "train_loss", loss);
        if (first && seconds.size() == 1) out.measured = used_bytes_of_arena(train);
        const bool last = seconds.size() == j.steps;
        if (first && (last || seconds.size() % 250 == 0)) {
          out.held_out = held_out_loss<capacity>(train, m.held_out());
          curve.add(train.steps(), "validation_loss", out.held_out, true);
        }
        if (last) break;
      }
    bar.finish();
    if (!first) return;
    out.planned = train.arena_bytes();
    out.weights = train.checksum();
    for (const double s : seconds) out.seconds += s;
    std::ranges::sort(seconds);
    out.step_seconds = seconds[seconds.size() / 2];
    write(train, m, j, out);
  });
  return out;
}

// One row of the table: a name on the command line, and its instantiation.
struct entry {
  const char* name;
  result (*run)(ranks_of_program&, const job&, const material&, const solved_step&, report::recorded_metrics&);
};
constexpr std::array<entry, 4> policies{{{"store_all", &run<store_all>},
                                         {"sqrt_n", &run<sqrt_n>},
                                         {"recompute_all", &run<recompute_all>},
                                         {"budget<8_MiB>", &run<budget<8_MiB>>}}};

std::vector<entry> chosen_by(const job& j, const command_line& given) {
  std::vector<entry> chosen;
  if (j.policy.empty() && !j.budget.empty()) return chosen;
  std::string names;
  for (const entry& e : policies) {
    if (j.policy == "all" || (j.policy.empty() ? "store_all" : j.policy) == e.name) chosen.push_back(e);
    names += std::string(names.empty() ? "" : ", ") + e.name;
  }
  if (chosen.empty()) given.fail("--policy cannot be " + j.policy + ": it is one of " + names + ", or all");
  return chosen;
}

int train_chosen(const job& j, const command_line& given, int count, char** words) {
  const std::vector<entry> chosen = chosen_by(j, given);
  if (j.steps < 1 || j.batch < 1 || j.batch > capacity)
    given.fail("--steps is at least 1, --batch is 1 to " + std::to_string(capacity));
  if (!(j.temperature >= 0)) given.fail("--temperature is 0 or more");
  // Work that may fail in one process alone is done before the processes are joined, so that none of the others waits.
  const bool first = launch::of_process(count, words).rank == 0;
  const material m(found_text(j.data, first ? stdout : nullptr), vocabulary, "examples/gpt/main.cpp");
  std::optional<solved_curve> curve;
  solved_step solved;
  if (!j.budget.empty()) solved = curve.emplace().within(report::parse_bytes(j.budget));
  ranks_of_program ranks(count, words, j.ranks);

  using plan = blueprint_of<Net, capacity>;
  if (ranks.first())
    std::printf(
        "network: %zu layers of width %zu, %s parameters; %zu characters to train with, %zu held out; %d ranks x %zu samples\n",
        layers, width, report::format_count(plan::parameters).c_str(), m.train().tokens().size(), m.held_out().tokens().size(),
        ranks.size(), j.batch);
  report::table results({"policy", "ranks", "peak planned", "peak measured", "step", "all steps", "held-out loss", "weights"});
  report::recorded_metrics metrics;
  result last;
  const auto train = [&](const std::string& name, auto* how, const solved_step& step) {
    if (ranks.first()) std::printf("policy %s, ", name.c_str());
    metrics = {};
    last = how(ranks, j, m, step, metrics);
    results.row({name, std::to_string(ranks.size()), report::format_bytes(last.planned), report::format_bytes(last.measured),
                 report::format_duration(last.step_seconds), report::format_duration(last.seconds),
                 report::format_fixed(last.held_out, 3), report::format_checksum(last.weights)});
  };
  for (const entry& e : chosen) train(e.name, e.run, {});
  if (curve) train("budget " + j.budget, &run<store_all>, solved);
  if (!ranks.first()) return 0;
  std::printf("\n%s\n%s\n\nwritten at %.0f characters a second\n", results.text().c_str(), last.sample.c_str(),
              last.tokens_a_second);
  if (j.weights != "float")
    std::printf("held-out loss: %.4f, and %.4f with weights of %s\n", last.held_out, last.held_out_of_model, j.weights.c_str());
  report::write_svg(j.curve, report::draw_metrics(metrics, "Learning, examples/gpt"));
  std::printf("losses are drawn in %s\n", j.curve.c_str());
  return 0;
}

} // namespace

int program(int count, char** words) {
  job j;
  j.ranks.otherwise = 1;
  command_line given("gpt", "trains a small GPT on the characters of a text, and lets it write");
  j.ranks.add_to(given);
  given.add("policy", j.policy, "checkpoint policy, or all: each trains anew [store_all, without --budget]")
      .add("budget", j.budget, "most bytes of a step, such as 7MiB: its schedule is solved now")
      .add("threads", j.threads, "threads inside one operation of a rank, 0 for its share of the cores")
      .add("steps", j.steps, "training steps")
      .add("batch", j.batch, "samples of one rank in a step")
      .add("rate", j.learning_rate, "learning rate after the warm-up")
      .add("seed", j.seed, "of weights, order and the sample")
      .add("data", j.data, "a text file (else $CAIRN_DATA/tinyshakespeare/input.txt, else generated sentences)")
      .add("weights", j.weights, "float, bfloat16 or int8: of the model that writes")
      .add("write", j.written, "characters of the sample")
      .add("prompt", j.prompt, "how the sample begins")
      .add("temperature", j.temperature, "below 1 the sample is more likely, above 1 less; 0: always the likeliest character")
      .add("top-k", j.top_k, "draw from the so many likeliest characters, 0 for all")
      .add("curve", j.curve, "file for the picture of losses")
      .parse(count, words);
  try {
    return train_chosen(j, given, count, words);
  } catch (const std::exception& fault) {
    return given.failed(fault);
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
