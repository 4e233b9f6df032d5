// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/core/memory.hpp>

namespace cairn {

// The most bytes of gradients in one bucket.
template <std::size_t Bytes>
struct bucket_bytes {
  static_assert(Bytes > 0, "bucket_bytes<Bytes>: a bucket has at least one byte");
  static constexpr std::size_t value = Bytes;
};

} // namespace cairn

namespace cairn::detail {

// A bucket is a span [begin, end) of the flat gradient buffer, in elements. It can leave as soon as the gradients
// below `end` are complete; that is after the backward of leaf layer `leaves_after`, counted in the order in which
// backward finishes them.
struct bucket {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t leaves_after = 0;

  constexpr std::size_t size() const { return end - begin; }
  constexpr bool operator==(const bucket&) const = default;
};

// One parameter's gradient in the flat buffer: where it ends, padding included, and the leaf that finishes it.
struct gradient_end {
  std::size_t end = 0;
  std::size_t leaf = 0;
};

// The buckets of a network, in the order in which they leave.
template <std::size_t Capacity>
struct bucket_plan {
  std::array<bucket, Capacity + 1> storage{};
  std::size_t count = 0;

  constexpr std::span<const bucket> buckets() const { return {storage.data(), count}; }
  constexpr std::size_t size() const { return count; }
  constexpr const bucket& operator[](std::size_t i) const { return storage[i]; }
};

// The last bucket is small: it is the only one whose transfer no computation can hide.
inline constexpr std::size_t last_bucket_bytes = std::size_t{1} << 20;

// Cuts the flat gradient buffer into buckets of at most `most` bytes with elements of `element` bytes. The gradients
// come in the order in which backward finishes them. A parameter is never cut: one that is larger than `most` has a
// bucket of its own.
template <std::size_t Parameters>
constexpr bucket_plan<Parameters> make_buckets(std::span<const gradient_end> ends, std::size_t element, std::size_t most) {
  bucket_plan<Parameters> out{};
  if (ends.empty()) return out;
  const std::size_t total = ends.back().end;
  const std::size_t tail_most = most < last_bucket_bytes ? most : last_bucket_bytes;

  // The last bucket takes parameters from the end as long as they fit; one at least.
  const auto begin_of = [&](std::size_t p) { return p == 0 ? 0 : ends[p - 1].end; };
  std::size_t tail = ends.size() - 1;
  while (tail > 0 && (total - begin_of(tail - 1)) * element <= tail_most) --tail;

  const auto close = [&](std::size_t begin, std::size_t last) {
    out.storage[out.count++] = {begin, ends[last].end, ends[last].leaf};
  };
  std::size_t begin = 0;
  for (std::size_t p = 0; p < tail; ++p)
    if (p + 1 == tail || (ends[p + 1].end - begin) * element > most) {
      close(begin, p);
      begin = ends[p].end;
    }
  close(begin, ends.size() - 1);
  return out;
}

} // namespace cairn::detail
