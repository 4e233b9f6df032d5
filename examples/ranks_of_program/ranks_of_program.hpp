// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/launch/launch.hpp>

#include "../command_line.hpp"

// The ranks of an example: a cairn::chosen_ranks<mpi> behind a pointer, so that MPI and threads are compiled once for all
// examples. Without MPI it is a chosen_ranks<>.
class ranks_of_program {
public:
  // The options --communicator and --ranks.
  struct told {
    std::string communicator;
    int ranks = 0;     // 0: not given
    int otherwise = 2; // without a launcher

    void add_to(command_line& given);
  };

  // Takes the arguments of main. A process of MPI is one from here on.
  ranks_of_program(int count, char** words, const told& by_user);
  // One rank alone, whatever has started this process.
  ranks_of_program();
  ~ranks_of_program();

  int size() const;
  const cairn::launch& here() const;
  bool first() const { return here().rank == 0; }
  std::string text() const;
  void run(const std::function<void(cairn::any_rank&)>& body);

private:
  class chosen;
  std::unique_ptr<chosen> chosen_;
};
