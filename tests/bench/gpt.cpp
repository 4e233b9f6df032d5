// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/measured_costs.hpp>
#include <cairn/train/predicted_step.hpp>

#include "networks.hpp"

using namespace cairn;

namespace {

using net = gpt::net;

// `Stored` is the model without its policy: the measured costs of its stages predict the time of any policy.
template <class Model, class Stored = Model>
bool run(const request& asked, const char* mode) {
  if (asked.mode != mode || asked.world != 1) return false;
  figures out = describe_step<Model, gpt::rows>(mode, 4);
  if constexpr (!blueprint_of<Model, gpt::rows>::fused) {
    const auto costs = plan::measured_costs<Stored, gpt::rows>({.threads = asked.threads});
    const auto times = plan::op_times<Model, batch<gpt::rows>>::of_stages(costs);
    for (const double seconds : times.ops()) out.predicted += 1e3 * seconds;
  }
  trainer<Model, CrossEntropyLoss, AdamW, batch<gpt::rows>> train{gpt::optimizer, {.threads = asked.threads}};
  gpt::run_steps(asked, train, 1, out, [] {});
  print(asked, out);
  return true;
}

// Ranks of threads, one thread each; the steps of rank 0 are timed. All begin a step together, as its end waits for all.
bool run_ranks(const request& asked) {
  if (asked.mode != "naive" || asked.world == 1 || asked.communicator != "threads") return false;
  figures out = describe_step<net, gpt::rows>("naive", 4);
  threads(static_cast<int>(asked.world)).run([&](threads::rank& rank) {
    trainer<ddp<net, threads::rank>, CrossEntropyLoss, AdamW, batch<gpt::rows>> train{rank, gpt::optimizer, {.threads = 1}};
    figures own = out;
    gpt::run_steps(asked, train, static_cast<std::uint64_t>(rank.rank()), own, [] {});
    if (rank.rank() == 0) out = own;
  });
  print(asked, out);
  return true;
}

// The attention of `Rows` samples of `Tokens` tokens alone, forward and backward, causal.
template <std::size_t Rows, std::size_t Tokens, std::size_t Heads, std::size_t Width>
bool run_attention(const request& asked, const char* mode) {
  if (asked.mode != mode) return false;
  constexpr std::size_t columns = Heads * Width, stride = 3 * columns;
  std::vector<float> in(Rows * Tokens * stride), gradients(in.size()), out(Rows * Tokens * columns), dy(out.size());
  std::vector<float> log_sums(Rows * Heads * Tokens);
  ops::fill_normal(std::span<float>(in), types::random_key{.seed = 1});
  ops::fill_normal(std::span<float>(dy), types::random_key{.seed = 2});
  const ops::attention_extents of{.samples = Rows,
                                  .queries = Tokens,
                                  .keys = Tokens,
                                  .heads = Heads,
                                  .key_heads = Heads,
                                  .width = Width,
                                  .band = attention::causal::keys};
  const ops::attention_operands<const float> from{in.data(), in.data() + columns, in.data() + 2 * columns, stride, stride};
  const ops::attention_operands<float> to{gradients.data(), gradients.data() + columns, gradients.data() + 2 * columns, stride,
                                          stride};
  cpu device({.threads = asked.threads});
  figures figure;
  figure.mode = mode;
  figure.batch = Rows;
  // Two products forward and five backward, over half of the keys.
  figure.flops = 7.0 * static_cast<double>(Rows * Heads * Tokens) * static_cast<double>((Tokens + 1) * Width);
  for (std::size_t i = 0; i < asked.warmup + asked.steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    attention_forward(device.compute(), of, out.data(), log_sums.data(), from);
    attention_backward(device.compute(), of, to, dy.data(), out.data(), log_sums.data(), from);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (i >= asked.warmup) figure.milliseconds.push_back(took.count());
  }
  print(asked, figure);
  return true;
}

} // namespace

bool bench_gpt(const request& asked) {
  return run<net>(asked, "naive") || run<checkpoint<budget<8_MiB>, net>, net>(asked, "budget_8") ||
         run<fused_update<checkpoint<budget<10_MiB>, net>>>(asked, "fused_10") || run_ranks(asked) ||
         run_attention<12, 64, 4, 32>(asked, "attention_64") || run_attention<2, 256, 12, 64>(asked, "attention_256") ||
         run_attention<1, 1024, 12, 64>(asked, "attention_1024");
}
