// SPDX-License-Identifier: MIT
#pragma once

// Every op on a GPU, for float and double, and those of layers and losses for 16 bits. Include this to compile a network for a
// GPU (cairn_cuda.cuh does): layers, losses and optimizers find the ops by the type of their queue and do not depend on a device.
#include <cairn/ops/adam/cuda.cuh>
#include <cairn/ops/add/cuda.cuh>
#include <cairn/ops/attention/cuda.cuh>
#include <cairn/ops/avg_pool2d/cuda.cuh>
#include <cairn/ops/batch_norm/cuda.cuh>
#include <cairn/ops/bce_with_logits/cuda.cuh>
#include <cairn/ops/channel_statistics/cuda.cuh>
#include <cairn/ops/check_gradients/cuda.cuh>
#include <cairn/ops/checksum/cuda.cuh>
#include <cairn/ops/clip/cuda.cuh>
#include <cairn/ops/conv2d/cuda.cuh>
#include <cairn/ops/convert/cuda.cuh>
#include <cairn/ops/copy/cuda.cuh>
#include <cairn/ops/dropout/cuda.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/embedding/cuda.cuh>
#include <cairn/ops/group_norm/cuda.cuh>
#include <cairn/ops/layer_norm/cuda.cuh>
#include <cairn/ops/matmul/cuda.cuh>
#include <cairn/ops/max_pool2d/cuda.cuh>
#include <cairn/ops/mean_factor/cuda.cuh>
#include <cairn/ops/mean_of_terms/cuda.cuh>
#include <cairn/ops/normalized_conv2d/cuda.cuh>
#include <cairn/ops/normalized_product/cuda.cuh>
#include <cairn/ops/positions/cuda.cuh>
#include <cairn/ops/rms_norm/cuda.cuh>
#include <cairn/ops/rotation/cuda.cuh>
#include <cairn/ops/sgd/cuda.cuh>
#include <cairn/ops/soft_cross_entropy/cuda.cuh>
#include <cairn/ops/softmax/cuda.cuh>
#include <cairn/ops/softmax_cross_entropy/cuda.cuh>
#include <cairn/ops/squared_norm/cuda.cuh>
#include <cairn/ops/standardize/cuda.cuh>
#include <cairn/ops/transfer/cuda.cuh>
