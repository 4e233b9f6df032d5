// SPDX-License-Identifier: MIT
// Networks with each activation: what ranks compute together is what one computes of their samples as micro-batches.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/elu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/softmax.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"
#include "traces.hpp"

namespace ddp_activations_tests {

using namespace cairn;
using testing::same_bits;
using testing::trace;

namespace {

using Net =
    Sequential<Linear<testing::features, 32>, SiLU, Linear<32, 24>, ELU<>, Residual<RMSNorm<24>, Linear<24, 24>, TanhGELU>,
               Residual<Linear<24, 24>, Softmax>, Linear<24, 16>, LeakyReLU<>, Linear<16, testing::classes>>;

// The results of the first rank.
template <class Model>
trace run(int ranks, int micro_batches) {
  trace out;
  threads{ranks}.run([&](threads::rank& rank) {
    trainer<ddp<Model, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, testing::momentum, {.seed = 3}};
    trace own;
    for (int step = 0; step < testing::steps; ++step)
      for (int m = 0; m < micro_batches; ++m) {
        const testing::samples s = testing::samples_of(step, rank.rank() + m);
        if (m + 1 < micro_batches) t.accumulate(s.x, s.y);
        else own.look_at(t, t.step(s.x, s.y));
      }
    if (rank.rank() == 0) out = own;
  });
  return out;
}

template <class Policy>
void check(int ranks, const trace& want) {
  CAPTURE(ranks);
  const trace got = run<checkpoint<Policy, Net>>(ranks, 1);
  CHECK(got.checksum == want.checksum);
  CHECK(got.norms == want.norms);
  for (std::size_t step = 0; step < testing::steps; ++step) CHECK(same_bits(got.gradients[step], want.gradients[step]));
}

} // namespace

TEST_CASE("ddp: with each activation N ranks are N micro-batches, under every policy") {
  std::uint64_t before = 0;
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const trace want = run<Net>(1, ranks);
    CHECK(want.checksum != before);
    before = want.checksum;
    check<store_all>(ranks, want);
    check<recompute_all>(ranks, want);
    check<sqrt_n>(ranks, want);
  }
}

} // namespace ddp_activations_tests
