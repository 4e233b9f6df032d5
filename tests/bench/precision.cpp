// SPDX-License-Identifier: MIT
// Steps of networks of bfloat16 and float16. Those of float are in the files of their networks.
#include <string>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/train/model.hpp>

#include "networks.hpp"

using namespace cairn;

namespace {

// The activations of 16 bits take half of the bytes: what is kept in float is little.
template <class Net, std::size_t Rows>
inline constexpr double over_float = static_cast<double>(peak_activation_bytes<Net, Rows, bfloat16>) /
                                     static_cast<double>(peak_activation_bytes<Net, Rows, float>);
static_assert(over_float<mlp::net, mlp::rows> <= 0.52 && over_float<chain::net<100>, chain::rows> <= 0.52 &&
              over_float<gpt::net, gpt::rows> <= 0.52);

template <class T>
bool run(const request& asked) {
  if (asked.mode != "naive" || asked.world != 1) return false;
  if (asked.workload == "mlp") {
    measure<mlp::net, CrossEntropyLoss, mlp::rows, T>(asked, "naive", 8, mlp::optimizer, [](auto&) {});
  } else if (asked.workload == "chain" && asked.depth == 100) {
    using net = chain::net<100>;
    const auto prepare = [](auto& train) { // the trainer hands out no span, as then every pass would round the weights
      model<net, batch<1>, T> start;
      start.copy_parameters(train);
      chain::shrink<100>(start);
      train.copy_parameters(start);
    };
    measure<net, CrossEntropyLoss, chain::rows, T>(asked, "naive", 100, chain::optimizer, prepare);
  } else if (asked.workload == "gpt") {
    figures out = describe_step<gpt::net, gpt::rows, T>("naive", 4);
    trainer<gpt::net, CrossEntropyLoss, AdamW, batch<gpt::rows>, T> train{gpt::optimizer, {.threads = asked.threads}};
    gpt::run_steps(asked, train, 1, out, [] {});
    print(asked, out);
  } else {
    return false;
  }
  return true;
}

} // namespace

bool bench_precision(const request& asked) {
  if (asked.type == "bfloat16") return run<bfloat16>(asked);
  return asked.type == "float16" && run<float16>(asked);
}
