// SPDX-License-Identifier: MIT
// The usual training, which may be stopped at any moment: press Ctrl-C or kill it and start it again, and it ends with the bits
// of a run that was not stopped. Its folder then has the newest states, the best one, metrics as CSV and for TensorBoard, and
// their curves.
//
//   resume --folder runs/a --epochs 5             (again, after a Ctrl-C)
//   resume --folder runs/a --epochs 5 --stop-after 300
//   resume --folder runs/proof --prove 1          three runs: whole, stopped, resumed; and whether the weights are equal
//
// long to compile
// needs: safetensors
// test: --folder resume_proof --prove 1 --epochs 2 --samples 1000
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include <cairn/cairn.hpp>
#include <cairn/report/charts.hpp>
#include <cairn/train/state/saved_states.hpp>

#include "command_line.hpp"
#include "found_digits.hpp"

namespace mine {

using namespace cairn;

namespace {

using Net = Sequential<Linear<784, 128>, ReLU, Dropout<percent<20>>, Linear<128, 10>>;
using Model = ddp<checkpoint<sqrt_n, Net>, threads::rank>;

// A callback of your own: asks all ranks to stop after `steps` steps, as a signal would.
struct stops_after {
  std::uint64_t steps; // 0: never
  void on_step(auto& run) const {
    if (run.step() == steps) run.train().request_stop();
  }
};

struct job {
  std::string folder = "resume_run", data;
  std::size_t epochs = 5, ranks = 2, samples = 9000;
  std::uint64_t seed = 1, stop_after = 0;
  int prove = 0;
};

// Trains, or continues training, and returns a checksum of the weights.
std::uint64_t run(const job& j, const vision::digit_images<float>& digits) {
  std::uint64_t weights = 0;
  threads{static_cast<int>(j.ranks)}.run([&](threads::rank& rank) {
    loader batches{digits.train, sampler{rank, 0, {.seed = j.seed}}, batch<64>{}};
    const cosine_rate falling{.learning_rate = 2e-3, .total_steps = j.epochs * batches.size(), .warm_up = batches.size() / 4};
    trainer<Model, CrossEntropyLoss, AdamW, batch<64>> train{
        rank, AdamW{.weight_decay = 0.01}, {.seed = j.seed, .learning_rate = falling, .clip = {1}}};
    const types::fit_result end =
        fit(train, batches, {.max_epochs = j.epochs}, report::start_line{},
            validation{digits.test, sampler{rank, 0, {.shuffle = false}}, batch<64>{}, metrics::Accuracy{}},
            early_stopping{{.patience = 3}}, saved_states{j.folder, {.monitor = "val_loss"}}, progress_bar{},
            csv_log{j.folder + "/metrics.csv"}, tensorboard_log{j.folder}, report::metrics_picture{j.folder + "/curves.svg"},
            stops_after{j.stop_after});
    if (rank.rank() != 0) return;
    weights = train.checksum();
    std::printf("%s: %s after step %llu, weights %s\n", j.folder.c_str(), end.why.c_str(),
                static_cast<unsigned long long>(end.steps), report::format_checksum(weights).c_str());
  });
  return weights;
}

// 0 if a run that was stopped and resumed ends like one that was not stopped.
int prove(job j, const vision::digit_images<float>& digits) {
  const std::string folder = j.folder;
  std::filesystem::remove_all(folder);
  j.folder = folder + "/whole";
  const std::uint64_t whole = run(j, digits);
  j.folder = folder + "/stopped";
  j.stop_after = 5;
  const std::uint64_t stopped = run(j, digits);
  j.stop_after = 0;
  const std::uint64_t taken_up = run(j, digits);
  std::printf("stopped and taken up %s the run that nothing stopped\n", taken_up == whole ? "equals" : "DIFFERS FROM");
  return taken_up == whole && stopped != whole ? 0 : 1;
}

} // namespace

int program(int count, char** words) {
  job j;
  command_line given("resume", "trains digits, and goes on where it was stopped");
  given.add("folder", j.folder, "where states, metrics and pictures go")
      .add("epochs", j.epochs, "times that all images are seen, at most")
      .add("ranks", j.ranks, "data-parallel ranks")
      .add("samples", j.samples, "generated images to train with")
      .add("seed", j.seed, "of weights, order and dropout")
      .add("stop-after", j.stop_after, "stop in order after this step, as a signal would; 0: never")
      .add("prove", j.prove, "1: compare a run that is stopped with one that is not")
      .add("data", j.data, "folder with MNIST's four files (else $CAIRN_DATA/mnist, else generated digits)")
      .parse(count, words);
  try {
    const auto digits = found_digits(j.data, stdout, {.train = j.samples, .test = 1000});
    if (j.prove != 0) return prove(j, digits);
    run(j, digits);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "resume: %s\n", fault.what());
    return 1;
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
