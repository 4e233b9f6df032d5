// SPDX-License-Identifier: MIT
// The table of how far an op on a GPU may be from the same op in double on a cpu, for all tests that compare them.
#pragma once

#include <string_view>

namespace testing {

// The bound of |x - y| / (1 + |y|) for every element, where x is the GPU's result and y the cpu's in double from the same
// numbers. Operands are normal numbers unless the test says otherwise. An op that chooses, compares or copies has no error: 0.
struct bound_of_op {
  std::string_view op;
  double of_float, of_double;
};
inline constexpr bound_of_op bounds[] = {
    // elements: the accuracy of functions of float
    {"copy", 0, 0},
    {"add", 6e-8, 2e-16},
    {"relu", 0, 0},
    {"gelu", 1e-6, 1e-15},
    {"tanh", 5e-7, 1e-15},
    {"sigmoid", 3e-7, 1e-15},
    {"silu", 5e-7, 1e-15},
    {"tanh_gelu", 1e-6, 1e-15},
    {"leaky_relu", 6e-8, 2e-16},
    {"elu", 3e-7, 1e-15},
    {"elementwise", 5e-7, 1e-15},
    {"dropout", 1e-7, 2e-16},
    // optimizers: one step
    {"sgd", 3e-7, 1e-15},
    {"adam", 5e-7, 1e-15},
    // sums over rows: in float by sixteens, then in double
    {"layer_norm", 3e-6, 1e-14},
    {"layer_norm's parameters", 2e-5, 1e-13},
    {"rms_norm", 3e-6, 1e-14},
    {"rms_norm's parameters", 2e-5, 1e-13},
    {"batch_norm", 1e-5, 1e-13},
    {"batch_norm far from 0", 2e-4, 1e-12},
    {"batch_norm in parts far from 0", 2e-3, 1e-10}, // a variance from a sum of squares
    {"group_norm", 1e-5, 1e-13},
    {"standardize", 5e-7, 1e-15},
    {"softmax", 1e-6, 1e-14},
    {"embedding", 2e-6, 1e-15},
    // positions: an error of a frequency counts once for each position before
    {"positions", 1e-6, 1e-15},
    {"sinusoids", 2e-7, 1e-14},
    {"rotation", 3e-7, 1e-14},
    // losses and their gradients
    {"softmax_cross_entropy", 2e-6, 1e-14},
    {"mean_squared_error", 1e-6, 1e-15},
    {"l1", 1e-6, 1e-15},
    {"smooth_l1", 1e-6, 1e-15},
    {"soft_cross_entropy", 2e-6, 1e-14},
    {"bce_with_logits", 1e-6, 1e-15},
    // products: in float, with as many terms as the tests have
    {"matmul", 2e-5, 1e-13},
    {"attention", 1e-5, 2e-14},
    {"conv2d", 1e-5, 1e-14},
    {"conv2d of many pixels", 1e-5, 3e-14}, // weight gradients are sums over hundreds of them
    {"channel_statistics", 1e-6, 5e-15},
    {"normalized_product", 2e-5, 5e-14}, // a norm before the product, and its derivative
    {"normalized_conv2d", 2e-5, 1e-13},
    {"steps of dense blocks", 1e-6, 1e-14}, // four, with their updates, and an evaluation
    {"steps of pictures", 1e-6, 1e-14},
    {"steps of words", 1e-6, 1e-14},
    {"steps of cells", 3e-6, 1e-14},
    {"steps of choices", 3e-6, 3e-14},
    {"steps of transformers", 5e-6, 1e-13},
    {"max_pool2d", 5e-7, 1e-15},
    {"avg_pool2d", 5e-7, 1e-15},
    // single numbers: in double for every element type
    {"squared_norm", 1e-12, 1e-12},
    {"clip", 1e-15, 1e-15},
    {"mean_factor", 0, 0},
};

} // namespace testing
