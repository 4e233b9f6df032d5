// SPDX-License-Identifier: MIT
#pragma once

namespace cairn {

// The same function as Model, and the same training, bit for bit, in less memory: the optimizer's step of a bucket of
// parameters is taken inside backward, as soon as its gradients are complete (over all ranks), and their bytes are used
// again by what comes after. So there is never a gradient of every parameter: no more than one bucket's, on several
// ranks two, lie in the arena, planned together with the activations (Lv, Yang, Liu, Gao, Guo, Qiu: Full parameter
// fine-tuning for large language models with limited resources, 2023).
//
// It stands around a whole network, as in trainer<fused_update<Net>, ...>, fused_update<checkpoint<Policy, Net>> or
// ddp<fused_update<...>, Communicator, bucket_bytes<N>>. On one rank each layer is a bucket; on several, bucket_bytes
// says how much is reduced at a time, but a layer is never cut, and the bucket before is on its way meanwhile.
//
// What needs all gradients at a time is not to be had and does not compile: clipping by their common norm, adding up
// micro-batches, looking at them after the step.
template <class Model>
struct fused_update {};

} // namespace cairn
