// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>

namespace cairn {

// What says that a process is one of several, in the order in which they are asked: a field that two of them know is
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

namespace detail {

// What a variable tells. The last four decide about others: how many agents torchrun has, how many ranks the program was
// told to make, the number of a node of Slurm, and what is only shown.
enum class launch_field { rank, size, local_rank, local_size, address, port, agents, ranks, node, shown };

struct launch_variable {
  launcher by;
  launch_field field;
  const char* name;
};

// The variables of the launchers, in their order. torchrun's are those of PyTorch's "env://" as well; Hydra (MPICH, Intel MPI)
// sets PMI_* and MPI_*, and Open MPI and srun --mpi=pmix set PMIX_RANK.
//
// Of Slurm those count that only a step has, that is a task of srun: sbatch gives SLURM_PROCID=0 and SLURM_NTASKS=N to a script
// that is one process. The shell of salloc can be a step of one task, and there too SLURM_NTASKS is that of the job.
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

// One variable, argument or option that was there.
struct launch_claim {
  launcher by;
  launch_field field;
  std::string name;
  std::string text;
  bool counts = true; // not of a launcher that started another one

  // For people: a long value is cut, and what a terminal may take for a command is a '?'.
  std::string shown() const {
    constexpr std::size_t most = 80;
    std::string out = name + '=';
    for (const char c : std::string_view(text).substr(0, most)) out += c >= ' ' && c < '\x7f' ? c : '?';
    if (text.size() > most) out += "...";
    return out;
  }
};

// All that was seen of launchers, in their order.
class launch_claims {
public:
  void add(launcher by, launch_field field, std::string name, std::string text) {
    claims_.push_back({by, field, std::move(name), std::move(text)});
  }

  // The first that counts, of one launcher or of all; nullptr if there is none.
  const launch_claim* find(launch_field field, std::optional<launcher> by = {}) const {
    for (const launch_claim& c : claims_)
      if (c.counts && c.field == field && (!by || c.by == *by)) return &c;
    return nullptr;
  }

  void leave_out(launcher by) {
    for (launch_claim& c : claims_)
      if (c.by == by) c.counts = false;
  }

  // The number of a field, on which all that count have to agree.
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

  // A count is at least 1, the number of one thing at least 0. What is larger than an int is no number of ranks.
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

  // Throws what the parts say, with all that was seen.
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

  // Slurm tells the tasks of all nodes in one, "2(x3),1" for 2, 2, 2 and 1; which of them is this node is SLURM_NODEID.
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

} // namespace detail

} // namespace cairn
