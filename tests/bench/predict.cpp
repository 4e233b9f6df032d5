// SPDX-License-Identifier: MIT
// Predicts a step from figures that were measured before, for comparison with `ddp`. No rank runs.
#include <cairn/comm/loopback.hpp>
#include <cairn/train/predicted_step.hpp>

#include "ranks.hpp"

bool bench_predict(const request& asked) {
  using namespace cairn;
  return with_buckets<loopback::rank>(asked, [&]<class Model>() {
    const auto times = plan::op_times<Model, batch<128>>::of_step(asked.step_ms / 1e3, asked.update_ms / 1e3);
    const auto step = predicted_step(
        times,
        {.machines = asked.world, .latency = asked.latency_us / 1e6, .bandwidth = asked.gbytes * 1e9, .taken = asked.taken});
    std::printf("{\"peer\": \"cairn\", \"workload\": \"predict\", \"mode\": \"%s\", \"world\": %zu, \"bucket_mb\": %g, "
                "\"buckets\": %zu, \"step_ms\": %.5f, \"exposed_ms\": %.5f, \"taken_ms\": %.5f}\n",
                asked.mode.c_str(), asked.world, asked.bucket_mb, step.buckets.size(), 1e3 * step.seconds(), 1e3 * step.exposed,
                1e3 * step.taken);
  });
}
