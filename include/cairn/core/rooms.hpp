// SPDX-License-Identifier: MIT
#pragma once

// The namespaces of the library. What a program types is in cairn.
//
// cairn::ops: what layers, losses and optimizers ask of a device. Calls need no namespace: an op is found through its queue.
namespace cairn::ops {

// A base of the queues of Cairn's devices, by which a call finds the ops in this namespace.
struct queue {};

} // namespace cairn::ops

// cairn::plan: chains of stages, the routes and schedules of their steps, and the solvers of budgets. A program needs its words
// for a policy of its own, and to look at a step.
namespace cairn::plan {}

// cairn::attention: masks and other options of MultiheadAttention, and its three stages.
namespace cairn::attention {}

// cairn::vision: images, datasets of them, and what is done to them.
namespace cairn::vision {}

// cairn::files: readers and writers of IDX, .npy and safetensors files.
namespace cairn::files {}

// cairn::samplers: orders of samples besides sampler and sequential_sampler.
namespace cairn::samplers {}

// cairn::preprocess: statistics of data, and the layer that standardizes its features.
namespace cairn::preprocess {}

// cairn::text: texts as tokens, and datasets of tokens.
namespace cairn::text {}

// cairn::metrics: what a validation measures.
namespace cairn::metrics {}

// cairn::multi: several heads of a network, with a loss and targets for each.
namespace cairn::multi {}

// cairn::types: of options, which a program writes in braces, and of results, which it takes as auto.
namespace cairn::types {}

// cairn::transformers: the names of transformers' weights in files of other programs.
namespace cairn::transformers {}

// cairn::onnx: how layers say their operators in an ONNX file.
namespace cairn::onnx {}

// cairn::report: what tables, pictures and traces are made of.
namespace cairn::report {}

// What is not promised from one version to the next. It uses the words of all the others without their namespaces.
namespace cairn::detail {

using namespace ops;
using namespace plan;
using namespace report;
using namespace vision;
using namespace files;
using namespace text;
using namespace metrics;
using namespace types;

} // namespace cairn::detail
