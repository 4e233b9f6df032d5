// SPDX-License-Identifier: MIT
#pragma once

// All of Cairn, and what needs a compiler of CUDA: a trainer<Net, Loss, Optimizer, batch<64>, float, cuda> trains on a GPU.
#include <cairn/cairn.hpp> // everything that needs no GPU

#include <cairn/device/cuda.cuh> // a GPU: its memory and its queues

#include <cairn/ops/adam/cuda.cuh>                  // adam on a GPU
#include <cairn/ops/add/cuda.cuh>                   // add on a GPU
#include <cairn/ops/attention/cuda.cuh>             // attention on a GPU
#include <cairn/ops/avg_pool2d/cuda.cuh>            // avg pool2d on a GPU
#include <cairn/ops/batch_norm/cuda.cuh>            // batch norm on a GPU
#include <cairn/ops/bce_with_logits/cuda.cuh>       // bce with logits on a GPU
#include <cairn/ops/channel_statistics/cuda.cuh>    // channel statistics on a GPU
#include <cairn/ops/check_gradients/cuda.cuh>       // check gradients on a GPU
#include <cairn/ops/checksum/cuda.cuh>              // checksum on a GPU
#include <cairn/ops/clip/cuda.cuh>                  // clip on a GPU
#include <cairn/ops/conv2d/cuda.cuh>                // conv2d on a GPU
#include <cairn/ops/convert/cuda.cuh>               // convert on a GPU
#include <cairn/ops/copy/cuda.cuh>                  // copy on a GPU
#include <cairn/ops/cuda.cuh>                       // every op on a GPU
#include <cairn/ops/dropout/cuda.cuh>               // dropout on a GPU
#include <cairn/ops/elementwise/cuda.cuh>           // elementwise on a GPU
#include <cairn/ops/embedding/cuda.cuh>             // embedding on a GPU
#include <cairn/ops/group_norm/cuda.cuh>            // group norm on a GPU
#include <cairn/ops/layer_norm/cuda.cuh>            // layer norm on a GPU
#include <cairn/ops/matmul/cuda.cuh>                // matmul on a GPU
#include <cairn/ops/max_pool2d/cuda.cuh>            // max pool2d on a GPU
#include <cairn/ops/mean_factor/cuda.cuh>           // mean factor on a GPU
#include <cairn/ops/mean_of_terms/cuda.cuh>         // losses that are means of terms on a GPU
#include <cairn/ops/normalized_conv2d/cuda.cuh>     // normalized conv2d on a GPU
#include <cairn/ops/normalized_product/cuda.cuh>    // normalized product on a GPU
#include <cairn/ops/positions/cuda.cuh>             // positions on a GPU
#include <cairn/ops/rms_norm/cuda.cuh>              // RMS norm on a GPU
#include <cairn/ops/rotation/cuda.cuh>              // rotation on a GPU
#include <cairn/ops/sgd/cuda.cuh>                   // sgd on a GPU
#include <cairn/ops/soft_cross_entropy/cuda.cuh>    // soft cross entropy on a GPU
#include <cairn/ops/softmax/cuda.cuh>               // softmax on a GPU
#include <cairn/ops/softmax_cross_entropy/cuda.cuh> // softmax cross entropy on a GPU
#include <cairn/ops/squared_norm/cuda.cuh>          // squared norm on a GPU
#include <cairn/ops/standardize/cuda.cuh>           // standardize on a GPU
#include <cairn/ops/transfer/cuda.cuh>              // transfer on a GPU
