// SPDX-License-Identifier: MIT
#pragma once

// Every op on a cpu. A layer, a loss or an optimizer calls ops by name and does not depend on a device; the program that runs it
// includes the ops of its device. trainer.hpp includes these; a program that calls Linear<2, 3>::forward directly includes them
// itself. They are separate because a network that is only planned needs no kernels and should not wait for them to compile.
#include <cairn/ops/adam/cpu.hpp>
#include <cairn/ops/add/cpu.hpp>
#include <cairn/ops/attention/cpu.hpp>
#include <cairn/ops/avg_pool2d/cpu.hpp>
#include <cairn/ops/batch_norm/cpu.hpp>
#include <cairn/ops/bce_with_logits/cpu.hpp>
#include <cairn/ops/channel_statistics/cpu.hpp>
#include <cairn/ops/check_gradients/cpu.hpp>
#include <cairn/ops/checksum/cpu.hpp>
#include <cairn/ops/clip/cpu.hpp>
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/convert/cpu.hpp>
#include <cairn/ops/copy/cpu.hpp>
#include <cairn/ops/dropout/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/embedding/cpu.hpp>
#include <cairn/ops/group_norm/cpu.hpp>
#include <cairn/ops/layer_norm/cpu.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/matmul/sixteen_bits.hpp>
#include <cairn/ops/max_pool2d/cpu.hpp>
#include <cairn/ops/mean_factor/cpu.hpp>
#include <cairn/ops/mean_of_terms/cpu.hpp>
#include <cairn/ops/normalized_conv2d/cpu.hpp>
#include <cairn/ops/normalized_product/cpu.hpp>
#include <cairn/ops/positions/cpu.hpp>
#include <cairn/ops/rms_norm/cpu.hpp>
#include <cairn/ops/rotation/cpu.hpp>
#include <cairn/ops/sgd/cpu.hpp>
#include <cairn/ops/soft_cross_entropy/cpu.hpp>
#include <cairn/ops/softmax/cpu.hpp>
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>
#include <cairn/ops/squared_norm/cpu.hpp>
#include <cairn/ops/standardize/cpu.hpp>
#include <cairn/ops/transfer/cpu.hpp>

#if CAIRN_WITH_COMPILED
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>

#include <cairn/ops/compiled.inl>
#endif
