// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <cairn/comm/chosen_ranks.hpp>
#include <cairn/core/config.hpp>

#if CAIRN_WITH_MPI // the program has a line `// uses: mpi`, and an MPI was found
#include <cairn/comm/mpi.hpp>
#endif

#include "command_line.hpp"

// What an example is told about its ranks, by --communicator and --ranks, and what they are then.
struct ranks_of_program {
#if CAIRN_WITH_MPI
  using type = cairn::chosen_ranks<cairn::mpi>;
#else
  using type = cairn::chosen_ranks<>;
#endif

  std::string communicator;
  int ranks = 0;     // 0: not told
  int otherwise = 2; // without a launcher

  void add_to(command_line& given) {
    given.add("communicator", communicator, "loopback, threads or mpi: what joins the ranks [by how the program was started]");
    given.add("ranks", ranks,
              "data-parallel ranks, 0: as many processes as were started, or " + std::to_string(otherwise) + " threads");
  }

  // With what main was called with. A process of MPI is one from here on.
  type chosen(int count, char** words) const {
    type::options options{.communicator = communicator, .otherwise = otherwise};
    if (ranks != 0) options.ranks = ranks;
    return {count, words, options};
  }
};
