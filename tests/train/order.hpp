// SPDX-License-Identifier: MIT
// Proves from the record of recording.hpp that two ops are always in order if one writes what the other touches: on one queue,
// or by an event that one queue recorded and the other waited for. It uses vector clocks: an op comes after another if its queue
// knows of it (Fidge, 1988; Mattern, 1989).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "recording.hpp"

namespace recording {

// Returns a diagnostic of what is wrong with a record, or an empty text. Bytes in `arena` must also have been written before
// they are read, and not discarded since.
inline std::string fault_of(const log& all, std::span<const std::byte> arena) {
  using clock = std::vector<std::size_t>; // how many ops of each queue are known
  struct word {                           // four bytes of memory
    const entry* writer = nullptr;
    std::size_t written = 0; // the writer's number on its queue
    bool there = false;
    std::vector<std::size_t> read; // the last reader's number, for each queue
  };
  std::vector<clock> known(all.queues, clock(all.queues));
  std::vector<clock> recorded(all.events);
  std::unordered_map<std::uintptr_t, word> words;

  const auto fault = [](const entry& first, const entry& second) {
    return std::string(second.name) + " on queue " + std::to_string(second.queue) + " does not wait for " +
           std::string(first.name) + " on queue " + std::to_string(first.queue);
  };
  for (const entry& e : all.entries) {
    if (e.what == kind::discard) {
      for (const range& r : e.ranges)
        for (const std::byte* p = r.begin; p < r.end; p += 4) words[reinterpret_cast<std::uintptr_t>(p)].there = false;
      continue;
    }
    clock& mine = known[e.queue];
    if (e.what == kind::record) {
      recorded[e.event] = mine;
      continue;
    }
    if (e.what == kind::wait) {
      for (std::size_t q = 0; q < mine.size(); ++q) mine[q] = std::max(mine[q], recorded[e.event][q]);
      continue;
    }
    const std::size_t now = ++mine[e.queue];
    for (const bool writing : {false, true}) // an op in place reads before it writes
      for (const range& r : e.ranges) {
        if (r.writes != writing) continue;
        for (const std::byte* p = r.begin; p < r.end; p += 4) {
          word& w = words[reinterpret_cast<std::uintptr_t>(p)];
          w.read.resize(all.queues);
          if (w.writer != nullptr && mine[w.writer->queue] < w.written) return fault(*w.writer, e);
          if (writing) {
            for (std::size_t q = 0; q < all.queues; ++q)
              if (mine[q] < w.read[q]) return fault({kind::op, q, "a reader", {}, 0}, e);
            w.writer = &e;
            w.written = now;
            w.there = true;
          } else {
            const bool ours = p >= arena.data() && p < arena.data() + arena.size();
            if (ours && !w.there) return std::string(e.name) + " reads what is not there";
            w.read[e.queue] = now;
          }
        }
      }
  }
  return {};
}

} // namespace recording
