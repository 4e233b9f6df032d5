// SPDX-License-Identifier: MIT
// Ranks that are threads of one process and exchange messages, as processes do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <cairn/comm/mpi/message_group.hpp>
#include <cairn/comm/mpi/message_rank.hpp>
#include <cairn/comm/mpi/message_run.hpp>

#include "fake_wire.hpp"
#include "mixed_calls.hpp"

namespace testing {

using wired_rank = cairn::detail::message_rank<wire_transport>;

struct wired_job {
  int ranks = 2;
  std::uint64_t seed = 1;
  std::size_t most_bytes = 1 << 20;
  cairn::detail::message_options options{.deadline = std::chrono::seconds(20), .max_in_flight = 4096};

  // Runs the body on each rank and returns what each threw; empty if nothing.
  template <class Body>
  std::vector<std::string> run(Body body) const {
    wire all(ranks, seed, most_bytes);
    std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          const cairn::detail::message_group<wire_transport> group(options, [&all, rank] { return wire_transport(all, rank); });
          cairn::detail::run_as_rank<wire_transport>(group.engine(), body);
        } catch (const std::exception& fault) {
          thrown[static_cast<std::size_t>(rank)] = fault.what();
        }
      });
    for (std::thread& t : threads) t.join();
    return thrown;
  }
};

} // namespace testing
