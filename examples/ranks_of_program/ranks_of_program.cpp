// SPDX-License-Identifier: MIT
#include "ranks_of_program.hpp"

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/core/config.hpp>

#if CAIRN_WITH_MPI
#include <cairn/comm/mpi/mpi.hpp>
using processes = cairn::mpi;
#else
using processes = cairn::types::no_processes;
#endif

class ranks_of_program::chosen : public cairn::chosen_ranks<processes> {
public:
  using cairn::chosen_ranks<processes>::chosen_ranks;
};

void ranks_of_program::told::add_to(command_line& given) {
  given.add("communicator", communicator,
            "loopback, threads or mpi: what joins the ranks, or nccl in mnist [by how the program was started]");
  given.add("ranks", ranks,
            "data-parallel ranks, 0: as many processes as were started, or " + std::to_string(otherwise) + " threads");
}

ranks_of_program::ranks_of_program(int count, char** words, const told& by_user) {
  chosen::options options{.communicator = by_user.communicator, .otherwise = by_user.otherwise};
  if (by_user.ranks != 0) options.ranks = by_user.ranks;
  chosen_ = std::make_unique<chosen>(count, words, options);
}
ranks_of_program::ranks_of_program() : chosen_(std::make_unique<chosen>(cairn::launch{})) {}
ranks_of_program::~ranks_of_program() = default;

int ranks_of_program::size() const { return chosen_->size(); }
const cairn::launch& ranks_of_program::here() const { return chosen_->here(); }
std::string ranks_of_program::text() const { return chosen_->text(); }
void ranks_of_program::run(const std::function<void(cairn::any_rank&)>& body) { chosen_->run(body); }
