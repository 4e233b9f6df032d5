// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>

#include "networks.hpp"
#include "parts.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

// How the host puts a step on the GPU: each op by a call, one graph whose ops follow one another, or one graph with products
// beside each other.
struct way {
  const char* name;
  bool graphs, branches;
};
constexpr way ways[] = {{"eager", false, false}, {"graph", true, false}, {"branches", true, true}};

struct step_figures {
  std::size_t batch, arena;
  double ms, loss;
};

// The time runs from when all earlier work is done until all steps are, including the batches' transfer to the GPU.
template <class Model, std::size_t Batch>
step_figures run(const request& asked, const way& how) {
  using type = trainer<Model, CrossEntropyLoss, SGD, batch<Batch>, float, cuda>;
  detail::cuda_graphs::makes_branches = how.branches;
  step_figures found{Batch, peak_activation_bytes<Model, Batch>, 0, 0};
  type train{sgd_of_steps, {.graphs = how.graphs}};
  const random_batch data(Batch, type::input_shape.size());
  const auto step = [&] {
    for (std::size_t i = 0; i + 1 < asked.steps; ++i) train.step(data.x, data.y);
    found.loss = train.step(data.x, data.y); // reading the loss waits
  };
  found.ms = milliseconds(step, [] {}, 0, asked.smaller > 1 ? 1 : 5) / static_cast<double>(asked.steps);
  return found;
}

struct measured_step {
  const char *name, *policy;
  step_figures (*run)(const request&, const way&);
};
const measured_step all_steps[] = {{"mlp", "store_all", run<mlp, 128>},
                                   {"mlp", "sqrt_n", run<checkpoint<sqrt_n, mlp>, 128>},
                                   {"chain 10", "store_all", run<chain<10>, 1024>},
                                   {"chain 10", "sqrt_n", run<checkpoint<sqrt_n, chain<10>>, 1024>},
                                   {"chain 100", "store_all", run<chain<100>, 1024>},
                                   {"chain 100", "sqrt_n", run<checkpoint<sqrt_n, chain<100>>, 1024>}};

} // namespace

void list_steps() {
  for (const measured_step& s : all_steps) std::printf("step %s %s\n", s.name, s.policy);
}

void measure_steps(const request& asked) {
  table rows({"network", "policy", "batch", "eager ms", "graph ms", "branches ms", "arena MiB"});
  for (const measured_step& s : all_steps) {
    std::vector<step_figures> found;
    for (const way& how : ways) found.push_back(s.run(asked, how));
    std::vector<std::string> cells{s.name, s.policy, std::to_string(found[0].batch)};
    for (const step_figures& f : found) cells.push_back(number(f.ms));
    cells.push_back(number(static_cast<double>(found[0].arena) / 0x1p20));
    rows.row(cells);
  }
}

bool measure_step(const request& asked) {
  for (const measured_step& s : all_steps)
    for (const way& how : ways) {
      const std::string name = std::string(s.name) + " " + s.policy;
      if (asked.step != name + " " + how.name && (asked.step != name || !how.branches)) continue;
      const step_figures f = s.run(asked, how);
      std::printf("{\"network\": \"%s\", \"policy\": \"%s\", \"way\": \"%s\", \"batch\": %zu, \"ms\": %.6f, "
                  "\"arena_bytes\": %zu, \"loss\": %.6g}\n",
                  s.name, s.policy, how.name, f.batch, f.ms, f.arena, f.loss);
      return true;
    }
  return false;
}

} // namespace gpu_bench
