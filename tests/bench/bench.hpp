// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/random_normal.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

// The choices of the command line, named as in the peers' programs.
struct request {
  std::string workload;
  std::string mode = "naive";
  std::size_t threads = 1;
  std::size_t world = 1;
  std::size_t steps = 30;
  std::size_t warmup = 5;
  std::size_t depth = 0;
  std::size_t num_hl = 0;
  std::size_t hl_size = 10;
  std::size_t rows = 1;
  double bucket_mb = 25;
  std::string communicator = "threads";
  std::string type = "float"; // of the network's elements
  // For `predict`: figures that were measured before.
  double step_ms = 20;
  double update_ms = 0;
  double latency_us = 10;
  double gbytes = 1;
  double taken = 0;
};

// One line of output. step_ms is the median over the steps, of the slowest rank. step_mib is the most bytes that a step needs
// beyond parameters, optimizer state and batch: gradients_mib for gradients in a buffer of their own, and activations_mib for the
// arena, which with a fused update also holds the gradients that are there at a time. scratch_mib is the room that products have
// for packing besides, for the whole process. exposed_ms is how long a step waits for communication.
struct figures {
  std::string mode;
  std::size_t batch = 0, depth = 0, parameters = 0, arena = 0;
  bool fused = false;
  double flops = 0; // of one step of one rank
  std::vector<double> milliseconds{};
  std::vector<double> exposed{};
  double predicted = 0; // milliseconds of a step, by the measured costs of its stages; 0 if it was not asked for
  double first_loss = 0, last_loss = 0;
};

inline double median(std::vector<double> list) {
  if (list.empty()) return 0;
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

inline void print(const request& asked, const figures& f) {
  const double step = median(f.milliseconds);
  const double least = *std::min_element(f.milliseconds.begin(), f.milliseconds.end());
  const double gradients = f.fused ? 0 : static_cast<double>(f.parameters) * 4 / 0x1p20;
  std::printf("{\"peer\": \"cairn\", \"workload\": \"%s\", \"mode\": \"%s\", \"type\": \"%s\", \"communicator\": \"%s\", "
              "\"threads\": %zu, \"world\": %zu, "
              "\"batch\": %zu, "
              "\"depth\": %zu, \"num_hl\": %zu, \"hl_size\": %zu, \"parameters\": %zu, \"step_ms\": %.5f, "
              "\"step_ms_min\": %.5f, \"step_mib\": %.3f, \"gradients_mib\": %.3f, \"activations_mib\": %.3f, "
              "\"scratch_mib\": %zu, \"flops\": %.0f, \"gflops\": %.2f, \"bucket_mb\": %g, \"exposed_ms\": %.4f, "
              "\"predicted_ms\": %.4f, "
              "\"first_loss\": %.6g, \"last_loss\": %.6g}\n",
              asked.workload.c_str(), f.mode.c_str(), asked.type.c_str(), asked.communicator.c_str(), asked.threads, asked.world,
              f.batch, f.depth, asked.num_hl, asked.hl_size, f.parameters, step, least,
              gradients + static_cast<double>(f.arena) / 0x1p20, gradients, static_cast<double>(f.arena) / 0x1p20,
              asked.threads * asked.world * (cairn::cpu::queue::scratch_bytes >> 20), f.flops, f.flops / step / 1e6,
              asked.bucket_mb, median(f.exposed), f.predicted, f.first_loss, f.last_loss);
  std::fflush(stdout);
}

// Inputs and targets of one batch: normal numbers, or classes as targets where the loss takes those.
template <class Loss, class Trainer>
struct samples {
  using target = std::conditional_t<Loss::template takes<float, int>, int, float>;
  std::vector<float> inputs;
  std::vector<target> targets;

  samples(std::size_t rows, std::uint64_t seed)
      : inputs(rows * Trainer::input_shape.size()), targets(rows * Trainer::targets_per_sample) {
    cairn::ops::fill_normal(std::span<float>(inputs), cairn::types::random_key{.seed = seed, .position = 0});
    if constexpr (std::is_same_v<target, int>) {
      const cairn::types::random_key key{.seed = seed, .position = 1};
      for (std::size_t i = 0; i < targets.size(); ++i)
        targets[i] = static_cast<int>(cairn::ops::random_bits(key, i) % Trainer::output_shape.last());
    } else {
      cairn::ops::fill_normal(std::span<float>(targets), cairn::types::random_key{.seed = seed, .position = 1});
    }
  }
};

// Runs warm-up and steps on one trainer; `after` is called after the warm-up and after each step.
template <class Trainer, class Batch, class After>
void run_steps_on(const request& asked, Trainer& train, const Batch& batch, figures& out, After after) {
  out.first_loss = train.step(batch.inputs, batch.targets);
  for (std::size_t i = 0; i < asked.warmup; ++i) train.step(batch.inputs, batch.targets);
  after();
  out.milliseconds.reserve(asked.steps);
  for (std::size_t i = 0; i < asked.steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    out.last_loss = train.step(batch.inputs, batch.targets);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    out.milliseconds.push_back(took.count());
    after();
  }
}
template <class Loss, class Trainer, class After>
void run_steps(const request& asked, Trainer& train, std::size_t rows, std::uint64_t seed, figures& out, After after) {
  run_steps_on(asked, train, samples<Loss, Trainer>(rows, seed), out, after);
}

template <class Model, std::size_t Batch, class T = float>
figures describe_step(const char* mode, std::size_t depth) {
  using plan = cairn::blueprint_of<Model, Batch, T>;
  figures out;
  out.mode = mode;
  out.batch = Batch;
  out.depth = depth;
  out.parameters = plan::parameters;
  out.arena = plan::trained::memory.arena;
  out.fused = plan::fused;
  out.flops = static_cast<double>(cairn::plan::flops(plan::whole, plan::training.ops())) * static_cast<double>(Batch);
  return out;
}

// Measures the steps of one process; `prepare` may change the trainer's parameters first.
template <class Model, class Loss, std::size_t Batch, class T = float, class Prepare>
void measure(const request& asked, const char* mode, std::size_t depth, cairn::SGD optimizer, Prepare prepare,
             double predicted = 0) {
  using namespace cairn;
  figures out = describe_step<Model, Batch, T>(mode, depth);
  out.predicted = predicted;
  trainer<Model, Loss, SGD, batch<Batch>, T> train{optimizer, {.threads = asked.threads}};
  prepare(train);
  run_steps<Loss>(asked, train, Batch, 1, out, [] {});
  print(asked, out);
}

// Each returns false if it does not have the requested variant.
bool bench_answers(const request&);
bool bench_ffnet(const request&);
bool bench_mlp(const request&);
bool bench_chain(const request&);
bool bench_densenet(const request&);
bool bench_generate(const request&);
bool bench_gpt(const request&);
bool bench_vgg(const request&);
bool bench_ddp(const request&);
bool bench_ddp_mpi(const request&);
bool bench_ping(const request&);
bool bench_ping_mpi(const request&);
bool bench_predict(const request&);
bool bench_precision(const request&);
bool bench_machine(const request&);
bool bench_products(const request&);
bool bench_convolutions(const request&);
