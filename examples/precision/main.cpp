// SPDX-License-Identifier: MIT
// Two networks in three types of elements, float, bfloat16 and float16, which learn side by side: one reads digits, one is a small
// GPT that learns the characters of a text. It prints what each type takes in memory and time, and what it has learnt at the
// end, and draws both.
//
// long to compile
// test: --steps 3 --batch 2 --samples 64
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/data/text/text.hpp>
#include <cairn/report/charts.hpp>

#include "../command_line.hpp"
#include "../found_digits.hpp"
#include "../found_text.hpp"
#include "../text_to_learn.hpp"

namespace mine {

using namespace cairn;

namespace {

using Digits = Sequential<Linear<784, 512>, ReLU, Linear<512, 512>, ReLU, Linear<512, 10>>;
constexpr std::size_t digits_capacity = 128;

constexpr std::size_t vocabulary = 65, tokens = 64, width = 128, heads = 4, layers = 4;
using Small = normal_weights<percent<2>>;
using Characters = initialized<Embedding<vocabulary, width>, Small>;
using Layer = TransformerEncoderLayer<width, heads, 4 * width, GELU, attention::norm_first, attention::causal>;
using Gpt = Sequential<Inputs<integers<tokens>>, Characters, initialized<LearnedPositions<tokens, width>, Small>,
                       Repeat<layers, Layer>, LayerNorm<width>, Tied<Linear<width, vocabulary, false>, Characters>>;
constexpr std::size_t gpt_capacity = 12;

struct job {
  std::string network = "both", digits, text;
  std::size_t threads = 1;
  std::size_t steps = 2000;
  std::size_t batch = 0; // 0: each network's own
  std::size_t samples = 4000;
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;
  std::string picture = "precision.svg";
};

// A network with elements of type T, and what was seen of it.
template <class Net, std::size_t Rows, class T>
struct contestant {
  using trainer_type = trainer<Net, CrossEntropyLoss, AdamW, batch<Rows>, T>;

  const char* name;
  const char* colour;
  trainer_type train;
  std::vector<double> seconds{};
  std::vector<report::chart_point> learnt{};

  contestant(const char* called, const char* ink, const job& j)
      : name(called), colour(ink),
        train(AdamW{.learning_rate = j.learning_rate, .betas = {0.9, 0.99}, .weight_decay = 0.1}, options_of(j)) {}

  static typename trainer_type::options options_of(const job& j) {
    typename trainer_type::options out{.seed = j.seed,
                                       .threads = j.threads,
                                       .learning_rate = cosine_rate{.learning_rate = j.learning_rate,
                                                                    .total_steps = j.steps,
                                                                    .warm_up = j.steps / 20,
                                                                    .start_factor = 0.01,
                                                                    .min_rate = j.learning_rate / 10},
                                       .clip = {.max_norm = 1}};
    if constexpr (std::is_same_v<T, float16>) out.loss_scale = dynamic_scale{};
    return out;
  }

  double step(const auto& inputs, const auto& targets) {
    const auto start = std::chrono::steady_clock::now();
    const double loss = train.step(inputs, targets);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return loss;
  }

  double median() const {
    std::vector<double> sorted = seconds;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::ranges::nth_element(sorted, middle);
    return *middle;
  }
};

// Trains a network in the three types, prints a table, and returns the curves of `learnt_by`, a number that says what a trainer
// has learnt, on data that it does not train with.
template <class Net, std::size_t Rows>
report::line_chart compare(const job& j, const char* network, const char* learnt, int digits_after_point, auto& batches,
                           auto learnt_by) {
  contestant<Net, Rows, float> by_float("float", "#2f6db3", j);
  contestant<Net, Rows, bfloat16> by_bfloat16("bfloat16", "#c77f0a", j);
  contestant<Net, Rows, float16> by_float16("float16", "#a02c6b", j);
  const std::tuple all = std::tie(by_float, by_bfloat16, by_float16);
  {
    progress bar(j.steps, {.label = network, .unit = "steps of each type"});
    std::size_t done = 0;
    while (done < j.steps)
      for (const auto& samples : batches) {
        // They take each step in turn, so that what else the machine does costs them alike.
        double loss = 0;
        std::apply([&](auto&... one) { ((loss = one.step(samples.inputs, samples.targets)), ...); }, all);
        bar.advance(1, {{"loss", loss}});
        if (++done % 250 == 0 || done == j.steps)
          std::apply([&](auto&... one) { (one.learnt.push_back({static_cast<double>(done), learnt_by(one.train)}), ...); }, all);
        if (done == j.steps) break;
      }
  }

  report::table results({"type", "activations", "all memory", "step", "of float's", learnt, "skipped updates"});
  report::line_chart chart{network, {"steps"}, {learnt}};
  const auto show = [&](const auto& one) {
    const types::training_memory bytes = one.train.memory();
    const std::string end = report::format_fixed(one.learnt.back().y, digits_after_point);
    results.row({one.name, report::format_bytes(bytes.activations), report::format_bytes(bytes.machine()),
                 report::format_duration(one.median()), report::format_fixed(one.median() / by_float.median(), 2) + " ×", end,
                 std::to_string(one.train.skipped_updates())});
    chart.lines.push_back({one.name, end, one.colour, one.learnt});
  };
  std::apply([&](const auto&... one) { (show(one), ...); }, all);
  std::printf("\n%s\n%s\n", network, results.text().c_str());
  std::fflush(stdout);
  return chart;
}

// As many samples as a step takes.
template <std::size_t Rows>
std::size_t rows_of(const job& j) {
  return j.batch == 0 ? Rows : std::min(j.batch, Rows);
}

report::line_chart read_digits(const job& j) {
  const auto digits = found_digits(j.digits, stdout, {.train = j.samples});
  loader batches{digits.train,
                 distributed_sampler{{.seed = j.seed}},
                 batch<digits_capacity>{},
                 {.rows = rows_of<digits_capacity>(j), .drop_last = true}};
  return compare<Digits, digits_capacity>(j, "digits, 784-512-512-10", "test accuracy, %", 2, batches, [&](auto& train) {
    return 100 * accuracy(train, loader{digits.test, sequential_sampler{}, batch<digits_capacity>{}});
  });
}

report::line_chart write_text(const job& j) {
  const text_to_learn<tokens> text(found_text(j.text), vocabulary, "examples/precision/main.cpp");
  loader batches{text.train(),
                 distributed_sampler{{.seed = j.seed}},
                 batch<gpt_capacity>{},
                 {.rows = rows_of<gpt_capacity>(j), .drop_last = true}};
  return compare<Gpt, gpt_capacity>(j, "a GPT, 4 layers of width 128, 64 tokens", "loss on held-out text", 3, batches,
                                    [&](auto& train) { return held_out_loss<gpt_capacity>(train, text.held_out()); });
}

int run(const job& j) {
  std::printf("threads inside one operation: %zu\n", j.threads);
  std::vector<report::line_chart> charts;
  if (j.network != "gpt") charts.push_back(read_digits(j));
  if (j.network != "digits") charts.push_back(write_text(j));
  report::write_svg(j.picture, report::draw_line_charts(charts, {.title = "What three types of elements learn"}));
  std::printf("what they learnt is drawn in %s\n", j.picture.c_str());
  return 0;
}

} // namespace

int program(int count, char** words) {
  job j;
  command_line given("precision", "trains two networks in float, bfloat16 and float16 side by side");
  given.add("network", j.network, "digits, gpt or both")
      .add("threads", j.threads, "threads inside one operation")
      .add("steps", j.steps, "training steps")
      .add("batch", j.batch, "samples in a step, at most 128 of digits and 12 of the text; 0 for these")
      .add("samples", j.samples, "digits that are drawn to train with, where there is no MNIST")
      .add("rate", j.learning_rate, "learning rate after the warm-up")
      .add("seed", j.seed, "of weights and order")
      .add("digits", j.digits, "a folder with MNIST (else $CAIRN_DATA/mnist, else generated digits)")
      .add("text", j.text, "a text file (else $CAIRN_DATA/tinyshakespeare/input.txt, else generated sentences)")
      .add("picture", j.picture, "file for the picture")
      .parse(count, words);
  if (j.network != "both" && j.network != "digits" && j.network != "gpt") given.fail("--network is digits, gpt or both");
  if (j.steps < 1 || j.threads < 1) given.fail("--steps and --threads are at least 1");
  try {
    return run(j);
  } catch (const std::exception& fault) {
    return given.failed(fault);
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
