// SPDX-License-Identifier: MIT
// Prints what ops cost a GPU, counted by the emulator: a line for each op at a named shape and each kernel that it launches, with
// the kernel's name in PTX. tests/checks/kernel_costs.py compares them with its table. All arrays are of floats, and begin at
// multiples of 256 bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/nccl/ordered_sum.cuh>
#include <cairn/core/random.hpp>
#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/ops.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>

#include "emulator.hpp"
#include "findings.hpp"

namespace {

using namespace cairn;

// Eight arrays of 2^17 floats, as many whole numbers below 10, and as many doubles.
class arrays {
public:
  static constexpr std::size_t count = std::size_t{1} << 17, classes = 10;
  explicit arrays(cuda& gpu)
      : integers_(gpu.allocate(count * sizeof(std::int32_t))), doubles_(gpu.allocate(count * sizeof(double))) {
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = 1 + ops::random_uniform<float>({.seed = 1}, i);
    for (cuda::memory& m : floats_) {
      m = gpu.allocate(count * sizeof(float));
      upload(gpu.compute(), count, reinterpret_cast<float*>(m.data()), static_cast<const float*>(numbers.data()));
    }
    std::vector<std::int32_t> whole(count);
    for (std::size_t i = 0; i < count; ++i) whole[i] = static_cast<std::int32_t>(ops::random_bits({.seed = 1}, i) % classes);
    upload(gpu.compute(), count, reinterpret_cast<std::int32_t*>(integers_.data()),
           static_cast<const std::int32_t*>(whole.data()));
    gpu.compute().finish();
  }
  float* to(std::size_t i) const { return reinterpret_cast<float*>(floats_[i].data()); }
  const float* from(std::size_t i) const { return to(i); }
  const std::int32_t* integers() const { return reinterpret_cast<const std::int32_t*>(integers_.data()); }
  double* sums() const { return reinterpret_cast<double*>(doubles_.data()); }

private:
  cuda::memory floats_[8], integers_, doubles_;
};

// An op at a shape, in words.
struct named_op {
  std::string name;
  std::function<void(cuda::queue&, const arrays&)> run;
};
using list = std::vector<named_op>;

std::string by(std::initializer_list<std::size_t> extents) {
  std::string text;
  for (const std::size_t n : extents) text += (text.empty() ? " " : "x") + std::to_string(n);
  return text;
}

// Of a tensor of whole quads, and of one whose last quad is not full.
void add_elements(list& all) {
  for (const std::size_t n : {std::size_t{8192}, std::size_t{8191}}) {
    const auto of = [&](const std::string& name, auto run) { all.push_back({name + by({n}), run}); };
    const auto function = [&](const std::string& name, auto value, auto slope) {
      of(name, [=](cuda::queue& q, const arrays& a) { elementwise(q, n, value, a.to(0), a.from(1)); });
      of(name + " backward", [=](cuda::queue& q, const arrays& a) { elementwise(q, n, slope, a.to(0), a.from(1), a.from(2)); });
    };
    of("add", [=](cuda::queue& q, const arrays& a) { add(q, n, a.to(0), a.from(1), a.from(2)); });
    of("sum", [=](cuda::queue& q, const arrays& a) { elementwise(q, n, detail::sum_of_two{}, a.to(0), a.from(1), a.from(2)); });
    function("relu", detail::relu_value{}, detail::relu_slope{});
    function("gelu", detail::gelu_value{}, detail::gelu_slope{});
    function("tanh", detail::tanh_value{}, detail::tanh_slope{});
    function("sigmoid", detail::sigmoid_value{}, detail::sigmoid_slope{});
    function("silu", detail::silu_value{}, detail::silu_slope{});
    function("tanh_gelu", detail::tanh_gelu_value{}, detail::tanh_gelu_slope{});
    function("leaky_relu", detail::leaky_relu_value<percent<1>>{}, detail::leaky_relu_slope<percent<1>>{});
    function("elu", detail::elu_value<fraction{1}>{}, detail::elu_slope<fraction{1}>{});
    of("dropout", [=](cuda::queue& q, const arrays& a) {
      dropout(q, n, a.to(0), a.from(1), types::random_key{.seed = 1}, ops::dropout_rate{std::uint64_t{1} << 30, 4.0 / 3});
    });
    for (const auto& [name, momentum, nesterov] : {std::tuple{"sgd", 0.0F, false}, std::tuple{"sgd with momentum", 0.9F, false},
                                                   std::tuple{"sgd with nesterov", 0.9F, true}})
      of(name, [n, m = momentum, is_nesterov = nesterov](cuda::queue& q, const arrays& a) {
        sgd(q, n, a.to(0), a.to(2), a.from(1),
            {.scale = 1, .learning_rate = 1e-3F, .momentum = m, .fresh = 1, .weight_decay = 0, .nesterov = is_nesterov});
      });
    of("adam", [=](cuda::queue& q, const arrays& a) {
      adam(q, n, a.to(0), a.to(2), a.to(3), a.from(1),
           {.scale = 1,
            .keep_mean = 0.9F,
            .fresh_mean = 0.1F,
            .keep_square = 0.999F,
            .fresh_square = 0.001F,
            .correction = 1,
            .eps = 1e-8F,
            .rate = 1e-3F,
            .weight_decay = 0,
            .shrink = 1});
    });
    const auto mean = [&](const std::string& name, auto term, auto slope) {
      of(name,
         [=](cuda::queue& q, const arrays& a) { mean_of_terms(q, a.sums(), a.to(0), n, a.from(1), a.from(2), term, slope); });
    };
    mean("mse", detail::squared_error{}, detail::squared_error_slope{});
    mean("l1", detail::absolute_error{}, detail::absolute_error_slope{});
    mean("smooth l1", detail::smooth_error<float>{1}, detail::smooth_error_slope<float>{1});
    mean("bce with logits", detail::logit_error{}, detail::logit_error_slope{});
    of("bce with logits and weights",
       [=](cuda::queue& q, const arrays& a) { bce_with_logits(q, a.sums(), a.to(0), n, a.from(1), a.from(2), a.from(3), n); });
    of("squared norm", [=](cuda::queue& q, const arrays& a) { squared_norm(q, a.sums(), a.from(0), n); });
    of("ordered sum, 4 ranks", [=](cuda::queue& q, const arrays& a) { // 2048 elements of each, and 5 that are left
      detail::launch_each(q, "ordered_sum", 2053, detail::ordered_sum<float>{a.to(0), a.to(1), a.from(2), 2048, 2064, 1, 4});
    });
    of("checksum", [=](cuda::queue& q, const arrays& a) { checksum(q, a.to(0), a.from(1), n); });
  }
  all.push_back({"add matrix 64x60 of 64", [](cuda::queue& q, const arrays& a) {
                   add_matrix(q, ops::matrix{a.to(0), 64, 60, 64}, {a.from(1), 64, 60, 64}, {a.from(2), 64, 60, 60});
                 }});
  all.push_back({"clip", [](cuda::queue& q, const arrays& a) {
                   const double* const squared = a.sums() + 1;
                   clip(q, a.sums(), squared, 1.0, 1.0, static_cast<const double*>(nullptr));
                 }});
  all.push_back({"mean factor 4", [](cuda::queue& q, const arrays& a) { mean_factor(q, a.sums(), 1.0, 4, a.from(0), 1); }});
  all.push_back({"product with a bias and a mask 128x64x64", [](cuda::queue& q, const arrays& a) {
                   ops::epilogue<float> then{.bias = a.from(3), .then = ops::activation::relu};
                   then.mask = {a.from(4), 128, 64, 64};
                   matmul(q, ops::matrix{a.to(0), 128, 64}, {a.from(1), 128, 64}, {a.from(2), 64, 64}, ops::transpose::second,
                          then);
                 }});
  for (const std::size_t depth : {std::size_t{128}, std::size_t{1024}})
    all.push_back({"product with sums of rows" + by({16, depth, 16}), [=](cuda::queue& q, const arrays& a) {
                     matmul(q, ops::matrix{a.to(0), 16, 16}, {a.from(1), 16, depth}, {a.from(2), 16, depth},
                            ops::transpose::second, {.row_sums = a.to(3)});
                   }});
}

void add_rows(list& all) {
  for (const std::size_t features : {std::size_t{64}, std::size_t{250}, std::size_t{1024}}) {
    const std::size_t rows = 16384 / features;
    const auto of = [&](const std::string& name, auto run) { all.push_back({name + by({rows, features}), run}); };
    of("layer_norm", [=](cuda::queue& q, const arrays& a) {
      layer_norm_forward(q, rows, features, 1e-5, a.to(0), a.to(1), a.from(2), a.from(3), a.from(4));
    });
    of("layer_norm backward", [=](cuda::queue& q, const arrays& a) {
      layer_norm_backward(q, rows, features, a.to(0), a.to(1), a.to(2), a.from(3), a.from(4), a.from(5), a.from(6));
    });
    of("standardize",
       [=](cuda::queue& q, const arrays& a) { standardize(q, rows, features, a.to(0), a.from(1), a.from(2), a.from(3)); });
    of("standardize backward",
       [=](cuda::queue& q, const arrays& a) { standardize_backward(q, rows, features, a.to(0), a.from(1), a.from(2)); });
    of("rms_norm", [=](cuda::queue& q, const arrays& a) {
      rms_norm_forward(q, rows, features, 1e-5, a.to(0), a.to(1), a.from(2), a.from(3));
    });
    of("rms_norm backward", [=](cuda::queue& q, const arrays& a) {
      rms_norm_backward(q, rows, features, a.to(0), a.to(1), a.from(3), a.from(4), a.from(5), a.from(6));
    });
    of("softmax", [=](cuda::queue& q, const arrays& a) { softmax_forward(q, rows, features, a.to(0), a.from(1)); });
    of("softmax backward",
       [=](cuda::queue& q, const arrays& a) { softmax_backward(q, rows, features, a.to(0), a.from(1), a.from(2)); });
    of("cross entropy", [=](cuda::queue& q, const arrays& a) {
      softmax_cross_entropy(q, a.sums(), a.to(0), ops::matrix(a.from(1), rows, features), a.integers());
    });
    of("cross entropy with weights", [=](cuda::queue& q, const arrays& a) {
      const ops::cross_entropy_options<float> how{.label_smoothing = 0.1, .class_weights = a.from(2)};
      softmax_cross_entropy(q, a.sums(), a.to(0), ops::matrix(a.from(1), rows, features), a.integers(), how);
    });
    of("soft cross entropy", [=](cuda::queue& q, const arrays& a) {
      soft_cross_entropy(q, a.sums(), a.to(0), ops::matrix(a.from(1), rows, features), a.from(2), a.from(3), 0.1);
    });
    of("embedding", [=](cuda::queue& q, const arrays& a) {
      embedding_forward(q, rows, arrays::classes, features, a.to(0), a.from(1), a.integers());
    });
    of("embedding backward", [=](cuda::queue& q, const arrays& a) {
      embedding_backward(q, rows, arrays::classes, features, a.to(0), a.from(1), a.integers());
    });
  }
  for (const std::size_t features : {std::size_t{16}, std::size_t{64}, std::size_t{50}}) {
    const std::size_t rows = 16384 / features;
    const auto of = [&](const std::string& name, auto run) { all.push_back({name + by({rows, features}), run}); };
    of("batch_norm", [=](cuda::queue& q, const arrays& a) {
      batch_norm_forward(q, rows, features, 1e-5, a.to(0), a.to(1), a.from(2), a.from(3), a.from(4));
      batch_norm_update(q, rows, features, 0.1, a.to(5), a.to(6), a.from(1));
    });
    of("batch_norm backward", [=](cuda::queue& q, const arrays& a) {
      batch_norm_backward(q, rows, features, 1e-5, a.to(0), a.to(1), a.to(2), a.from(3), a.from(4), a.from(5), a.from(6));
    });
    of("batch_norm evaluate", [=](cuda::queue& q, const arrays& a) {
      batch_norm_evaluate(q, rows, features, 1e-5, a.to(0), a.from(1), a.from(2), a.from(3), a.from(4), a.from(5));
    });
    of("batch_norm of ranks", [=](cuda::queue& q, const arrays& a) {
      double *const sums = a.sums(), *const gradient_sums = sums + 2 * features + 1;
      batch_norm_sums(q, rows, features, sums, a.from(0));
      batch_norm_statistics(q, features, a.to(1), static_cast<const double*>(sums));
      batch_norm_update(q, features, 0.1, a.to(2), a.to(3), a.from(1), static_cast<const double*>(sums + 2 * features));
      batch_norm_gradient_sums(q, rows, features, 1e-5, gradient_sums, a.to(4), a.to(5), a.from(6), a.from(0), a.from(1));
      copy(q, 1, gradient_sums + 2 * features, static_cast<const double*>(sums + 2 * features));
      batch_norm_input_gradient(q, rows, features, 1e-5, a.to(7), a.from(6), a.from(0), a.from(1), a.from(2),
                                static_cast<const double*>(gradient_sums));
    });
  }
  for (const ops::channel_groups of : {ops::channel_groups{2, 256, 32, 8}, ops::channel_groups{2, 16, 64, 8}}) {
    const std::string shape = by({of.samples, of.pixels, of.channels}) + " by 8";
    all.push_back({"group_norm" + shape, [of](cuda::queue& q, const arrays& a) {
                     group_norm_forward(q, of, 1e-5, a.to(0), a.to(1), a.from(2), a.from(3), a.from(4));
                   }});
    all.push_back({"group_norm backward" + shape, [of](cuda::queue& q, const arrays& a) {
                     group_norm_backward(q, of, a.to(0), a.to(1), a.to(2), a.from(3), a.from(4), a.from(5), a.from(6));
                   }});
  }
}

void add_sequences(list& all) {
  for (const auto& [samples, length, width] : {std::tuple{4U, 64U, 64U}, {3U, 50U, 30U}}) {
    const std::size_t s = samples, n = length, m = width;
    const auto of = [&](const std::string& name, auto run) { all.push_back({name + by({s, n, m}), run}); };
    of("positions", [=](cuda::queue& q, const arrays& a) { add_positions(q, s, n * m, a.to(0), a.from(1), a.from(2)); });
    of("positions backward",
       [=](cuda::queue& q, const arrays& a) { positions_gradient(q, s, n * m, n * m, a.to(0), a.from(1)); });
    of("sinusoids", [=](cuda::queue& q, const arrays& a) { add_sinusoids(q, s, n, m, a.to(0), a.from(1)); });
    of("rotation", [=](cuda::queue& q, const arrays& a) {
      rotate(q, ops::rotation{n, m, 2, m / 3, m / 6 * 2}, false, s, a.to(0), a.from(0));
    });
  }
  for (const auto& [tokens, heads, width] : {std::tuple{64U, 2U, 64U}, {150U, 1U, 30U}, {80U, 1U, 128U}}) {
    ops::attention_extents how{.samples = 2, .queries = tokens, .keys = tokens, .heads = heads, .key_heads = 1, .width = width};
    how.band.after = 0;
    const std::size_t row = heads * width, keys = 2 * width;
    const std::string shape = by({2, tokens, heads, width});
    all.push_back({"attention" + shape, [=](cuda::queue& q, const arrays& a) {
                     attention_forward(q, how, a.to(0), a.to(1), {a.from(2), a.from(3), a.from(3) + width, row, keys});
                   }});
    all.push_back({"attention backward" + shape, [=](cuda::queue& q, const arrays& a) {
                     attention_backward(q, how, {a.to(4), a.to(5), a.to(5) + width, row, keys}, a.from(6), a.from(0), a.from(1),
                                        {a.from(2), a.from(3), a.from(3) + width, row, keys});
                   }});
    if (heads == 1) continue; // extras once
    const auto extras = [=](const arrays& a) {
      ops::attention_extras<float> all_of_them{.added = a.from(7), .rate = ops::dropout_rate::of(0.1)};
      all_of_them.added_head_stride = tokens * tokens;
      return all_of_them;
    };
    all.push_back({"attention with extras" + shape, [=](cuda::queue& q, const arrays& a) {
                     attention_forward(q, how, a.to(0), a.to(1), {a.from(2), a.from(3), a.from(3) + width, row, keys}, extras(a));
                   }});
    all.push_back({"attention with extras backward" + shape, [=](cuda::queue& q, const arrays& a) {
                     attention_backward(q, how, {a.to(4), a.to(5), a.to(5) + width, row, keys}, a.from(6), a.from(0), a.from(1),
                                        {a.from(2), a.from(3), a.from(3) + width, row, keys}, extras(a));
                   }});
  }
}

ops::window window_of(std::size_t side, std::size_t kernel, std::size_t stride, std::size_t padding) {
  const auto axis = ops::fitted({.in = side, .kernel = kernel, .stride = stride, .padding = padding});
  return {axis, axis};
}

void add_images(list& all) {
  struct image {
    std::size_t samples, side, in, out, kernel, stride, groups;
  };
  for (const image& i : {image{1, 8, 32, 32, 3, 1, 1}, image{1, 17, 8, 8, 3, 1, 1}, image{2, 8, 16, 32, 3, 2, 1},
                         image{1, 16, 3, 16, 3, 1, 1}, image{1, 8, 32, 32, 3, 1, 32}, image{1, 9, 12, 20, 3, 1, 1},
                         image{2, 8, 32, 16, 1, 2, 1}, image{1, 8, 64, 64, 3, 1, 1}, image{3, 16, 4, 40, 3, 1, 1}}) {
    const ops::convolution how{window_of(i.side, i.kernel, i.stride, i.kernel / 2), i.in, i.out, i.groups};
    const std::size_t pixels = i.samples * how.over.outputs(), samples = i.samples;
    const std::string shape = by({i.samples, i.side, i.side, i.in}) + " to " + std::to_string(i.out) + ", kernel " +
                              std::to_string(i.kernel) + ", stride " + std::to_string(i.stride) + ", groups " +
                              std::to_string(i.groups);
    all.push_back({"conv2d" + shape, [=](cuda::queue& q, const arrays& a) {
                     const ops::epilogue<float> then{.bias = a.from(3), .then = ops::activation::relu};
                     conv2d_forward(q, how, samples, ops::matrix{a.to(0), pixels, how.out_channels}, a.from(1), a.from(2), then);
                   }});
    all.push_back({"conv2d input gradient" + shape, [=](cuda::queue& q, const arrays& a) {
                     conv2d_input_gradient(q, how, samples, a.to(0), ops::matrix{a.from(1), pixels, how.out_channels}, a.from(2),
                                           {});
                   }});
    all.push_back({"conv2d weight gradient" + shape, [=](cuda::queue& q, const arrays& a) {
                     conv2d_weight_gradient(q, how, samples, a.to(0), a.to(1), ops::matrix{a.from(2), pixels, how.out_channels},
                                            a.from(3));
                   }});
  }
  for (const std::size_t channels : {std::size_t{16}, std::size_t{3}})
    for (const std::size_t kernel : {std::size_t{2}, std::size_t{3}}) {
      const ops::window over = window_of(16, kernel, 2, kernel - 2);
      const std::string shape = by({2, 16, 16, channels}) + " by " + std::to_string(kernel);
      const auto of = [&](const std::string& name, auto run) { all.push_back({name + shape, run}); };
      of("max_pool2d", [=](cuda::queue& q, const arrays& a) { max_pool2d_forward(q, over, 2, channels, a.to(0), a.from(1)); });
      of("max_pool2d backward",
         [=](cuda::queue& q, const arrays& a) { max_pool2d_backward(q, over, 2, channels, a.to(0), a.from(1), a.from(2)); });
      of("avg_pool2d", [=](cuda::queue& q, const arrays& a) {
        avg_pool2d_forward(q, over, ops::mean_of::window, 2, channels, a.to(0), a.from(1));
      });
      of("avg_pool2d backward", [=](cuda::queue& q, const arrays& a) {
        avg_pool2d_backward(q, over, ops::mean_of::window, 2, channels, a.to(0), a.from(1));
      });
    }
}

// The ops of DenseBlock, whose maps are columns of a wider one.
void add_dense(list& all) {
  for (const std::size_t samples : {std::size_t{1}, std::size_t{5}}) {
    constexpr std::size_t side = 8, in = 16, out = 8, stride = 32;
    const std::size_t rows = samples * side * side;
    const std::string shape = by({samples, side, side, in}) + " of 32 to 8";
    const auto of = [&](const std::string& name, auto run) { all.push_back({name + shape, run}); };
    const auto norm = [](const arrays& a) {
      return ops::channel_norm<float>{a.from(1), a.from(1) + 1, 2, 1e-5, a.from(2), a.from(3)};
    };
    of("channel_statistics", [=](cuda::queue& q, const arrays& a) {
      const ops::matrix x{a.from(0), rows, in, stride};
      channel_statistics(q, x, a.to(1));
      channel_statistics_backward(q, ops::matrix{a.to(2), rows, in, stride}, x, x, a.from(1), a.from(3));
      channel_statistics_update(q, rows, in, 0.1, a.to(4), a.to(5), a.from(1));
    });
    of("normalized_product", [=](cuda::queue& q, const arrays& a) {
      const auto room = ops::room_of_normalized_product(rows, in, out);
      const ops::normalized_product_memory<float> memory{a.to(6), a.to(6) + room.weight, a.to(6) + room.weight + room.scales};
      normalized_product_forward(q, ops::matrix{a.to(4), rows, out}, a.to(5), {a.from(0), rows, in, stride}, norm(a), a.from(7),
                                 memory);
    });
    of("normalized_product backward", [=](cuda::queue& q, const arrays& a) {
      float* const small = a.to(5);
      const ops::matrix dx{a.to(4), rows, in, stride};
      const ops::normalized_product_gradients<float> to{dx, dx, small, small + 2 * in, small + 3 * in, small + 4 * in};
      normalized_product_backward(q, to, {a.from(7), rows, out}, {a.from(7), rows, out}, a.from(2), a.from(3),
                                  {a.from(0), rows, in, stride}, norm(a), a.from(7), a.to(6));
    });
    const ops::convolution how{{{side, side, 3, 1, 1, 1}, {side, side, 3, 1, 1, 1}}, in, out, 1};
    of("normalized_conv2d", [=](cuda::queue& q, const arrays& a) {
      normalized_conv2d_forward(q, how, samples, ops::matrix{a.to(4), rows, out, stride}, a.to(5), a.from(0), norm(a), a.from(7),
                                a.to(6), a.to(6) + 3 * in);
    });
    of("normalized_conv2d backward", [=](cuda::queue& q, const arrays& a) {
      float* const small = a.to(5);
      const ops::normalized_conv2d_gradients<float> to{a.to(4), small, small + 2 * in, small + 3 * in, small + 4 * in};
      normalized_conv2d_backward(q, how, samples, to, {a.from(7), rows, out, stride}, a.from(0), norm(a), a.from(7), a.to(6),
                                 a.to(6) + 3 * in);
    });
  }
}

// Last, as it writes numbers that others would read.
void add_checks(list& all) {
  all.push_back({"check gradients, clip", [](cuda::queue& q, const arrays& a) {
                   auto* const checked = reinterpret_cast<ops::checked_gradients*>(a.to(5));
                   auto* const n = reinterpret_cast<double*>(a.to(6));
                   auto* const state = reinterpret_cast<detail::loss_scale_state*>(a.to(7));
                   check_gradients(q, checked, {n, n + 1, true, n + 2, state}, 1.0, {});
                   clip_checked(q, n + 3, static_cast<const double*>(n), 1.0,
                                static_cast<const ops::checked_gradients*>(checked));
                 }});
}

void print(const std::string& op, const std::string& kernel, const emulator::cost& c) {
  const auto each = [](std::uint64_t whole, std::uint64_t parts) {
    return parts == 0 ? 0 : static_cast<double>(whole) / static_cast<double>(parts);
  };
  std::printf("%s\t%s\t%llu\t%llu\t%.1f", op.c_str(), kernel.c_str(), static_cast<unsigned long long>(c.launches),
              static_cast<unsigned long long>(c.threads), each(c.instructions, c.threads));
  for (const emulator::accesses* const a : {&c.loads, &c.stores})
    std::printf("\t%.1f\t%.2f\t%.2f", 32 * each(a->requests, c.threads), each(a->sectors, a->requests),
                each(a->lines, a->requests));
  std::printf("\t%.2f\n", each(c.shared_rounds, c.fewest_rounds));
}

} // namespace

int main() {
  try {
    cuda gpu;
    const arrays a(gpu);
    list all;
    add_elements(all);
    add_rows(all);
    add_sequences(all);
    add_images(all);
    add_dense(all);
    add_checks(all);
    for (const named_op& op : all)
      for (const auto& [kernel, cost] : emulator::costs_of([&] { op.run(gpu.compute(), a), gpu.compute().finish(); }))
        if (cost.multiply_adds == 0) print(op.name, kernel, cost); // a product is cuBLASLt's
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
