// SPDX-License-Identifier: MIT
// All ops that single layers, losses and optimizers of Cairn ask of a device, besides those of every network.
#pragma once

#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/adam/adam.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/embedding/embedding.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>
#include <cairn/ops/normalized_product/normalized_product.hpp>
#include <cairn/ops/ops.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>
#include <cairn/ops/sgd/sgd.hpp>
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>
#include <cairn/ops/softmax/softmax.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>
#include <cairn/ops/standardize/standardize.hpp>

namespace testing {

template <class Queue, class T>
concept has_every_op =
    cairn::ops::ops_for<Queue, T> && cairn::detail::matmul_runs_on<Queue, T> && cairn::detail::dropout_runs_on<Queue, T> &&
    cairn::detail::layer_norm_runs_on<Queue, T> && cairn::detail::batch_norm_runs_on<Queue, T> &&
    cairn::detail::group_norm_runs_on<Queue, T> && cairn::detail::embedding_runs_on<Queue, T> &&
    cairn::detail::conv2d_runs_on<Queue, T> && cairn::detail::max_pool2d_runs_on<Queue, T> &&
    cairn::detail::avg_pool2d_runs_on<Queue, T> && cairn::detail::channel_statistics_runs_on<Queue, T> &&
    cairn::detail::normalized_product_runs_on<Queue, T> && cairn::detail::normalized_conv2d_runs_on<Queue, T> &&
    cairn::detail::rms_norm_runs_on<Queue, T> && cairn::detail::softmax_runs_on<Queue, T> &&
    cairn::detail::softmax_cross_entropy_runs_on<Queue, T, std::int32_t> && cairn::detail::soft_cross_entropy_runs_on<Queue, T> &&
    cairn::detail::checks_gradients<Queue> && cairn::detail::bce_with_logits_runs_on<Queue, T> &&
    cairn::detail::standardize_runs_on<Queue, T> && cairn::detail::sgd_runs_on<Queue, cairn::accumulated<T>> &&
    cairn::detail::adam_runs_on<Queue, cairn::accumulated<T>>;

} // namespace testing
