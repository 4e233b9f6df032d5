// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/step/step_lists.hpp>

#include "recorded_step.hpp"

namespace step_lists_tests {

using namespace cairn;
using testing::two;

namespace {

constexpr std::size_t in = testing::features, out = testing::classes;
using Plain = Sequential<Linear<in, 16>, ReLU, Residual<LayerNorm<16>, Linear<16, 24>, Linear<24, 16>>, Dropout<>,
                         Concat<Linear<16, 8>, Sequential<Linear<16, 12>, ReLU>>, Linear<20, 12>, Linear<12, out>>;
using Summing = Sequential<Linear<in, 16>, BatchNorm1d<16>, Residual<Linear<16, 16>, BatchNorm1d<16>, Linear<16, 16>, ReLU>, Tanh,
                           Concat<BatchNorm1d<16>, Sequential<Linear<16, 4>, BatchNorm1d<4>>>, Linear<20, 12>, Linear<12, out>>;

// Checks steps and micro-batches of one trainer, with the compiled schedule and with `schedules` random ones.
template <class Model, class Communicator = loopback::rank>
void check(int schedules, bool clips = false) {
  testing::check_lists<Model, CrossEntropyLoss, 6, Communicator>(schedules, clips, [](std::size_t rows, const auto& f) {
    const testing::samples<> s(rows, 1);
    f(s.x, s.y);
  });
}

} // namespace

TEST_CASE("step_lists: what a device records of a step is its list, op for op, for any schedule") {
  check<Plain>(15);
  check<Plain>(5, true);
  check<checkpoint<sqrt_n, Plain>>(0);
  check<checkpoint<recompute_all, Plain>>(0);
  check<fused_update<Plain>>(15);
}
TEST_CASE("step_lists: the same with two ranks, for buckets of any size") {
  check<ddp<Plain, two, bucket_bytes<1>>, two>(15);
  check<ddp<checkpoint<sqrt_n, Plain>, two, bucket_bytes<1500>>, two>(15, true);
  check<ddp<Plain, two, after_backward, bucket_bytes<700>>, two>(15);
  check<ddp<fused_update<Plain>, two, bucket_bytes<1>>, two>(15);
  check<ddp<fused_update<checkpoint<recompute_all, Plain>>, two, bucket_bytes<1500>>, two>(15);
}
TEST_CASE("step_lists: the same with statistics of all ranks, inside of blocks too") {
  check<ddp<Summing, two, sync_batch_norm, bucket_bytes<1>>, two>(15);
  check<ddp<checkpoint<recompute_all, Summing>, two, sync_batch_norm, bucket_bytes<1500>>, two>(15, true);
  check<ddp<Summing, two, sync_batch_norm, after_backward>, two>(15);
  check<ddp<fused_update<Summing>, two, sync_batch_norm, bucket_bytes<1>>, two>(15);
}

} // namespace step_lists_tests
