// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/comm/launch/launch_variables.hpp>

namespace cairn {

// Which process of a job this is, as its launcher says it. It opens no connection and starts nothing.
//
//   const launch here = launch::of_process(count, words, {.ranks = 2});
//
// These are asked, in this order: the options that the program gives; --local-rank N or --local_rank N, with a blank or with =,
// which PyTorch's older launcher adds to the command line; torchrun; Open MPI; PMI (MPICH and Intel MPI); Slurm's srun. Each
// field comes from the first that knows it. Without any there is one process.
//
// All that speak must agree. What does not throws an input_error with every variable that was seen and its value: two that say
// different numbers, a rank without a size, a rank that is not below the size, a text that is no number. But one launcher may
// start another: mpirun and Hydra put a daemon of theirs on each machine by srun, and all of them can start torchrun's agents.
// Then the inner one is right, and the outer one's variables are those of the daemon.
//
// Slurm and MPI do not say at which address the processes can meet; a first host of a list of nodes would be a guess.
struct launch {
  int rank = 0;                    // 0 … size - 1
  int size = 1;                    // processes of the job
  std::optional<int> local_rank{}; // among those on this machine
  std::optional<int> local_size{};
  std::string address{}; // of the process that the others can meet at, empty if not known
  std::optional<int> port{};
  launcher by = launcher::none; // that told the rank

  // For the beginning of an error message: "rank 2 of 4: " of a process among several, else nothing.
  std::string speaker() const { return size == 1 ? "" : "rank " + std::to_string(rank) + " of " + std::to_string(size) + ": "; }

  struct options {
    // How many ranks the program was told to train with. They are threads of the process if there is one process only, and must
    // be as many as the processes if there are several.
    std::optional<int> ranks{};
    // What a program knows from elsewhere.
    std::optional<int> rank{}, size{}, local_rank{}, local_size{}, port{};
    std::string address{};
  };

  // `environment` is called with names of variables and gives their values, or nullptr, as std::getenv does. The arguments are
  // those of the program; what is no --local-rank is passed over.
  template <std::invocable<const char*> Environment>
  static launch from(const Environment& environment, std::span<const char* const> arguments, const options& given);
  template <std::invocable<const char*> Environment>
  static launch from(const Environment& environment, std::span<const char* const> arguments = {}) {
    return from(environment, arguments, options{});
  }

  // The same of this process, with what main was called with. A thread that changes the environment meanwhile is a data race.
  static launch of_process(int count, const char* const* words, const options& given) {
    return from([](const char* name) -> const char* { return std::getenv(name); },
                std::span(words, static_cast<std::size_t>(count > 0 ? count : 0)), given);
  }
  static launch of_process(int count, const char* const* words) { return of_process(count, words, options{}); }
};

namespace detail {

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

// Leaves out what does not speak of this process, but of what has started its launcher.
inline void leave_out_outer_launchers(launch_claims& claims) {
  using field = launch_field;
  const auto find = [&](field what, launcher by) { return claims.find(what, by); };
  const auto knows_itself = [&](launcher by) { return find(field::rank, by) != nullptr && find(field::size, by) != nullptr; };

  // Outside a step, Slurm tells what the job has, and not what this process is.
  if (find(field::size, launcher::slurm) == nullptr) claims.leave_out(launcher::slurm);

  // torchrun's agents: as many as the processes of what started them. PyTorch's variables alone can be set by anything.
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

  // Daemons of mpirun and Hydra, at least as many processes as there are daemons. srun can also speak PMI itself: then it says
  // the same, and knows the place on the machine too.
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

} // namespace detail

template <std::invocable<const char*> Environment>
launch launch::from(const Environment& environment, std::span<const char* const> arguments, const options& given) {
  using field = detail::launch_field;
  detail::launch_claims claims;
  const auto add = [&](field what, const char* name, const std::optional<int>& value) {
    if (value) claims.add(launcher::program, what, name, std::to_string(*value));
  };
  add(field::ranks, "ranks", given.ranks);
  add(field::rank, "rank", given.rank);
  add(field::size, "size", given.size);
  add(field::local_rank, "local_rank", given.local_rank);
  add(field::local_size, "local_size", given.local_size);
  if (!given.address.empty()) claims.add(launcher::program, field::address, "address", given.address);
  add(field::port, "port", given.port);
  detail::add_arguments(claims, arguments);
  for (const detail::launch_variable& v : detail::launch_variables)
    if (const char* const text = environment(v.name)) claims.add(v.by, v.field, v.name, text);
  return detail::decided(std::move(claims));
}

} // namespace cairn
