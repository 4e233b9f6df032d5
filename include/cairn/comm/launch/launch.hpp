// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// The sources that say that a process is one of several, in the order in which they are asked: a field that two of them know is
// taken from the first.
enum class launcher { none, program, command_line, torchrun, open_mpi, pmi, slurm };

constexpr std::string_view launcher_name(launcher by) {
  switch (by) {
  case launcher::program: return "the program";
  case launcher::command_line: return "the command line";
  case launcher::torchrun: return "torchrun";
  case launcher::open_mpi: return "Open MPI";
  case launcher::pmi: return "PMI";
  case launcher::slurm: return "Slurm";
  case launcher::none: break;
  }
  return "no launcher";
}

} // namespace cairn::types

namespace cairn::detail {

// The field that a variable gives. The last four only help to interpret the others: the number of torchrun's agents, the number
// of ranks that the program was asked to make, the number of a Slurm node, and variables that are only shown in errors.
enum class launch_field { rank, size, local_rank, local_size, address, port, agents, ranks, node, shown };

struct launch_variable {
  launcher by;
  launch_field field;
  const char* name;
};

// The variables of the launchers, in their order. torchrun's are those of PyTorch's "env://" as well; Hydra (MPICH, Intel MPI)
// sets PMI_* and MPI_*, and Open MPI and srun --mpi=pmix set PMIX_RANK.
//
// Slurm's variables count only in a step, that is, in a task of srun, where SLURM_STEP_NUM_TASKS is set: sbatch gives
// SLURM_PROCID=0 and SLURM_NTASKS=N to a script that is one process. The shell of salloc can be a step of one task, and there too
// SLURM_NTASKS is that of the job.
inline constexpr launch_variable launch_variables[] = {
    {launcher::torchrun, launch_field::rank, "RANK"},
    {launcher::torchrun, launch_field::size, "WORLD_SIZE"},
    {launcher::torchrun, launch_field::local_rank, "LOCAL_RANK"},
    {launcher::torchrun, launch_field::local_size, "LOCAL_WORLD_SIZE"},
    {launcher::torchrun, launch_field::agents, "GROUP_WORLD_SIZE"},
    {launcher::torchrun, launch_field::address, "MASTER_ADDR"},
    {launcher::torchrun, launch_field::port, "MASTER_PORT"},
    {launcher::open_mpi, launch_field::rank, "OMPI_COMM_WORLD_RANK"},
    {launcher::open_mpi, launch_field::size, "OMPI_COMM_WORLD_SIZE"},
    {launcher::open_mpi, launch_field::local_rank, "OMPI_COMM_WORLD_LOCAL_RANK"},
    {launcher::open_mpi, launch_field::local_size, "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {launcher::pmi, launch_field::rank, "PMI_RANK"},
    {launcher::pmi, launch_field::rank, "PMIX_RANK"},
    {launcher::pmi, launch_field::size, "PMI_SIZE"},
    {launcher::pmi, launch_field::local_rank, "MPI_LOCALRANKID"},
    {launcher::pmi, launch_field::local_size, "MPI_LOCALNRANKS"},
    {launcher::slurm, launch_field::rank, "SLURM_PROCID"},
    {launcher::slurm, launch_field::size, "SLURM_STEP_NUM_TASKS"},
    {launcher::slurm, launch_field::local_rank, "SLURM_LOCALID"},
    {launcher::slurm, launch_field::local_size, "SLURM_STEP_TASKS_PER_NODE"},
    {launcher::slurm, launch_field::node, "SLURM_NODEID"},
    {launcher::slurm, launch_field::shown, "SLURM_STEP_ID"},
    {launcher::slurm, launch_field::shown, "SLURM_NTASKS"},
};

// One variable, argument or option that was found.
struct launch_claim {
  launcher by;
  launch_field field;
  std::string name;
  std::string text;
  bool counts = true; // false for a launcher that started another one

  // The claim as printable text: a long value is cut, and characters that a terminal may interpret become '?'.
  std::string shown() const {
    constexpr std::size_t most = 80;
    std::string out = name + '=';
    for (const char c : std::string_view(text).substr(0, most)) out += c >= ' ' && c < '\x7f' ? c : '?';
    if (text.size() > most) out += "...";
    return out;
  }
};

// All claims that were found, in the order of the launchers.
class launch_claims {
public:
  void add(launcher by, launch_field field, std::string name, std::string text) {
    claims_.push_back({by, field, std::move(name), std::move(text)});
  }

  // The first claim that counts, of one launcher or of all; nullptr if there is none.
  const launch_claim* find(launch_field field, std::optional<launcher> by = {}) const {
    for (const launch_claim& c : claims_)
      if (c.counts && c.field == field && (!by || c.by == *by)) return &c;
    return nullptr;
  }

  void leave_out(launcher by) {
    for (launch_claim& c : claims_)
      if (c.by == by) c.counts = false;
  }

  // The number of a field, on which all claims that count have to agree.
  std::optional<int> number(launch_field field) const {
    const launch_claim* const first = find(field);
    if (first == nullptr) return {};
    const int value = number_of(*first);
    for (const launch_claim& c : claims_)
      if (c.counts && c.field == field && number_of(c) != value) refuse_pair(*first, c);
    return value;
  }
  std::string text(launch_field field) const {
    const launch_claim* const first = find(field);
    if (first == nullptr) return {};
    for (const launch_claim& c : claims_)
      if (c.counts && c.field == field && c.text != first->text) refuse_pair(*first, c);
    return first->text;
  }

  // A count is at least 1, an index at least 0. A value larger than an int is refused.
  int number_of(const launch_claim& c) const {
    if (c.name == "SLURM_STEP_TASKS_PER_NODE") return tasks_here(c);
    const bool counted = c.field == launch_field::size || c.field == launch_field::local_size || c.field == launch_field::port ||
                         c.field == launch_field::agents || c.field == launch_field::ranks;
    const std::optional<int> value = whole(c.text);
    if (!value || *value < (counted ? 1 : 0) || (c.field == launch_field::port && *value > 65'535))
      refuse({c.shown(), ": expected a whole number, ", counted ? "1" : "0", " or more",
              c.field == launch_field::port ? " and at most 65535" : "", "; correct it, or unset it if there is no launcher"});
    return *value;
  }

  // Throws input_error with these parts as its text, followed by all claims that were found.
  [[noreturn]] void refuse(std::initializer_list<std::string_view> parts) const {
    std::string text = "launch: ";
    for (const std::string_view part : parts) text += part;
    const char* before = ". Seen: ";
    for (const launch_claim& c : claims_) {
      text += before;
      text += c.shown();
      before = ", ";
    }
    throw input_error(text);
  }

private:
  [[noreturn]] void refuse_pair(const launch_claim& a, const launch_claim& b) const {
    refuse({a.shown(), " of ", launcher_name(a.by), ", but ", b.shown(), " of ", launcher_name(b.by),
            ": expected one launcher, or several that say the same; start the program with one of them, or unset what is wrong "
            "with env -u NAME"});
  }

  static std::optional<int> whole(std::string_view text) {
    int value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) return {};
    return value;
  }

  // Slurm lists the tasks of all nodes in one variable, "2(x3),1" for 2, 2, 2 and 1; SLURM_NODEID says which of them is this
  // node.
  int tasks_here(const launch_claim& c) const {
    const launch_claim* const node = find(launch_field::node, launcher::slurm);
    if (node == nullptr) refuse({c.shown(), ", and no SLURM_NODEID, which a task of srun has; start the program with srun"});
    long long left = number_of(*node);
    for (std::string_view rest = c.text;;) {
      const std::string_view item = rest.substr(0, rest.find(','));
      const std::size_t open = item.find("(x");
      const bool repeated = open != item.npos && item.back() == ')';
      const std::optional<int> tasks = whole(item.substr(0, open));
      const std::optional<int> nodes = repeated ? whole(item.substr(open + 2, item.size() - open - 3)) : 1;
      if (!tasks || !nodes || (open != item.npos && !repeated) || *tasks < 1 || *nodes < 1) break;
      if (left < *nodes) return *tasks;
      left -= *nodes;
      if (item.size() == rest.size()) break;
      rest.remove_prefix(item.size() + 1);
    }
    refuse({c.shown(), ": expected the tasks of each node, such as 2(x3),1, with one for ", node->shown(),
            "; start the program with srun"});
  }

  std::vector<launch_claim> claims_;
};

} // namespace cairn::detail

namespace cairn {

// This process's place in a job, as its launcher reports it. It opens no connection and starts nothing.
//
//   const launch here = launch::of_process(count, words, {.ranks = 2});
//
// The sources are asked in this order: the options that the program gives; --local-rank N or --local_rank N, with a blank or with
// =, which PyTorch's older launcher adds to the command line; torchrun; Open MPI; PMI (MPICH and Intel MPI); Slurm's srun. Each
// field comes from the first source that knows it. Without any source there is one process.
//
// All sources must agree. A contradiction throws an input_error with every variable that was found and its value: two different
// numbers, a rank without a size, a rank that is not below the size, a text that is no number. But one launcher may start
// another: mpirun and Hydra start a daemon on each machine with srun, and all of them can start torchrun's agents. Then the inner
// launcher is right, and the outer one's variables describe the daemon or the agent.
//
// Slurm and MPI give no address at which the processes can connect; the first host of a list of nodes would be a guess.
struct launch {
  int rank = 0;                    // 0 … size - 1
  int size = 1;                    // processes of the job
  std::optional<int> local_rank{}; // among those on this machine
  std::optional<int> local_size{};
  std::string address{}; // of the process that the others can connect to, empty if not known
  std::optional<int> port{};
  types::launcher by = types::launcher::none; // the source of the rank

  // The beginning of an error message: "rank 2 of 4: " for a process among several, else empty.
  std::string speaker() const { return size == 1 ? "" : "rank " + std::to_string(rank) + " of " + std::to_string(size) + ": "; }

  struct options {
    // The number of ranks that the program was asked to train with. If there is one process, they are its threads; if there are
    // several, it must be the number of processes.
    std::optional<int> ranks{};
    // Values that a program knows from elsewhere.
    std::optional<int> rank{}, size{}, local_rank{}, local_size{}, port{};
    std::string address{};
  };

  // environment(name) returns the value of a variable, or nullptr, as std::getenv does. The arguments are those of the program;
  // all but --local-rank are ignored.
  template <std::invocable<const char*> Environment>
  static launch from(const Environment& environment, std::span<const char* const> arguments, const options& given);
  template <std::invocable<const char*> Environment>
  static launch from(const Environment& environment, std::span<const char* const> arguments = {}) {
    return from(environment, arguments, options{});
  }

  // The same for this process, with the arguments of main. A thread that changes the environment meanwhile is a data race.
  static launch of_process(int count, const char* const* words, const options& given) {
    return from([](const char* name) -> const char* { return std::getenv(name); },
                std::span(words, static_cast<std::size_t>(count > 0 ? count : 0)), given);
  }
  static launch of_process(int count, const char* const* words) { return of_process(count, words, options{}); }
};

} // namespace cairn

namespace cairn::detail {

inline void add_arguments(launch_claims& claims, std::span<const char* const> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    for (const std::string_view name : {"--local-rank", "--local_rank"}) {
      if (word.substr(0, name.size()) != name) continue;
      const std::string_view rest = word.substr(name.size());
      if (rest.empty())
        claims.add(launcher::command_line, launch_field::local_rank, std::string(name), i + 1 < words.size() ? words[i + 1] : "");
      else if (rest[0] == '=')
        claims.add(launcher::command_line, launch_field::local_rank, std::string(name), std::string(rest.substr(1)));
    }
  }
}

// Leaves out launchers whose variables describe the process that started an inner launcher, not this one.
inline void leave_out_outer_launchers(launch_claims& claims) {
  using field = launch_field;
  const auto find = [&](field what, launcher by) { return claims.find(what, by); };
  const auto knows_itself = [&](launcher by) { return find(field::rank, by) != nullptr && find(field::size, by) != nullptr; };

  // Outside a step, Slurm's variables describe the job, not this process.
  if (find(field::size, launcher::slurm) == nullptr) claims.leave_out(launcher::slurm);

  // torchrun has as many agents as the outer launcher has processes. PyTorch's variables without the number of agents may come
  // from anywhere.
  const launch_claim* const agents = find(field::agents, launcher::torchrun);
  if (agents != nullptr && knows_itself(launcher::torchrun)) {
    bool compared = false;
    for (const launcher outer : {launcher::open_mpi, launcher::pmi, launcher::slurm}) {
      const launch_claim* const size = find(field::size, outer);
      if (size != nullptr && !compared && claims.number_of(*size) != claims.number_of(*agents))
        claims.refuse({agents->shown(), " of torchrun, but ", size->shown(), " of ", launcher_name(outer),
                       ": expected one torchrun in each of its processes, and all of them in one job; start torchrun with "
                       "--nnodes and without --standalone, or start the program with one launcher"});
      compared = compared || size != nullptr;
      claims.leave_out(outer);
    }
  }

  // Slurm's tasks may be daemons of mpirun or Hydra, each of which starts at least one process. Or srun provides PMI itself: then
  // both agree, and Slurm's variables stay, as they give the place on the machine too.
  for (const launcher inner : {launcher::open_mpi, launcher::pmi}) {
    const launch_claim* const daemons = find(field::size, launcher::slurm);
    if (daemons == nullptr || !knows_itself(inner)) continue;
    const launch_claim* const size = find(field::size, inner);
    const launch_claim* const daemon = find(field::rank, launcher::slurm);
    const bool same = claims.number_of(*size) == claims.number_of(*daemons) && daemon != nullptr &&
                      claims.number_of(*find(field::rank, inner)) == claims.number_of(*daemon);
    if (claims.number_of(*size) < claims.number_of(*daemons))
      claims.refuse({size->shown(), " of ", launcher_name(inner), ", but ", daemons->shown(),
                     " of Slurm: expected one launcher; start the program with srun or with mpirun, not with an mpirun in every "
                     "task of srun"});
    if (inner == launcher::open_mpi || !same) claims.leave_out(launcher::slurm);
  }
}

inline launch decided(launch_claims claims) {
  using field = launch_field;
  leave_out_outer_launchers(claims);
  const auto rank = claims.number(field::rank), size = claims.number(field::size);
  const auto local_rank = claims.number(field::local_rank), local_size = claims.number(field::local_size);
  const auto ranks = claims.number(field::ranks);
  launch found;
  if (!rank && !size && !local_rank && !local_size) return found;

  const auto told = [&](field what) { return claims.find(what)->shown(); };
  if (!rank || !size) {
    const field half = rank ? field::rank : size ? field::size : local_rank ? field::local_rank : field::local_size;
    claims.refuse({told(half), ", but nothing says ", rank ? "how many ranks there are" : "which rank this is",
                   ": expected a launcher's rank and size, or neither; start the program with srun, mpirun or torchrun, or set "
                   "RANK and WORLD_SIZE, or unset it"});
  }
  const auto below = [&](field number, int value, field count, int bound) {
    if (value >= bound)
      claims.refuse({told(number), " with ", told(count), ": ranks are counted from 0, expected at most ",
                     std::to_string(bound - 1), "; correct the one that is wrong"});
  };
  below(field::rank, *rank, field::size, *size);
  if (local_rank) below(field::local_rank, *local_rank, field::size, *size);
  if (local_rank && local_size) below(field::local_rank, *local_rank, field::local_size, *local_size);
  if (local_size && *local_size > *size)
    claims.refuse({told(field::local_size), " with ", told(field::size),
                   ": expected at most as many ranks on a machine as there are; correct the one that is wrong"});
  if (ranks && *size > 1 && *ranks != *size)
    claims.refuse({"the program was told to train with ", std::to_string(*ranks), " ranks, but ",
                   launcher_name(claims.find(field::size)->by), " says that ", std::to_string(*size),
                   " processes were started: expected as many; leave the number of ranks to the launcher, or start one process"});
  return {*rank,
          *size,
          local_rank,
          local_size,
          claims.text(field::address),
          claims.number(field::port),
          claims.find(field::rank)->by};
}

} // namespace cairn::detail

namespace cairn {

template <std::invocable<const char*> Environment>
launch launch::from(const Environment& environment, std::span<const char* const> arguments, const options& given) {
  using field = detail::launch_field;
  detail::launch_claims claims;
  const auto add = [&](field what, const char* name, const std::optional<int>& value) {
    if (value) claims.add(types::launcher::program, what, name, std::to_string(*value));
  };
  add(field::ranks, "ranks", given.ranks);
  add(field::rank, "rank", given.rank);
  add(field::size, "size", given.size);
  add(field::local_rank, "local_rank", given.local_rank);
  add(field::local_size, "local_size", given.local_size);
  if (!given.address.empty()) claims.add(types::launcher::program, field::address, "address", given.address);
  add(field::port, "port", given.port);
  detail::add_arguments(claims, arguments);
  for (const detail::launch_variable& v : detail::launch_variables)
    if (const char* const text = environment(v.name)) claims.add(v.by, v.field, v.name, text);
  return detail::decided(std::move(claims));
}

} // namespace cairn
