// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/tensor.hpp>

namespace cairn::detail {

// A parameter that has its channels last, as the weight of a convolution, (out, height, width, in), lies in files as torch has
// it: (out, in, height, width). It is turned where it is written and read, and nowhere else.
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

// The elements of such a parameter, each of so many bytes, in the order of files; or those of a file in the order of memory.
enum class order : unsigned char { of_files, of_memory };
inline std::vector<std::byte> turned(std::span<const std::byte> from, std::size_t bytes, const tensor& facts, order to) {
  std::vector<std::byte> out(from.size());
  const std::size_t channels = facts.last(), pixels = facts.size() / (facts[0] * channels);
  for (std::size_t o = 0; o < facts[0]; ++o)
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t c = 0; c < channels; ++c) {
        std::size_t in_memory = (o * pixels + p) * channels + c, in_file = (o * channels + c) * pixels + p;
        if (to == order::of_memory) std::swap(in_memory, in_file);
        std::memcpy(out.data() + in_file * bytes, from.data() + in_memory * bytes, bytes);
      }
  return out;
}

// The bytes of parameters as files have them: where they lie, or a copy that is turned and is here.
class file_bytes {
public:
  template <class T>
  std::span<const std::byte> of(std::span<T> numbers, const tensor& facts) {
    if (!is_turned(facts)) return std::as_bytes(numbers);
    copies_.push_back(
        {turned(std::as_bytes(numbers), sizeof(T), facts, order::of_files), std::as_writable_bytes(numbers), &facts, sizeof(T)});
    return copies_.back().bytes;
  }
  // Copies in which a file was read go to the parameters.
  void give_back() {
    for (const copy& c : copies_) {
      const std::vector<std::byte> own = turned(c.bytes, c.element, *c.facts, order::of_memory);
      std::memcpy(c.to.data(), own.data(), own.size());
    }
  }

private:
  struct copy {
    std::vector<std::byte> bytes; // stays where it is when the copy moves
    std::span<std::byte> to;
    const tensor* facts = nullptr;
    std::size_t element = 0;
  };
  std::vector<copy> copies_;
};

} // namespace cairn::detail
