// SPDX-License-Identifier: MIT
// Writes networks for tests/checks/onnx_files.py: of each the ONNX file, its inputs, and the outputs that Cairn makes of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/data/npy.hpp>
#include <cairn/train/onnx/onnx.hpp>

constexpr std::size_t rows_written = 3;

// Numbers that look random: in [-1, 1), a function of the name and of how many there were.
class drawn_numbers {
public:
  explicit drawn_numbers(const std::string& name) {
    for (const char c : name) state_ = state_ * 31 + static_cast<unsigned char>(c);
  }
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40U) / 8388608.0 - 1;
  }

private:
  std::uint64_t state_ = 1;
};

inline std::size_t written_networks = 0;

// Tensor k of what a network takes, as elements of its type. Integers are tokens, segments or lengths; a mask forbids some keys.
template <bool IsInteger, class Number>
auto drawn_input(const cairn::tensor& t, std::size_t k, bool is_constant, drawn_numbers& draw) {
  using element = std::conditional_t<IsInteger, std::int32_t, Number>;
  std::vector<element> out(t.elements(rows_written));
  for (element& e : out) {
    const double x = draw.next();
    if constexpr (IsInteger) e = static_cast<std::int32_t>((x + 1) * (k == 0 || is_constant ? 2 : 1)); // 0 to 3, segments 0 to 1
    else e = is_constant && x > 0.3 ? static_cast<element>(-INFINITY) : static_cast<element>(2 * x);
  }
  return out;
}

// Tensor k of what a network takes, constants last.
template <class Plan>
constexpr cairn::tensor taken_tensor(std::size_t k) {
  return k < Plan::inputs.count ? Plan::inputs[k] : Plan::constants[k - Plan::inputs.count];
}

template <class Numbers>
void write_array(const std::string& path, const Numbers& numbers, const cairn::tensor& t) {
  std::vector<std::size_t> extents;
  if (!t.per_batch) extents.push_back(rows_written);
  for (std::size_t axis = 0; axis < t.rank(); ++axis) extents.push_back(t[axis]);
  cairn::files::write_npy(path, numbers, extents);
}

// Writes NAME.onnx, NAME.input*.npy and NAME.output*.npy to the working folder, and one line for the check: the number of the
// network, how far its outputs may be from Cairn's, and its name.
template <class Net, class T = float>
void write(const std::string& name, double tolerance = 1e-5, const cairn::types::onnx_options& options = {}) {
  using namespace cairn;
  model<Net, batch<rows_written>, T> net{{.seed = 5, .threads = 1}};
  using plan = typename decltype(net)::plan;
  using number = typename decltype(net)::number;
  drawn_numbers draw(name);
  // Biases, norms and running statistics other than those at the start, variances above 0.
  net.for_each([&](const auto& q) {
    for (number& w : q.numbers) w += static_cast<number>(0.2 * draw.next());
  });
  net.for_each_buffer([&](const auto& q) {
    for (number& w : q.numbers) w += static_cast<number>(0.5 * draw.next());
  });
  const std::string stem = std::to_string(written_networks++);
  write_onnx(net, stem + ".onnx", options);
  constexpr std::size_t tensors = plan::inputs.count, constants = plan::constants.count;
  const auto taken = [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple{drawn_input < taken_tensor<plan>(K).type == element::int32,
                      number > (taken_tensor<plan>(K), K, K >= tensors, draw)...};
  }(std::make_index_sequence<tensors + constants>{});
  std::size_t k = 0;
  std::apply(
      [&](const auto&... arrays) {
        const auto write_one = [&](const auto& array) {
          const bool is_constant = k >= tensors;
          const std::size_t index = is_constant ? k - tensors : k, count = is_constant ? constants : tensors;
          write_array(stem + "." + detail::name_among(is_constant ? "constant" : "input", index, count) + ".npy", array,
                      taken_tensor<plan>(k++));
        };
        (write_one(arrays), ...);
        const auto made = net.evaluate(inputs(arrays...));
        if constexpr (plan::all_outputs) {
          for (std::size_t o = 0; o < made.size(); ++o)
            write_array(stem + "." + detail::name_among("output", o, made.size()) + ".npy", made[o], plan::outputs[o]);
        } else write_array(stem + ".output.npy", made, plan::outputs[0]);
      },
      taken);
  std::printf("%s %g %s\n", stem.c_str(), tolerance, name.c_str());
}
