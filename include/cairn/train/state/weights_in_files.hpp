// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/state/feature_order.hpp>

// The layout of parameters and buffers in files, which is that of PyTorch.
namespace cairn::detail {

// Whether a parameter is permuted in files. A parameter with channels last, such as the weight of a convolution, (out, height,
// width, in), has torch's order there: (out, in, height, width). Only writing and reading permute it.
inline bool is_turned(const tensor& facts) { return facts.has_channels_last && facts.rank() > 2; }

// The extents of a tensor in a file.
inline std::vector<std::uint64_t> extents_in_files(const tensor& facts) {
  std::vector<std::uint64_t> out;
  for (std::size_t a = 0; a < facts.rank(); ++a) out.push_back(facts[a]);
  if (is_turned(facts)) {
    out.insert(out.begin() + 1, out.back());
    out.pop_back();
  }
  return out;
}

// Copies elements of a parameter, of `bytes` bytes each, from the order of memory to that of files, or back. `features`: the
// order of a parameter after a Flatten of images (train/state/feature_order.hpp); else null.
enum class order : unsigned char { of_files, of_memory };
inline void turn_weight(std::span<const std::byte> from, std::byte* out, std::size_t bytes, const tensor& facts,
                        const turned_features* features, order to) {
  const auto move = [&](std::size_t in_memory, std::size_t in_file) {
    if (to == order::of_memory) std::swap(in_memory, in_file);
    std::memcpy(out + in_file * bytes, from.data() + in_memory * bytes, bytes);
  };
  if (is_turned(facts)) {
    const std::size_t channels = facts.last(), pixels = facts.size() / (facts[0] * channels);
    for (std::size_t o = 0; o < facts[0]; ++o)
      for (std::size_t p = 0; p < pixels; ++p)
        for (std::size_t c = 0; c < channels; ++c) move((o * pixels + p) * channels + c, (o * channels + c) * pixels + p);
  } else if (features != nullptr) {
    const std::size_t columns = facts.last(), rows = facts.size() / columns;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        move((features->rows.empty() ? r : features->rows[r]) * columns + (features->columns.empty() ? c : features->columns[c]),
             r * columns + c);
  } else if (!from.empty()) {
    std::memcpy(out, from.data(), from.size());
  }
}

// The bytes of parameters in the order of files: those of the parameter itself, or a permuted copy, which is kept here.
class file_bytes {
public:
  template <class T>
  std::span<const std::byte> of(std::span<T> numbers, const tensor& facts, const turned_features* features = nullptr) {
    if (!is_turned(facts) && features == nullptr) return std::as_bytes(numbers);
    std::vector<std::byte> bytes(numbers.size_bytes());
    turn_weight(std::as_bytes(numbers), bytes.data(), sizeof(T), facts, features, order::of_files);
    copies_.push_back({std::move(bytes), std::as_writable_bytes(numbers), &facts, features, sizeof(T)});
    return copies_.back().bytes;
  }
  // Writes the copies, into which a file was read, to the parameters.
  void give_back() const {
    for (const copy& c : copies_) turn_weight(c.bytes, c.to.data(), c.element, *c.facts, c.features, order::of_memory);
  }

private:
  struct copy {
    std::vector<std::byte> bytes; // stays in place when the struct moves
    std::span<std::byte> to;
    const tensor* facts = nullptr;
    const turned_features* features = nullptr;
    std::size_t element = 0;
  };
  std::vector<copy> copies_;
};

// Calls f with every parameter, then with every buffer.
template <class Weights, class F>
void for_all_weights(Weights& all, F f, naming how = naming::as_torch) {
  all.for_each_parameter(f, how);
  all.for_each_buffer(f, how);
}

inline std::string in_brackets(const std::vector<std::uint64_t>& extents) {
  std::string out = "(";
  for (const std::uint64_t e : extents) out += (out.size() > 1 ? ", " : "") + std::to_string(e);
  return out + ")";
}
// Prefixes of the tensors that only the state of a job has (state_file.hpp).
inline constexpr std::string_view optimizer_prefix = "optimizer/", rank_prefix = "rank/";
// Whether a tensor is not a weight, and not unexpected either. torch counts the batches that a BatchNorm has seen, and never
// reads the count if momentum is given.
inline bool is_no_weight(std::string_view name) {
  return name.ends_with(".num_batches_tracked") || name.starts_with(optimizer_prefix) || name.starts_with(rank_prefix);
}

} // namespace cairn::detail
