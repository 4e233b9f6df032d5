// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>

#include "parts.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

// The networks of tests/bench: 784 - 512 x 8 - 10 with ReLU, and residual blocks of two products.
using mlp = Sequential<Linear<784, 512>, ReLU, Repeat<7, Sequential<Linear<512, 512>, ReLU>>, Linear<512, 10>>;
template <std::size_t Depth>
using chain = Sequential<Repeat<Depth, Residual<Linear<256, 256>, ReLU, Linear<256, 256>>>, Linear<256, 10>>;

struct step_figures {
  std::string name, policy;
  std::size_t batch, arena;
  double ms, loss;
};

// The time runs from when all earlier work is done until all steps are, including the batches' transfer to the GPU.
template <class Model, std::size_t Batch>
step_figures run(const request& asked, const char* name, const char* policy) {
  using type = trainer<Model, CrossEntropyLoss, SGD, batch<Batch>, float, cuda>;
  step_figures found{name, policy, Batch, peak_activation_bytes<Model, Batch>, 0, 0};
  type train{SGD{.learning_rate = 1e-4, .momentum = 0.9}};
  std::vector<float> x(Batch * type::input_shape.size());
  std::vector<int> y(Batch);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * ops::random_uniform<float>({.seed = 1}, i) - 1;
  for (std::size_t i = 0; i < Batch; ++i) y[i] = static_cast<int>(ops::random_bits({.seed = 2}, i) % 10);
  const auto step = [&] {
    for (std::size_t i = 0; i + 1 < asked.steps; ++i) train.step(x, y);
    found.loss = train.step(x, y); // reading the loss waits
  };
  found.ms = milliseconds(step, [] {}, 0, asked.smaller > 1 ? 1 : 5) / static_cast<double>(asked.steps);
  return found;
}

struct measured_step {
  const char *name, *policy;
  step_figures (*run)(const request&, const char*, const char*);
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
  table rows({"network", "policy", "batch", "ms", "arena MiB"});
  for (const measured_step& s : all_steps) {
    const step_figures f = s.run(asked, s.name, s.policy);
    rows.row({f.name, f.policy, std::to_string(f.batch), number(f.ms), number(static_cast<double>(f.arena) / 0x1p20)});
  }
}

bool measure_step(const request& asked) {
  for (const measured_step& s : all_steps) {
    if (asked.step != std::string(s.name) + " " + s.policy) continue;
    const step_figures f = s.run(asked, s.name, s.policy);
    std::printf("{\"network\": \"%s\", \"policy\": \"%s\", \"batch\": %zu, \"ms\": %.6f, \"arena_bytes\": %zu, \"loss\": %.6g}\n",
                f.name.c_str(), f.policy.c_str(), f.batch, f.ms, f.arena, f.loss);
    return true;
  }
  return false;
}

} // namespace gpu_bench
