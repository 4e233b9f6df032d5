// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/comm/communicator.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/gradient_windows.hpp>

namespace cairn {

// When a bucket is sent: as soon as the backward that completes it is done, while the backwards below it still run (the
// default), or after the whole backward pass, which is useful for comparisons only.
struct overlapped {};
struct after_backward {};

// Computes BatchNorm's statistics over the rows of all ranks, like torch.nn.SyncBatchNorm: N ranks are equal to one rank with
// the whole batch, within rounding, and all ranks have the same running statistics, bit for bit. Without it each rank has the
// statistics of its own rows. Each micro-batch has its own statistics. Ranks may have different numbers of rows, and may
// join() as without this option.
//
// It costs a small all_reduce for each such layer in forward, of 16 bytes for each feature and 8, and one in each backward
// that makes an input gradient, of 16 bytes for each feature. They are not overlapped with work: the layer waits. A recompute
// and an evaluation make none. The sums are stored from forward to backward, which takes the same number of bytes for each
// layer; trainer::memory() counts them. A network without such layers and a single rank are not changed.
//
// The other ranks see a step from its first such call on, so a failure after that call is final until synchronize().
// trainer::forward() makes these calls too, so all ranks must call it.
struct sync_batch_norm {};

} // namespace cairn

namespace cairn::detail {

template <class T>
struct is_bucket_bytes : std::false_type {
  static constexpr std::size_t bytes = 0;
};
template <std::size_t Bytes>
struct is_bucket_bytes<bucket_bytes<Bytes>> : std::true_type {
  static constexpr std::size_t bytes = Bytes;
};

template <class... Options>
struct ddp_options {
  static_assert(((is_bucket_bytes<Options>::value || std::is_same_v<Options, overlapped> ||
                  std::is_same_v<Options, after_backward> || std::is_same_v<Options, sync_batch_norm>) &&
                 ...),
                "ddp: an option is bucket_bytes<N>, overlapped, after_backward or sync_batch_norm");

  // The default of 25 MiB is PyTorch's.
  static constexpr std::size_t bytes = [] {
    std::size_t chosen = 25_MiB;
    for (const std::size_t given : {std::size_t{0}, is_bucket_bytes<Options>::bytes...})
      if (given != 0) chosen = given;
    return chosen;
  }();
  static constexpr bool overlaps = (!std::is_same_v<Options, after_backward> && ...);
  static constexpr bool sums_statistics = (std::is_same_v<Options, sync_batch_norm> || ...);
};

} // namespace cairn::detail

namespace cairn {

// A replica of Model in data-parallel training: every rank has one, each works on its own samples, and their gradients are
// summed over Communicator in buckets before each update. It computes the same function as Model, except with sync_batch_norm.
//
// It owns the model: only a trainer of ddp<Model, ...> can run it, and that trainer reduces the gradients. The options are
// bucket_bytes<N>, overlapped or after_backward, and sync_batch_norm. With a fused_update a bucket is waited for only when the
// next one is complete, so that two are in memory at a time.
template <class Model, class Communicator, class... Options>
struct ddp {
  using model = Model;
  using communicator_type = Communicator;
  using options = detail::ddp_options<Options...>;
};

} // namespace cairn

namespace cairn::detail {

// A trainer's view of its model. A plain model is the only rank of a job of its own.
template <class Model>
struct distribution {
  using model = Model;
  using communicator_type = loopback::rank;
  using options = ddp_options<>;
  using update = used_in_backward<1, 1>; // with a fused_update: layer by layer
  static constexpr bool distributed = false;
  static constexpr bool way_outside = false;
  static constexpr bool checkpointed_outside = false;
  static constexpr bool once = true;
};
template <class Policy, class Model, class Communicator, class... Options>
struct distribution<checkpoint<Policy, ddp<Model, Communicator, Options...>>>
    : distribution<ddp<Model, Communicator, Options...>> {
  static constexpr bool checkpointed_outside = true; // which a trainer refuses
};
template <template <class> class Way, class Model, class Communicator, class... Options> // fused_update, with_input_gradient
struct distribution<Way<ddp<Model, Communicator, Options...>>> : distribution<ddp<Model, Communicator, Options...>> {
  static constexpr bool way_outside = true; // which a trainer refuses
};
template <class Model, class Communicator, class... Options>
struct distribution<ddp<Model, Communicator, Options...>> {
  static constexpr bool once = !distribution<Model>::distributed;
  using model = Model;
  using communicator_type = Communicator;
  using options = ddp_options<Options...>;
  using update = used_in_backward<options::bytes, 2>;
  static constexpr bool distributed = true;
  static constexpr bool way_outside = false;
  static constexpr bool checkpointed_outside = false;
};

} // namespace cairn::detail
