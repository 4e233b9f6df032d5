// SPDX-License-Identifier: MIT
// Common parts of the tests of networks of images: three steps against PyTorch's numbers, and jobs whose bits are compared.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cpu.hpp>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "training.hpp"

namespace testing {

// Images of `Pixels` numbers each, and their classes.
template <std::size_t Pixels>
struct image_samples {
  std::vector<float> x;
  std::vector<int> y;
  image_samples(std::size_t rows, std::uint32_t stream) : x(rows * Pixels), y(rows) {
    const cairn::types::random_key key{.seed = 11, .position = stream};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * cairn::ops::random_uniform<float>(key, i) - 1;
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<int>(cairn::ops::random_bits(key, (1U << 20) + r) % 4);
  }
};

// The largest difference from PyTorch's numbers in three steps: of the losses, the first step's gradients, the parameters, and
// the running statistics of the layer `normalized`. The network is `name` in make.py and has `parameters` parameter tensors.
template <class Model, class T>
double distance_of_images(const std::string& name, std::size_t parameters, const std::string& normalized) {
  cairn::trainer<Model, cairn::CrossEntropyLoss, cairn::SGD, cairn::batch<5>, T> t{momentum, {.seed = 1}};
  std::size_t count = 0;
  t.for_each([&](const cairn::types::named_parameter<T>& p) {
    const auto from = reference_numbers<T>(name + "/parameter" + std::to_string(count++));
    REQUIRE(from.size() == p.numbers.size());
    std::copy(from.begin(), from.end(), p.numbers.begin());
  });
  REQUIRE(count == parameters);
  const auto input = reference_numbers<T>(name + "/input");
  const auto targets = reference_numbers<int>(name + "/targets");
  std::vector<T> losses;
  double largest = 0;
  const auto compare = [&](const auto& found, const std::string& part) {
    largest =
        std::max(largest, largest_difference(std::vector<T>(found.begin(), found.end()), reference_values(name + "/" + part)));
  };
  for (int step = 0; step < 3; ++step) {
    losses.push_back(static_cast<T>(t.step(input, targets)));
    if (step > 0) continue;
    std::size_t index = 0;
    t.for_each_gradient(
        [&](const cairn::types::named_parameter<T>& p) { compare(p.numbers, "gradient" + std::to_string(index++)); });
    CHECK(index == count);
  }
  compare(losses, "losses");
  count = 0;
  t.for_each([&](const cairn::types::named_parameter<T>& p) { compare(p.numbers, "trained" + std::to_string(count++)); });
  compare(t.buffer(normalized + ".running_mean"), "running_mean");
  compare(t.buffer(normalized + ".running_var"), "running_variance");
  return largest;
}

// The results of a job of three steps, of which the second has fewer rows.
struct image_trace {
  std::vector<double> losses;
  std::vector<float> parameters, buffers, evaluated;
  bool operator==(const image_trace&) const = default;
};
template <std::size_t Pixels, class Model, class T = float, class Device = cairn::cpu>
image_trace run_images(std::size_t threads = 1) {
  using type = cairn::trainer<Model, cairn::CrossEntropyLoss, cairn::SGD, cairn::batch<6>, T, Device>;
  type t{momentum, {.seed = 3, .threads = threads}};
  image_trace out;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const image_samples<Pixels> s(step == 1 ? 2 : 6, step);
    out.losses.push_back(t.step(s.x, s.y));
  }
  t.for_each([&](const auto& q) { out.parameters.insert(out.parameters.end(), q.numbers.begin(), q.numbers.end()); });
  t.for_each_buffer([&](const auto& q) { out.buffers.insert(out.buffers.end(), q.numbers.begin(), q.numbers.end()); });
  out.evaluated = copy_of(t.evaluate(image_samples<Pixels>(4, 9).x));
  return out;
}

// The results of three steps of two ranks, of which the second has fewer rows; and the parameters of one process that trains on
// the same rows as micro-batches.
struct ranks_of_images {
  std::array<std::vector<float>, 2> parameters, buffers;
  std::vector<float> alone;
};
template <std::size_t Pixels, class OnRanks, class Model>
ranks_of_images run_images_on_two_ranks() {
  using namespace cairn;
  ranks_of_images out;
  threads{2}.run([&](threads::rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    trainer<ddp<OnRanks, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{rank, momentum, {.seed = 3}};
    for (std::uint32_t step = 0; step < 3; ++step) {
      const image_samples<Pixels> s(r == 0 ? 6 : 4, 2 * step + static_cast<std::uint32_t>(r));
      t.step(s.x, s.y);
    }
    out.parameters[r] = copy_of(t.parameters());
    out.buffers[r] = copy_of(t.buffers());
  });
  trainer<Model, CrossEntropyLoss, SGD, batch<6>> alone{momentum, {.seed = 3}};
  for (std::uint32_t step = 0; step < 3; ++step) {
    const image_samples<Pixels> first(6, 2 * step), second(4, 2 * step + 1);
    alone.accumulate(first.x, first.y);
    alone.step(second.x, second.y);
  }
  out.alone = copy_of(alone.parameters());
  return out;
}

} // namespace testing
