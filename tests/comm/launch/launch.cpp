// SPDX-License-Identifier: MIT
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/launch/launch.hpp>
#include <doctest/doctest.h>

namespace launch_tests {

using cairn::launch;
using cairn::types::launcher;

namespace {

// Splits an environment or a command line of a table's row at its blanks.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

launch launch_from(const std::string& environment, const std::string& arguments = "", const launch::options& given = {}) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& word : words_of(environment)) {
    const std::size_t sign = word.find('=');
    variables.emplace_back(word.substr(0, sign), word.substr(sign + 1));
  }
  const auto value = [&](const std::string& name) -> const char* {
    for (const auto& [known, text] : variables)
      if (known == name) return text.c_str();
    return nullptr;
  };
  const std::vector<std::string> words = words_of("program " + arguments);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return launch::from(value, pointers, given);
}

std::string error_of(const std::string& environment, const std::string& arguments = "", const launch::options& given = {}) {
  try {
    launch_from(environment, arguments, given);
  } catch (const cairn::input_error& refused) {
    return refused.what();
  }
  return "no error";
}

// The variables that `torchrun --nproc-per-node 2`, Open MPI 4.1's `mpirun -np 2` and MPICH 4.0's `mpiexec.hydra -n 2` set for
// rank 1,
// as seen on Debian 12. Slurm's are as its sources set them for task 5 of `srun -N 3 -n 6` and for a script of `sbatch -n 6`.
const std::string torchrun =
    "GROUP_RANK=0 GROUP_WORLD_SIZE=1 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=33895 RANK=1 "
    "ROLE_RANK=1 ROLE_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=314ad108 WORLD_SIZE=2 ";
const std::string open_mpi = "OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=1 "
                             "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_UNIVERSE_SIZE=2 PMIX_RANK=1 ";
const std::string hydra = "MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 PMI_FD=8 PMI_RANK=1 PMI_SIZE=2 ";
const std::string srun = "SLURM_PROCID=5 SLURM_LOCALID=0 SLURM_NODEID=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=6 "
                         "SLURM_STEP_TASKS_PER_NODE=3,2,1 SLURM_NTASKS=6 SLURM_JOB_ID=77 ";
const std::string sbatch = "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=6 SLURM_TASKS_PER_NODE=3,2,1 "
                           "SLURM_JOB_ID=77 ENVIRONMENT=BATCH ";

struct right {
  std::string what, environment, arguments;
  launch::options given;
  int rank, size;
  std::optional<int> local_rank, local_size;
  std::string address;
  std::optional<int> port;
  launcher by;
};
const std::vector<right> right_ones{
    {"nothing at all", "HOME=/root", "--epochs 3", {}, 0, 1, {}, {}, "", {}, launcher::none},
    {"nothing, and ranks that will be threads", "", "", {.ranks = 4}, 0, 1, {}, {}, "", {}, launcher::none},
    {"an address that is left over", "MASTER_ADDR=node1 MASTER_PORT=none", "", {}, 0, 1, {}, {}, "", {}, launcher::none},
    {"the program", "", "", {.rank = 2, .size = 3, .port = 2950, .address = "a"}, 2, 3, {}, {}, "a", 2950, launcher::program},
    {"torchrun", torchrun, "", {}, 1, 2, 1, 2, "localhost", 33895, launcher::torchrun},
    {"torchrun, and as many ranks", torchrun, "", {.ranks = 2}, 1, 2, 1, 2, "localhost", 33895, launcher::torchrun},
    {"torchrun with one process that makes threads",
     "RANK=0 WORLD_SIZE=1",
     "",
     {.ranks = 2},
     0,
     1,
     {},
     {},
     "",
     {},
     launcher::torchrun},
    {"torch.distributed.launch", "RANK=3 WORLD_SIZE=4", "--local-rank=1 x", {}, 3, 4, 1, {}, "", {}, launcher::torchrun},
    {"an older one", "RANK=3 WORLD_SIZE=4", "x --local_rank 0", {}, 3, 4, 0, {}, "", {}, launcher::torchrun},
    {"Open MPI", open_mpi, "", {}, 1, 2, 1, 2, "", {}, launcher::open_mpi},
    {"MPICH", hydra, "", {}, 1, 2, 1, 2, "", {}, launcher::pmi},
    {"Slurm", srun, "", {}, 5, 6, 0, 1, "", {}, launcher::slurm},
    {"Slurm with as many tasks on each node",
     "SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_NODEID=1 SLURM_STEP_NUM_TASKS=8 "
     "SLURM_STEP_TASKS_PER_NODE=2(x4)",
     "",
     {},
     3,
     8,
     1,
     2,
     "",
     {},
     launcher::slurm},
    {"Slurm with PMI", srun + "PMI_RANK=5 PMI_SIZE=6", "", {}, 5, 6, 0, 1, "", {}, launcher::pmi},
    {"Slurm with PMIx", srun + "PMIX_RANK=5", "", {}, 5, 6, 0, 1, "", {}, launcher::pmi},
    {"Slurm, and what a script exports for PyTorch",
     srun + "WORLD_SIZE=6 MASTER_ADDR=node1 MASTER_PORT=29500",
     "",
     {},
     5,
     6,
     0,
     1,
     "node1",
     29500,
     launcher::slurm},
    {"a script of sbatch", sbatch, "", {}, 0, 1, {}, {}, "", {}, launcher::none},
    {"a shell of salloc, which is a step of its own",
     "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_TASKS=1 "
     "SLURM_STEP_TASKS_PER_NODE=1 SLURM_STEP_ID=4294967290 SLURM_NTASKS=6",
     "",
     {},
     0,
     1,
     0,
     1,
     "",
     {},
     launcher::slurm},
    {"mpirun in a script of sbatch", sbatch + open_mpi, "", {}, 1, 2, 1, 2, "", {}, launcher::open_mpi},
    {"mpirun's daemon on another node",
     "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_TASKS=1 " + open_mpi,
     "",
     {},
     1,
     2,
     1,
     2,
     "",
     {},
     launcher::open_mpi},
    {"Hydra's daemon on another node",
     "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_TASKS=1 " + hydra,
     "",
     {},
     1,
     2,
     1,
     2,
     "",
     {},
     launcher::pmi},
    {"a torchrun on each node of Slurm",
     "SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_STEP_NUM_TASKS=2 "
     "SLURM_STEP_TASKS_PER_NODE=1(x2) RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 GROUP_WORLD_SIZE=2",
     "",
     {},
     5,
     8,
     1,
     4,
     "",
     {},
     launcher::torchrun},
    {"a torchrun in each process of mpirun",
     open_mpi + "RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 GROUP_WORLD_SIZE=2",
     "",
     {},
     0,
     4,
     0,
     2,
     "",
     {},
     launcher::torchrun},
    {"a torchrun in each process of mpirun on two nodes of Slurm",
     "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_TASKS=1 " + open_mpi +
         "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 GROUP_WORLD_SIZE=2",
     "",
     {},
     3,
     4,
     1,
     2,
     "",
     {},
     launcher::torchrun},
    {"mpirun, and PyTorch's variables from a script",
     open_mpi + "RANK=1 WORLD_SIZE=2 MASTER_ADDR=a",
     "",
     {},
     1,
     2,
     1,
     2,
     "a",
     {},
     launcher::torchrun},
};

struct wrong {
  std::string what, environment, arguments;
  launch::options given;
  std::string error; // a part of the message
};
const std::vector<wrong> wrong_ones{
    {"another number of ranks",
     "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4",
     "",
     {.ranks = 2},
     "told to train with 2 ranks, but Open MPI says that 4 processes were started"},
    {"no number of ranks", "", "", {.ranks = 0}, "ranks=0: expected a whole number, 1 or more"},
    {"another rank than the program's", torchrun, "", {.rank = 0, .size = 2}, "rank=0 of the program, but RANK=1 of torchrun"},
    {"another address than the program's", torchrun, "", {.address = "a"}, "address=a of the program, but MASTER_ADDR=localhost"},
    {"two launchers, other ranks",
     open_mpi + "RANK=0 WORLD_SIZE=2",
     "",
     {},
     "RANK=0 of torchrun, but OMPI_COMM_WORLD_RANK=1 of Open MPI"},
    {"two launchers, other sizes",
     hydra + "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3",
     "",
     {},
     "OMPI_COMM_WORLD_SIZE=3 of Open MPI, but PMI_SIZE=2 of PMI"},
    {"left over in tasks of Slurm", srun + "RANK=0 WORLD_SIZE=1", "", {}, "RANK=0 of torchrun, but SLURM_PROCID=5 of Slurm"},
    {"PMIx says another rank",
     "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=0",
     "",
     {},
     "OMPI_COMM_WORLD_RANK=1 of Open MPI, but PMIX_RANK=0 of PMI"},
    {"an mpirun in every task of Slurm",
     srun + open_mpi,
     "",
     {},
     "OMPI_COMM_WORLD_SIZE=2 of Open MPI, but SLURM_STEP_NUM_TASKS=6"},
    {"a torchrun of its own in every process of mpirun",
     open_mpi + torchrun,
     "",
     {},
     "GROUP_WORLD_SIZE=1 of torchrun, but OMPI_COMM_WORLD_SIZE=2 of Open MPI"},
    {"a rank without a size", "RANK=1", "", {}, "RANK=1, but nothing says how many ranks there are"},
    {"PMIx without a size", "PMIX_RANK=0", "", {}, "PMIX_RANK=0, but nothing says how many ranks there are"},
    {"a size without a rank", "WORLD_SIZE=2", "", {}, "WORLD_SIZE=2, but nothing says which rank this is"},
    {"what a script exports, started without srun", sbatch + "WORLD_SIZE=6", "", {}, "WORLD_SIZE=6, but nothing says which rank"},
    {"a local rank only", "", "--local-rank=0", {}, "--local-rank=0, but nothing says which rank this is"},
    {"two local ranks",
     "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1",
     "--local_rank 0",
     {},
     "--local_rank=0 of the command line, but LOCAL_RANK=1 of torchrun"},
    {"a local rank that is missing", "RANK=1 WORLD_SIZE=2", "--local-rank", {}, "--local-rank=: expected a whole number"},
    {"a rank that is the size",
     "PMI_RANK=2 PMI_SIZE=2",
     "",
     {},
     "PMI_RANK=2 with PMI_SIZE=2: ranks are counted from 0, expected at most 1"},
    {"a local rank that is the local size",
     "RANK=0 WORLD_SIZE=9 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2",
     "",
     {},
     "LOCAL_RANK=2 with LOCAL_WORLD_SIZE=2"},
    {"a local rank that is the size", "RANK=0 WORLD_SIZE=2 LOCAL_RANK=2", "", {}, "LOCAL_RANK=2 with WORLD_SIZE=2"},
    {"more on a machine than there are",
     "RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=3",
     "",
     {},
     "LOCAL_WORLD_SIZE=3 with WORLD_SIZE=2"},
    {"no process", "RANK=0 WORLD_SIZE=0", "", {}, "WORLD_SIZE=0: expected a whole number, 1 or more"},
    {"a negative rank", "RANK=-1 WORLD_SIZE=2", "", {}, "RANK=-1: expected a whole number, 0 or more"},
    {"a text", "RANK=first WORLD_SIZE=2", "", {}, "RANK=first: expected a whole number"},
    {"a number with something behind it", "RANK=1 WORLD_SIZE=2x", "", {}, "WORLD_SIZE=2x: expected a whole number"},
    {"an empty variable", "RANK= WORLD_SIZE=2", "", {}, "RANK=: expected a whole number"},
    {"a number that is too large", "RANK=1 WORLD_SIZE=4294967298", "", {}, "WORLD_SIZE=4294967298: expected a whole number"},
    {"a port that is none",
     "RANK=0 WORLD_SIZE=1 MASTER_PORT=65536",
     "",
     {},
     "MASTER_PORT=65536: expected a whole number, 1 or more and at most 65535"},
    {"tasks for fewer nodes",
     "SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=2(x2)",
     "",
     {},
     "with one for SLURM_NODEID=2"},
};

} // namespace

TEST_CASE("launch: what each launcher says is found") {
  for (const right& row : right_ones) {
    CAPTURE(row.what);
    launch found;
    REQUIRE_NOTHROW(found = launch_from(row.environment, row.arguments, row.given));
    CHECK(found.rank == row.rank);
    CHECK(found.size == row.size);
    CHECK(found.local_rank == row.local_rank);
    CHECK(found.local_size == row.local_size);
    CHECK(found.address == row.address);
    CHECK(found.port == row.port);
    CHECK(found.by == row.by);
  }
}

TEST_CASE("launch: what contradicts itself is an error that shows all that was seen") {
  for (const wrong& row : wrong_ones) {
    CAPTURE(row.what);
    const std::string said = error_of(row.environment, row.arguments, row.given);
    CAPTURE(said);
    CHECK(said.substr(0, 8) == "launch: ");
    const std::size_t seen = said.find(". Seen: ");
    REQUIRE(seen != said.npos);
    CHECK(said.substr(0, seen).find(row.error) != said.npos);
    for (const std::string& word : words_of(row.environment))
      for (const auto& known : cairn::detail::launch_variables)
        if (word.substr(0, word.find('=')) == known.name) CHECK_MESSAGE(said.find(word, seen) != said.npos, word);
    if (row.given.ranks) CHECK(said.find("ranks=" + std::to_string(*row.given.ranks), seen) != said.npos);
  }
}

TEST_CASE("launch: an error reads as a whole") {
  CHECK(error_of("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4", "", {.ranks = 2}) ==
        "launch: the program was told to train with 2 ranks, but Open MPI says that 4 processes were started: expected as many; "
        "leave the number of ranks to the launcher, or start one process. Seen: ranks=2, OMPI_COMM_WORLD_RANK=0, "
        "OMPI_COMM_WORLD_SIZE=4");
  CHECK(error_of("RANK=1", "--local-rank=1") ==
        "launch: RANK=1, but nothing says how many ranks there are: expected a launcher's rank and size, or neither; start the "
        "program with srun, mpirun or torchrun, or set RANK and WORLD_SIZE, or unset it. Seen: --local-rank=1, RANK=1");
}

TEST_CASE("launch: words that only start like a local rank are the program's") {
  CHECK(launch_from("", "--local-ranks=3 --local local-rank -local_rank --local-rank-of 2").by == launcher::none);
}

TEST_CASE("launch: of this process, which may have no arguments at all") {
  const char* const words[] = {"program", "--epochs", "3"};
  const launch::options told{.rank = 1, .size = 2};
  // The test may itself run under a launcher, whose variables contradict the given options.
  const auto asked = [&](auto... given) -> std::string {
    try {
      launch::of_process(3, words, given...);
      return launch::of_process(0, nullptr, given...).rank == 1 ? "told" : "alone";
    } catch (const cairn::input_error& refused) {
      return refused.what();
    }
  };
  const bool launched = launch::from([](const char* name) -> const char* { return std::getenv(name); }).by != launcher::none;
  if (!launched) CHECK(asked() == "alone");
  if (!launched) CHECK(asked(told) == "told");
}

TEST_CASE("launch: one process of several says its rank before what it has to say") {
  CHECK(launch{}.speaker().empty());
  CHECK(launch{.rank = 2, .size = 4}.speaker() == "rank 2 of 4: ");
}

} // namespace launch_tests
