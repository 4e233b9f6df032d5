// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>

#include "parts.hpp"

namespace gpu_bench {

namespace {

using namespace cairn;

constexpr std::size_t fewest_features = 64;

// Arrays that are larger than any cache, of numbers in [-2, 2), and small ones of numbers in [1, 5], one for each channel.
struct arrays {
  std::size_t count, small;
  cuda::memory big[4], of_channels[6], integers, doubles;
  float* x(std::size_t i) const { return reinterpret_cast<float*>(big[i].data()); }
  float* c(std::size_t i) const { return reinterpret_cast<float*>(of_channels[i].data()); }
  std::int32_t* index() const { return reinterpret_cast<std::int32_t*>(integers.data()); }
  std::int32_t* target() const { return index() + count / 2; } // classes below fewest_features
  double* sum() const { return reinterpret_cast<double*>(doubles.data()); }
};

struct measured_op {
  std::string name, shape;
  double bytes; // that the op has to move if nothing stays in a cache
  std::function<void(cuda::queue&, const arrays&)> run;
};

std::string by(std::initializer_list<std::size_t> extents) {
  std::string text;
  for (const std::size_t n : extents) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

void add_elements(std::vector<measured_op>& all, std::size_t n) {
  const auto of = [&](const char* name, double arrays_moved, auto run) {
    all.push_back({name, by({n}), 4 * arrays_moved * static_cast<double>(n), run});
  };
  of("add", 3, [n](auto& q, const arrays& a) { add(q, n, a.x(0), a.x(1), a.x(2)); });
  of("relu forward", 2, [n](auto& q, const arrays& a) { elementwise(q, n, detail::relu_value{}, a.x(0), a.x(1)); });
  of("relu backward", 3, [n](auto& q, const arrays& a) { elementwise(q, n, detail::relu_slope{}, a.x(0), a.x(1), a.x(2)); });
  of("gelu forward", 2, [n](auto& q, const arrays& a) { elementwise(q, n, detail::gelu_value{}, a.x(0), a.x(1)); });
  of("gelu backward", 3, [n](auto& q, const arrays& a) { elementwise(q, n, detail::gelu_slope{}, a.x(0), a.x(1), a.x(2)); });
  of("tanh forward", 2, [n](auto& q, const arrays& a) { elementwise(q, n, detail::tanh_value{}, a.x(0), a.x(1)); });
  of("tanh backward", 3, [n](auto& q, const arrays& a) { elementwise(q, n, detail::tanh_slope{}, a.x(0), a.x(1), a.x(2)); });
  of("sigmoid forward", 2, [n](auto& q, const arrays& a) { elementwise(q, n, detail::sigmoid_value{}, a.x(0), a.x(1)); });
  of("sigmoid backward", 3,
     [n](auto& q, const arrays& a) { elementwise(q, n, detail::sigmoid_slope{}, a.x(0), a.x(1), a.x(2)); });
  of("dropout", 2, [n](auto& q, const arrays& a) {
    dropout(q, n, a.x(0), a.x(1), types::random_key{.seed = 1}, ops::dropout_rate{std::uint64_t{1} << 30, 4.0 / 3});
  });
  of("sgd", 3, [n](auto& q, const arrays& a) {
    sgd(q, n, a.x(0), a.x(3), a.x(1),
        {.scale = 1, .learning_rate = 1e-9F, .momentum = 0, .fresh = 1, .weight_decay = 0, .nesterov = false});
  });
  of("sgd with momentum", 5, [n](auto& q, const arrays& a) {
    sgd(q, n, a.x(0), a.x(3), a.x(1),
        {.scale = 1, .learning_rate = 1e-9F, .momentum = 0.9F, .fresh = 1, .weight_decay = 0, .nesterov = false});
  });
  of("adam", 7, [n](auto& q, const arrays& a) {
    adam(q, n, a.x(0), a.x(2), a.x(3), a.x(1),
         {.scale = 1,
          .keep_mean = 0.9F,
          .fresh_mean = 0.1F,
          .keep_square = 0.999F,
          .fresh_square = 0.001F,
          .correction = 1,
          .eps = 1e-8F,
          .rate = 1e-9F,
          .weight_decay = 0,
          .shrink = 1});
  });
  of("mean squared error", 5, [n](auto& q, const arrays& a) {
    mean_of_terms(q, a.sum(), a.x(0), n, a.x(1), a.x(2), detail::squared_error{}, detail::squared_error_slope{});
  });
  of("bce with logits", 5, [n](auto& q, const arrays& a) {
    mean_of_terms(q, a.sum(), a.x(0), n, a.x(1), a.x(2), detail::logit_error{}, detail::logit_error_slope{});
  });
  of("squared norm", 1, [n](auto& q, const arrays& a) { squared_norm(q, a.sum(), a.x(0), n); });
  of("checksum", 1, [n](auto& q, const arrays& a) { checksum(q, a.c(0), a.x(0), n); });
}

void add_rows(std::vector<measured_op>& all, std::size_t n) {
  for (const std::size_t features : {fewest_features, std::size_t{256}, std::size_t{1024}, std::size_t{4096}}) {
    const std::size_t rows = n / features;
    const double whole = 4 * static_cast<double>(rows * features);
    all.push_back({"layer_norm forward", by({rows, features}), 2 * whole, [=](auto& q, const arrays& a) {
                     layer_norm_forward(q, rows, features, 1e-5, a.x(0), a.x(3), a.x(1), a.c(1), a.c(2));
                   }});
    all.push_back({"layer_norm backward", by({rows, features}), 5 * whole, [=](auto& q, const arrays& a) { // with its parameters
                     layer_norm_backward(q, rows, features, a.x(0), a.c(3), a.c(4), a.x(1), a.x(2), a.x(3), a.c(1));
                   }});
    all.push_back({"softmax cross entropy", by({rows, features}), 2 * whole, [=](auto& q, const arrays& a) {
                     softmax_cross_entropy(q, a.sum(), a.x(0), ops::matrix<const float>(a.x(1), rows, features), a.target());
                   }});
  }
  for (const std::size_t features : {64U, 512U}) {
    const std::size_t rows = n / features;
    const double whole = 4 * static_cast<double>(rows * features);
    all.push_back({"batch_norm forward", by({rows, features}), 3 * whole, [=](auto& q, const arrays& a) { // its input twice
                     batch_norm_forward(q, rows, features, 1e-5, a.x(0), a.c(0), a.x(1), a.c(1), a.c(2));
                   }});
    all.push_back({"batch_norm backward", by({rows, features}), 5 * whole, [=](auto& q, const arrays& a) {
                     batch_norm_backward(q, rows, features, 1e-5, a.x(0), a.c(3), a.c(4), a.x(1), a.x(2), a.c(0), a.c(1));
                   }});
    all.push_back({"batch_norm evaluate", by({rows, features}), 2 * whole, [=](auto& q, const arrays& a) {
                     batch_norm_evaluate(q, rows, features, 1e-5, a.x(0), a.x(1), a.c(3), a.c(5), a.c(1), a.c(2));
                   }});
  }
  const std::size_t samples = std::max<std::size_t>(1, n / (64 * 1024));
  const ops::channel_groups of{samples, 1024, 64, 8};
  const double whole = 4 * 65536.0 * static_cast<double>(samples);
  all.push_back({"group_norm forward", by({samples, 1024, 64}) + " by 8", 2 * whole,
                 [=](auto& q, const arrays& a) { group_norm_forward(q, of, 1e-5, a.x(0), a.x(3), a.x(1), a.c(1), a.c(2)); }});
  all.push_back({"group_norm backward", by({samples, 1024, 64}) + " by 8", 5 * whole, [=](auto& q, const arrays& a) {
                   group_norm_backward(q, of, a.x(0), a.c(3), a.c(4), a.x(1), a.x(2), a.x(3), a.c(1));
                 }});
}

// The rows of Embedding's table. With 512 elements each, the table is a quarter of the array.
std::size_t words_of(std::size_t n) { return std::max<std::size_t>(1, n / 2048); }

void add_others(std::vector<measured_op>& all, std::size_t n) {
  const std::size_t width = 512, tokens = n / 2 / width, words = words_of(n);
  const double moved = 4 * static_cast<double>(tokens * width), of_weight = 4 * static_cast<double>(words * width);
  all.push_back({"embedding forward", by({tokens, width}), 2 * moved,
                 [=](auto& q, const arrays& a) { embedding_forward(q, tokens, words, width, a.x(0), a.x(1), a.index()); }});
  all.push_back({"embedding backward", by({tokens, width}), moved + of_weight,
                 [=](auto& q, const arrays& a) { embedding_backward(q, tokens, words, width, a.x(0), a.x(1), a.index()); }});
  const std::size_t channels = 64, side = n < 112 * 112 * 64 ? 16 : 112;
  const std::size_t images = n / (side * side * channels);
  const auto axis = [=](std::size_t kernel, std::size_t stride, std::size_t padding) {
    return ops::fitted({.in = side, .kernel = kernel, .stride = stride, .padding = padding});
  };
  for (const ops::window& over : {ops::window{axis(2, 2, 0), axis(2, 2, 0)}, ops::window{axis(3, 2, 1), axis(3, 2, 1)}}) {
    const double in = 4 * static_cast<double>(images * over.inputs() * channels), out = in / 4;
    const std::string shape = by({images, side, side, channels}) + " by " + std::to_string(over.y.kernel);
    all.push_back({"max_pool2d forward", shape, in + out,
                   [=](auto& q, const arrays& a) { max_pool2d_forward(q, over, images, channels, a.x(0), a.x(1)); }});
    all.push_back({"max_pool2d backward", shape, 2 * in + out,
                   [=](auto& q, const arrays& a) { max_pool2d_backward(q, over, images, channels, a.x(0), a.x(2), a.x(1)); }});
    all.push_back({"avg_pool2d forward", shape, in + out, [=](auto& q, const arrays& a) {
                     avg_pool2d_forward(q, over, ops::mean_of::window, images, channels, a.x(0), a.x(1));
                   }});
    all.push_back({"avg_pool2d backward", shape, in + out, [=](auto& q, const arrays& a) {
                     avg_pool2d_backward(q, over, ops::mean_of::window, images, channels, a.x(0), a.x(1));
                   }});
  }
}

std::vector<measured_op> all_ops(const request& asked) {
  const std::size_t n = (std::size_t{1} << 26) / asked.smaller; // 256 MiB
  std::vector<measured_op> all;
  add_elements(all, n);
  add_rows(all, n);
  add_others(all, n);
  return all;
}

arrays made(cuda& device, std::size_t n) {
  arrays a{n, 8192, {}, {}, {}, {}};
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(((i * 0x9E3779B9U) >> 8) & 0xFFFFU) * 0x1p-14F - 2;
  std::vector<std::int32_t> indices(n / 2 + n / fewest_features);
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<std::int32_t>(ops::random_bits({.seed = 1}, i) % (i < n / 2 ? words_of(n) : fewest_features));
  for (cuda::memory& m : a.big) {
    m = device.allocate(n * sizeof(float));
    upload(device.compute(), n, reinterpret_cast<float*>(m.data()), static_cast<const float*>(numbers.data()));
    device.compute().finish();
  }
  for (float& x : numbers) x = x * x + 1; // a weight, a variance
  for (cuda::memory& m : a.of_channels) {
    m = device.allocate(a.small * sizeof(float));
    upload(device.compute(), std::min(n, a.small), reinterpret_cast<float*>(m.data()), static_cast<const float*>(numbers.data()));
    device.compute().finish();
  }
  a.integers = device.allocate(indices.size() * sizeof(std::int32_t));
  upload(device.compute(), indices.size(), a.index(), static_cast<const std::int32_t*>(indices.data()));
  a.doubles = device.allocate(64);
  device.compute().finish();
  return a;
}

} // namespace

void list_ops(const request& asked) {
  for (const measured_op& op : all_ops(asked))
    std::printf("op %s: %s, %.0f bytes\n", op.name.c_str(), op.shape.c_str(), op.bytes);
}

double copied_bytes_per_second(cairn::cuda& device, const request& asked) {
  const std::size_t bytes = (std::size_t{1} << 28) / asked.smaller;
  const cuda::memory from = device.allocate(bytes), to = device.allocate(bytes);
  cuda::queue& queue = device.compute();
  const double ms =
      milliseconds([&] { copy(queue, bytes, to.data(), static_cast<const std::byte*>(from.data())); }, [&] { queue.finish(); });
  return 2 * static_cast<double>(bytes) / ms * 1e3;
}

void measure_ops(cairn::cuda& device, const request& asked, double floor) {
  const arrays a = made(device, (std::size_t{1} << 26) / asked.smaller);
  table rows({"op", "shape", "ms", "GB/s", "of the floor"});
  for (const measured_op& op : all_ops(asked)) {
    cuda::queue& queue = device.compute();
    const double ms = milliseconds([&] { op.run(queue, a); }, [&] { queue.finish(); }, 10, 5);
    const double rate = op.bytes / ms * 1e3;
    rows.row({op.name, op.shape, number(ms), number(rate / 1e9), percent(floor == 0 ? 0 : rate / floor)});
  }
}

} // namespace gpu_bench
