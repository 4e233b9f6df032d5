// SPDX-License-Identifier: MIT
#include <cairn/comm/mpi/roll_call.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#if defined(__linux__)
#include <array>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

namespace roll_call_tests {

using cairn::detail::roll_call;

namespace {

// A name that no other job has.
std::string own_job(const char* what) { return std::string(what) + std::to_string(::getpid()); }

// A process that answers as one rank of a job until it is ended.
class answering_child {
public:
  answering_child(const std::string& job, int own, int size) {
    std::array<int, 2> told{};
    REQUIRE(::pipe(told.data()) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      const roll_call its(job, own, size, "rank");
      static_cast<void>(!::write(told[1], "x", 1));
      for (;;) ::pause();
    }
    ::close(told[1]);
    char one = 0;
    REQUIRE(::read(told[0], &one, 1) == 1);
    ::close(told[0]);
  }
  ~answering_child() {
    if (child_ > 0) end();
  }
  void tell(int signal, int waits_for) const {
    int status = 0;
    ::kill(child_, signal);
    ::waitpid(child_, &status, waits_for);
  }
  void end() {
    tell(SIGKILL, 0);
    child_ = -1;
  }
  std::string process() const { return std::to_string(child_); }

private:
  ::pid_t child_ = -1;
};

} // namespace

TEST_CASE("roll_call: those that have not come are missing, and those that have ended, were killed or are stopped") {
  const std::string job = own_job("job");
  roll_call own(job, 0, 4, "rank");
  CHECK(own.missing() == "rank 1 has not come, rank 2 has not come, rank 3 has not come");
  answering_child third(job, 2, 4);
  const answering_child fourth(job, 3, 4);
  std::optional<roll_call> second; // made after the children, which would keep its name
  second.emplace(job, 1, 4, "rank");
  CHECK(own.missing().empty());
  CHECK(second->missing().empty());
  third.tell(SIGSTOP, WUNTRACED);
  CHECK(own.missing() == "rank 2 is stopped (process " + third.process() + ")");
  third.tell(SIGCONT, WCONTINUED);
  CHECK(own.missing().empty());
  third.end();
  CHECK(second->missing() == "rank 2 came and is gone");
  second.reset();
  CHECK(own.missing() == "rank 1 came and is gone, rank 2 came and is gone");
}

TEST_CASE("roll_call: a socket that is asked more often than it holds answers all the same") {
  const std::string job = own_job("often");
  const answering_child never_looks(job, 1, 3);
  roll_call own(job, 0, 3, "rank"), looks(job, 2, 3, "rank");
  int missed = 0;
  for (int i = 0; i < 5000; ++i) missed += own.missing().empty() ? 0 : 1;
  CHECK(missed == 0);
  CHECK(looks.missing().empty());
}

TEST_CASE("roll_call: another job is another, many are counted, and nobody is missed where a name is taken") {
  const std::string job = own_job("jobs");
  roll_call own(job, 0, 20, "this machine's local rank"), others(job + "0", 1, 20, "rank");
  const std::string found = own.missing();
  CHECK(found.starts_with("this machine's local rank 1 has not come, this machine's local rank 2 has not come"));
  CHECK(found.ends_with("rank 8 has not come and 11 more"));
  roll_call alone(own_job("alone"), 0, 1, "rank");
  CHECK(alone.missing().empty());
}

TEST_CASE("roll_call: the launcher's name of the job") {
  const auto job = [](const std::map<std::string, const char*>& set) {
    return roll_call::job_of([&](const char* name) { return set.contains(name) ? set.at(name) : nullptr; });
  };
  CHECK(job({{"PMIX_NAMESPACE", "17"}, {"OMPI_MCA_ess_base_jobid", "18"}}) == "17");
  CHECK(job({{"OMPI_MCA_ess_base_jobid", "18"}, {"SLURM_JOB_ID", "1"}}) == "18");
  CHECK(job({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}}) == "12.3");
  CHECK(job({{"SLURM_JOB_ID", "12"}}).empty()); // a script, which is no step
  CHECK(job({}).empty());
}

} // namespace roll_call_tests
#endif
