// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/tensor.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/wrong_network.hpp>

namespace cairn {

// The same function as Model and the same training, bit for bit, in less memory. The optimizer updates a bucket of parameters
// inside backward, as soon as its gradients are complete (over all ranks), and later ops reuse their bytes. So the gradients of
// all parameters never exist together: at most one bucket's, on several ranks two, lie in the arena, planned together with the
// activations (Lv, Yang, Liu, Gao, Guo, Qiu: Full parameter fine-tuning for large language models with limited resources,
// 2023).
//
// It wraps a whole network, as in trainer<fused_update<Net>, ...>, fused_update<checkpoint<Policy, Net>> or
// ddp<fused_update<...>, Communicator, bucket_bytes<N>>. On one rank each layer is a bucket. On several, bucket_bytes says how
// much is reduced at a time, but a layer is never cut; the reduction of the previous bucket overlaps.
//
// Anything that needs all gradients at once does not compile: clipping by their common norm, accumulating micro-batches,
// reading them after the step.
template <class Model>
struct fused_update {};

} // namespace cairn

namespace cairn::detail {

// A wrapper of a whole network that says how it is trained.
template <template <class> class Way, class Model>
struct way_to_train {
  static constexpr part_kind as = part_kind::update;
  static constexpr bool is_transparent = true;
  static constexpr bool is_right = false; // when it is inside a network
  using wrong = misplaced_update<Way<Model>>;
  using parts = pack<Model>;
  template <class... Parts>
  using with = Way<Parts...>;
};
template <class Model>
struct made_of<fused_update<Model>> : way_to_train<fused_update, Model> {};

// A whole network as the user writes it: a checkpoint around it plans all of it, and a fused update may be around that.
template <class Model>
struct whole {
  using body = Model;
  using policy = store_all;
  static constexpr bool fused = false;
  static constexpr bool gives_input_gradient = false; // see with_input_gradient
  static constexpr tensor_set used_outputs = 1;       // a loss takes the first; see with_all_outputs
};
template <class Policy, class Net>
struct whole<checkpoint<Policy, Net>> : whole<void> {
  using body = Net;
  using policy = Policy;
};
template <class Model>
struct whole<fused_update<Model>> : whole<Model> {
  static constexpr bool fused = true;
};

// The network, with its policy, without the wrappers that say how it is trained (fused_update, with_input_gradient,
// with_all_outputs).
template <class Model>
struct without_ways {
  using type = Model;
};
template <class Model>
struct without_ways<fused_update<Model>> : without_ways<Model> {};

} // namespace cairn::detail
