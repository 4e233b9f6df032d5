// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/embedding/embedding.hpp>

namespace cairn::detail {

CAIRN_DEVICE inline bool is_in_vocabulary(std::int32_t index, std::size_t vocabulary) {
  return index >= 0 && static_cast<std::size_t>(index) < vocabulary;
}

// One quad of a row per thread.
template <class T>
struct look_up {
  std::size_t vocabulary, width;
  divisor quads; // in a row
  bool aligned;
  T* output;
  const T* weight;
  const std::int32_t* indices;

  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t place = quads.of(at), first = quads.rest(at, place) * quad_width<T>;
    const std::int32_t index = indices[place];
    quad<T> v;
    // A wrong index could not be reported in time: its row becomes NaN, so that it is noticed.
    if (is_in_vocabulary(index, vocabulary))
      v = load_quad(weight + static_cast<std::size_t>(index) * width, first, width, aligned);
    else
      for (std::size_t j = 0; j < quad_width<T>; ++j) v.at[j] = static_cast<T>(static_cast<accumulated<T>>(__builtin_nanf("")));
    store_quad(output + place * width, v, first, width, aligned);
  }
};

// The gradient of a word's row is the sum over the places of the word, in their order. To spare every word a look at every
// place, places are first sorted by which of 256 ranges of the vocabulary their word is in; those of a range keep their order.
// They are counted for each tile of places and each range, then written after those that come before. No two threads write to
// the same place.
inline constexpr std::size_t word_ranges = 256, places_of_tile = 1024;
// The greatest number of places that are sorted at once; further ones add to the sums that are there.
inline constexpr std::size_t places_at_once = std::size_t{1} << 19;

struct place_of_word {
  std::uint32_t place;
  std::int32_t word;
};
struct sorted_places {
  std::size_t count;        // of places
  divisor words;            // in a range
  place_of_word* places;    // sorted
  std::uint32_t* of_ranges; // the number of places in each range
  std::uint32_t* of_tiles;  // (tiles, ranges): the number of places of the tile in the range
  std::uint32_t* begins;    // (tiles, ranges): where they are written
  std::size_t vocabulary;
  const std::int32_t* indices;

  CAIRN_HOST_DEVICE std::size_t tiles() const { return (count + places_of_tile - 1) / places_of_tile; }
  CAIRN_DEVICE std::size_t range(std::size_t place) const {
    return is_in_vocabulary(indices[place], vocabulary) ? words.of(static_cast<std::size_t>(indices[place])) : word_ranges;
  }
};
// One range of one tile per thread. Neighbouring threads have neighbouring ranges, so that they read the same indices.
struct count_in_tiles : sorted_places {
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t tile = at / word_ranges, own = at % word_ranges;
    std::uint32_t found = 0;
    for (std::size_t place = tile * places_of_tile; place < count && place < (tile + 1) * places_of_tile; ++place)
      if (range(place) == own) ++found;
    of_tiles[at] = found;
  }
};
// One range per thread.
struct add_tiles : sorted_places {
  CAIRN_DEVICE void operator()(std::size_t own) const {
    std::uint32_t found = 0;
    for (std::size_t tile = 0; tile < tiles(); ++tile) found += of_tiles[tile * word_ranges + own];
    of_ranges[own] = found;
  }
};
// One range of one tile per thread.
struct begin_tiles : sorted_places {
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t own = at % word_ranges;
    std::uint32_t found = 0;
    for (std::size_t other = 0; other < own; ++other) found += of_ranges[other];
    for (std::size_t other = own; other < at; other += word_ranges) found += of_tiles[other];
    begins[at] = found;
  }
};
struct write_in_tiles : sorted_places {
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t tile = at / word_ranges, own = at % word_ranges;
    std::uint32_t to = begins[at];
    for (std::size_t place = tile * places_of_tile; place < count && place < (tile + 1) * places_of_tile; ++place)
      if (range(place) == own) places[to++] = {static_cast<std::uint32_t>(place), indices[place]};
  }
};
// One row of the weight per team, one quad per thread.
template <class T>
struct sum_of_word : sorted_places {
  static constexpr unsigned resident_threads = is_narrow<T> ? 768 : 1024; // with 80 or 64 registers each
  static constexpr unsigned rows_in_flight = is_narrow<T> ? 2 : 4;        // of the gradient, loaded before the first is used

  std::size_t width;
  bool aligned, adds; // adds: to the sums that are there
  accumulated<T>* weight_gradient;
  const T* output_gradient;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t word) const {
    const std::size_t own = words.of(word);
    const place_of_word* const of_range = places + begins[own]; // the start of the range
    const auto is_of_word = [&](std::uint32_t i) { return static_cast<std::size_t>(of_range[i].word) == word; };
    team.each_together(quads_for<T>(width), [&](std::size_t q) {
      const std::size_t first = q * quad_width<T>;
      double sum[quad_width<T>] = {};
      wide_quad<T> some{}; // of up to rows_of_chain places
      std::size_t chain = 0;
      if (adds) some = load_sums<T>(weight_gradient + word * width, first, width, aligned), chain = 1;
      team.template each_that<rows_in_flight>(of_ranges[own], is_of_word, [&](const auto& found, unsigned n) {
        quad<T> dy[rows_in_flight];
        for (unsigned k = 0; k < rows_in_flight; ++k)
          if (k < n) dy[k] = load_quad(output_gradient + of_range[found[k]].place * width, first, width, aligned);
        for (unsigned k = 0; k < rows_in_flight; ++k) {
          if (k >= n) break;
          for (std::size_t j = 0; j < quad_width<T>; ++j) some.at[j] += widened(dy[k].at[j]);
          if (++chain % rows_of_chain != 0) continue;
          for (std::size_t j = 0; j < quad_width<T>; ++j) sum[j] += static_cast<double>(some.at[j]), some.at[j] = 0;
        }
      });
      for (std::size_t j = 0; j < quad_width<T>; ++j)
        some.at[j] = static_cast<accumulated<T>>(sum[j] + static_cast<double>(some.at[j]));
      store_sums<T>(weight_gradient + word * width, some, first, width, aligned);
    });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

// An index without a row in the weight makes a row of NaN here, and throws on a cpu.
template <detail::floating_element T>
void embedding_forward(cuda::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width, T* output,
                       const T* weight, const std::int32_t* indices) {
  const std::size_t quads = detail::quads_for<T>(width);
  const bool aligned = detail::rows_are_quads<T>(width, output, weight);
  detail::launch_each(queue, "embedding_forward", count * quads,
                      detail::look_up<T>{vocabulary, width, quads, aligned, output, weight, indices});
}

template <detail::floating_element T>
void embedding_backward(cuda::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width,
                        accumulated<T>* weight_gradient, const T* output_gradient, const std::int32_t* indices) {
  constexpr const char* op = "embedding_backward";
  using namespace detail;
  const bool aligned = rows_are_quads<T>(width, weight_gradient, output_gradient);
  const std::size_t words = std::max<std::size_t>(1, (vocabulary + word_ranges - 1) / word_ranges);
  static_assert(places_at_once * sizeof(place_of_word) +
                    (2 * places_at_once / places_of_tile * word_ranges + word_ranges) * sizeof(std::uint32_t) <=
                cuda::queue::partial_bytes);
  auto* const places = reinterpret_cast<place_of_word*>(queue.partial(op).data());
  auto* const of_ranges = reinterpret_cast<std::uint32_t*>(places + places_at_once);
  std::uint32_t* const of_tiles = of_ranges + word_ranges;
  std::size_t from = 0;
  do { // at least once: without places the gradient is 0
    const std::size_t some = std::min(count - from, places_at_once);
    const sorted_places of{some,       words,         places,
                           of_ranges,  of_tiles,      of_tiles + places_at_once / places_of_tile * word_ranges,
                           vocabulary, indices + from};
    launch_each(queue, op, of.tiles() * word_ranges, count_in_tiles{of});
    launch_each(queue, op, word_ranges, add_tiles{of});
    launch_each(queue, op, of.tiles() * word_ranges, begin_tiles{of});
    launch_each(queue, op, of.tiles() * word_ranges, write_in_tiles{of});
    launch_teams_for(width / 2, queue, op, vocabulary,
                     sum_of_word<T>{of, width, aligned, from != 0, weight_gradient, output_gradient + from * width});
    from += some;
  } while (from < count);
}

} // namespace cairn::ops
