// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <doctest/doctest.h>

namespace chosen_ranks_tests {

using cairn::any_rank;
using cairn::chosen_ranks;
using cairn::launch;
using namespace std::chrono_literals;

namespace {

struct fake_rank : cairn::loopback::rank {
  static constexpr std::string_view name = "mpi";
  int number, ranks;
  int rank() const { return number; }
  int size() const { return ranks; }
};

// Takes the place of mpi: this process is one of its ranks.
struct fake_processes {
  using rank = fake_rank;
  struct options {
    std::chrono::milliseconds deadline{1};
  };
  explicit fake_processes(options given) { last_deadline = given.deadline; }
  fake_processes(const fake_processes&) = delete;
  int size() const { return ranks; }
  template <class Body>
  void run(Body&& body) const {
    rank self{{}, number, ranks};
    body(self);
  }
  static inline int number = 0, ranks = 1; // as MPI found them
  static inline std::chrono::milliseconds last_deadline{0};
};

launch started_by(const std::map<std::string, std::string>& variables, const launch::options& given = {}) {
  return launch::from(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      {}, given);
}
launch alone() { return started_by({}); }
launch rank_1_of_4_by_mpirun() { return started_by({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}); }
launch rank_0_of_2_by_torchrun() { return started_by({{"RANK", "0"}, {"WORLD_SIZE", "2"}}); }

// Returns the choice in words, or the error. If `ranks` is 0, the option is not set.
template <class Processes>
std::string choice(const launch& here, const std::string& word, int ranks = 0, int otherwise = 1) {
  fake_processes::ranks = here.size;
  try {
    using chooser = chosen_ranks<Processes>;
    typename chooser::options given{.communicator = word, .otherwise = otherwise};
    if (ranks != 0) given.ranks = ranks;
    return chooser(here, given).text();
  } catch (const cairn::input_error& refused) {
    return refused.what();
  }
}
constexpr auto with_mpi = &choice<fake_processes>;
constexpr auto without = &choice<cairn::types::no_processes>;

bool has(const std::string& text, const std::string& part) {
  INFO("the text is: ", text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("chosen_ranks: without a word the launcher decides, then the number of ranks") {
  for (const auto& chosen : {with_mpi, without}) {
    CHECK(chosen(alone(), "", 0, 1) == "1 rank by loopback");
    CHECK(chosen(alone(), "", 0, 3) == "3 ranks by threads");
    CHECK(chosen(alone(), "", 1, 3) == "1 rank by loopback");
    CHECK(chosen(alone(), "", 2, 3) == "2 ranks by threads");
    CHECK(chosen(started_by({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "", 2, 1) == "2 ranks by threads");
  }
  CHECK(with_mpi(rank_1_of_4_by_mpirun(), "", 0, 1) == "4 ranks by mpi");
  CHECK(with_mpi(rank_1_of_4_by_mpirun(), "", 4, 2) == "4 ranks by mpi");
}

TEST_CASE("chosen_ranks: a word that agrees with the launcher") {
  for (const auto& chosen : {with_mpi, without}) {
    CHECK(chosen(alone(), "loopback", 0, 3) == "1 rank by loopback");
    CHECK(chosen(alone(), "loopback", 1, 3) == "1 rank by loopback");
    CHECK(chosen(alone(), "threads", 0, 1) == "1 rank by threads");
    CHECK(chosen(alone(), "threads", 3, 1) == "3 ranks by threads");
  }
  CHECK(with_mpi(rank_1_of_4_by_mpirun(), "mpi", 0, 1) == "4 ranks by mpi");
  CHECK(with_mpi(alone(), "mpi", 0, 3) == "1 rank by mpi"); // one process is one rank
}

TEST_CASE("chosen_ranks: what contradicts is refused in a sentence") {
  for (const auto& chosen : {with_mpi, without}) {
    has(chosen(alone(), "nccl", 0, 1), "the communicator cannot be nccl: expected loopback, threads or mpi");
    has(chosen(alone(), "loopback", 2, 1), "loopback is one rank alone, and the program was told to train with 2 ranks");
    has(chosen(alone(), "", -1, 1), "the number of ranks is -1, but must be 1 or more");
    for (const char* word : {"loopback", "threads"})
      has(chosen(rank_1_of_4_by_mpirun(), word, 0, 1),
          std::string("Open MPI started 4 processes, and the communicator ") + word + " joins none");
  }
  has(with_mpi(alone(), "mpi", 2, 1),
      "2 ranks by mpi are as many processes, and this is the only one; start the program with mpirun -np 2");
  has(without(alone(), "mpi", 0, 1),
      "the communicator cannot be mpi, as this program was built without MPI; link it with the CMake "
      "target cairn::mpi");
  has(without(rank_0_of_2_by_torchrun(), "", 0, 1),
      "torchrun started 2 processes, which only the communicator mpi joins, and this program "
      "was built without MPI");
  CHECK_THROWS_WITH_AS(started_by({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, {.ranks = 2}),
                       doctest::Contains("told to train with 2 ranks, but Open MPI says that 4 processes were started"),
                       cairn::input_error);
}

TEST_CASE("chosen_ranks: one process of several knows which it is, and is joined when it is made") {
  fake_processes::ranks = 4;
  const chosen_ranks<fake_processes> second(rank_1_of_4_by_mpirun(), {.deadline = 7ms});
  CHECK(second.here().rank == 1);
  CHECK(!second.first());
  CHECK(fake_processes::last_deadline == 7ms);
  const chosen_ranks<> only(alone(), {.otherwise = 2});
  CHECK(only.first());
}

TEST_CASE("chosen_ranks: of a launcher that only MPI knows") {
  fake_processes::number = 2;
  fake_processes::ranks = 3;
  const chosen_ranks<fake_processes> third(alone(), {.communicator = "mpi"});
  CHECK(third.text() == "3 ranks by mpi");
  CHECK(third.here().speaker() == "rank 2 of 3: ");
  CHECK(!third.first());
  fake_processes::number = 0;
  fake_processes::ranks = 1;
}

TEST_CASE("chosen_ranks: the body runs on every rank, over what was chosen, and again") {
  fake_processes::ranks = 1;
  const auto seen_by = [](auto&& ranks) {
    std::mutex one_at_a_time;
    std::map<int, std::string> seen;
    for (int time = 0; time < 2; ++time)
      ranks.run([&](any_rank& rank) {
        const std::lock_guard lock(one_at_a_time);
        seen[rank.rank()] += std::string(rank.called()) + std::to_string(rank.size()) + " ";
      });
    return seen;
  };
  using seen = std::map<int, std::string>;
  CHECK(seen_by(chosen_ranks<>(alone())) == seen{{0, "loopback1 loopback1 "}});
  CHECK(seen_by(chosen_ranks<>(alone(), {.ranks = 2})) == seen{{0, "threads2 threads2 "}, {1, "threads2 threads2 "}});
  CHECK(seen_by(chosen_ranks<fake_processes>(alone(), {.communicator = "mpi"})) == seen{{0, "mpi1 mpi1 "}});
}

TEST_CASE("chosen_ranks: what a body throws comes out, and a rank that leaves ends the wait of another") {
  chosen_ranks<> ranks(alone(), {.ranks = 2, .deadline = 50ms});
  CHECK_THROWS_WITH_AS(ranks.run([](any_rank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("on the way");
    std::byte own{}, all[2]{};
    rank.exchange({&own, 1}, all);
  }),
                       "threads: rank 1 of 2 threw: on the way", cairn::rank_lost);
  const char* const words[] = {"program"};
  CHECK_THROWS_AS(chosen_ranks<>(1, words, {.ranks = 2, .deadline = 1ms}).run([](any_rank& rank) {
    if (rank.rank() == 1) return;
    std::byte own{}, all[2]{};
    rank.exchange({&own, 1}, all);
  }),
                  cairn::rank_lost);
}

} // namespace chosen_ranks_tests
