// SPDX-License-Identifier: MIT
#include <optional>
#include <string>

#include <cairn/comm/launch/launch.hpp>
#include <doctest/doctest.h>

namespace launch_variables_tests {

using namespace cairn;
using detail::launch_claims;
using detail::launch_field;

namespace {

// The number of tasks of a node by Slurm's list; 0 if it is refused.
int tasks_of_node(const std::string& node, const std::string& tasks) {
  launch_claims claims;
  claims.add(types::launcher::slurm, launch_field::local_size, "SLURM_STEP_TASKS_PER_NODE", tasks);
  claims.add(types::launcher::slurm, launch_field::node, "SLURM_NODEID", node);
  try {
    return *claims.number(launch_field::local_size);
  } catch (const input_error&) {
    return 0;
  }
}

} // namespace

TEST_CASE("launch_variables: a long value is cut, and control characters are not shown") {
  CHECK(detail::launch_claim{types::launcher::none, launch_field::rank, "RANK", "1\x1b[2J\n"}.shown() == "RANK=1?[2J?");
  CHECK(detail::launch_claim{types::launcher::none, launch_field::rank, "R", std::string(81, 'x')}.shown() ==
        "R=" + std::string(80, 'x') + "...");
}

TEST_CASE("launch_variables: the first that counts is found") {
  launch_claims claims;
  CHECK(claims.find(launch_field::rank) == nullptr);
  CHECK(!claims.number(launch_field::rank));
  CHECK(claims.text(launch_field::address).empty());
  claims.add(types::launcher::open_mpi, launch_field::rank, "A", "3");
  claims.add(types::launcher::slurm, launch_field::rank, "B", "4");
  CHECK(claims.find(launch_field::rank)->name == "A");
  CHECK(claims.find(launch_field::rank, types::launcher::slurm)->name == "B");
  CHECK_THROWS_AS(claims.number(launch_field::rank), input_error);
  claims.leave_out(types::launcher::open_mpi);
  CHECK(claims.number(launch_field::rank) == 4);
  CHECK_THROWS_WITH_AS(claims.refuse({"n", "o"}), "launch: no. Seen: A=3, B=4", input_error);
}

TEST_CASE("launch_variables: Slurm's tasks of each node") {
  CHECK(tasks_of_node("0", "3,2,1") == 3);
  CHECK(tasks_of_node("2", "3,2,1") == 1);
  CHECK(tasks_of_node("2", "2(x3),1") == 2);
  CHECK(tasks_of_node("3", "2(x3),1") == 1);
  CHECK(tasks_of_node("2147483647", "2(x2147483647),5(x1)") == 5);
  for (const char* wrong :
       {"", ",", "2,", "2(x3", "2(x3)1,1", "2(x)", "2(3)", "(x3)", "0(x3),1", "2(x0),1", "2(x-1),1", "2 (x3)"})
    CHECK_MESSAGE(tasks_of_node("5", wrong) == 0, wrong);
  CHECK(tasks_of_node("4", "2(x3),1") == 0);
  CHECK(tasks_of_node("-1", "2(x3),1") == 0);

  launch_claims claims;
  claims.add(types::launcher::slurm, launch_field::local_size, "SLURM_STEP_TASKS_PER_NODE", "2");
  CHECK_THROWS_WITH_AS(claims.number(launch_field::local_size),
                       "launch: SLURM_STEP_TASKS_PER_NODE=2, and no SLURM_NODEID, which a task of srun has; start the program "
                       "with srun. Seen: SLURM_STEP_TASKS_PER_NODE=2",
                       input_error);
}

TEST_CASE("launch_variables: every launcher has a name") {
  CHECK(types::launcher_name(types::launcher::none) == "no launcher");
  CHECK(types::launcher_name(types::launcher::program) == "the program");
  CHECK(types::launcher_name(types::launcher::command_line) == "the command line");
  CHECK(types::launcher_name(types::launcher::torchrun) == "torchrun");
  CHECK(types::launcher_name(types::launcher::open_mpi) == "Open MPI");
  CHECK(types::launcher_name(types::launcher::pmi) == "PMI");
  CHECK(types::launcher_name(types::launcher::slurm) == "Slurm");
}

} // namespace launch_variables_tests
