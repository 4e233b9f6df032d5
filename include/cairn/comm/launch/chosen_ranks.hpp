// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <cairn/comm/launch/any_rank.hpp>
#include <cairn/comm/launch/launch.hpp>
#include <cairn/comm/launch/launch_variables.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

// In place of mpi in a program that was built without it: one process is all there is.
struct no_processes {};

namespace detail {

enum class rank_maker { loopback, threads, processes };

// What makes the ranks of this job, and how many.
struct rank_choice {
  rank_maker by = rank_maker::loopback;
  int ranks = 1;
};

struct rank_wishes {
  std::string communicator{}; // a word, or empty: by the launcher and the number of ranks
  std::optional<int> ranks{}; // as many, or an error
  int otherwise = 1;          // as many where nothing says it
  bool has_processes = false; // whether the program can make ranks of processes
};

// What fits the launcher and the wishes, or an input_error with what contradicts what. `launch` has refused already that
// several processes were started and another number of ranks is wished for.
inline rank_choice choose_ranks(const launch& here, const rank_wishes& wish) {
  const std::string& word = wish.communicator;
  const auto refuse = [](const std::string& text) { throw input_error("chosen_ranks: " + text); };
  const auto count = [](int n, const std::string& what) { return std::to_string(n) + " " + what; };
  if (!word.empty() && word != "loopback" && word != "threads" && word != "mpi")
    refuse("the communicator cannot be " + word + ": expected loopback, threads or mpi");
  if (wish.ranks && *wish.ranks < 1) refuse("the number of ranks is " + std::to_string(*wish.ranks) + ", but must be 1 or more");

  const std::string started = std::string(launcher_name(here.by)) + " started " + count(here.size, "processes");
  const std::string without = "this program was built without MPI; link it with the CMake target cairn::mpi";
  if (here.size > 1) {
    if (word == "loopback" || word == "threads")
      refuse(started + ", and the communicator " + word +
             " joins none: each would train alone, and all of them the same; expected "
             "the communicator mpi, or one process");
    if (!wish.has_processes)
      refuse(started + ", which only the communicator mpi joins, and " + without +
             ", or start one process, with ranks that are threads");
    return {rank_maker::processes, here.size};
  }
  if (word == "mpi") {
    if (!wish.has_processes) refuse("the communicator cannot be mpi, as " + without);
    if (wish.ranks.value_or(1) > 1)
      refuse(count(*wish.ranks, "ranks") +
             " by mpi are as many processes, and this is the only one; start the program with mpirun -np " +
             std::to_string(*wish.ranks));
    return {rank_maker::processes, 1};
  }
  if (word == "loopback") {
    if (wish.ranks.value_or(1) > 1)
      refuse("the communicator loopback is one rank alone, and the program was told to train with " +
             count(*wish.ranks, "ranks") + "; expected threads or mpi");
    return {rank_maker::loopback, 1};
  }
  const int ranks = wish.ranks.value_or(wish.otherwise);
  return {ranks > 1 || word == "threads" ? rank_maker::threads : rank_maker::loopback, ranks};
}

} // namespace detail

// The ranks of a job, of the kind that is chosen when the program starts: one body, compiled once, runs over all of them.
//
//   chosen_ranks<mpi> ranks(count, words, {.communicator = word, .ranks = 4}); // what main was called with
//   ranks.run([&](any_rank& rank) { trainer<ddp<Model, any_rank>, …> train{rank, …}; … });
//
// Several processes of a launcher are ranks of Processes, which is mpi; else several ranks are threads of this process; else it
// is one rank, loopback. A word that is given must agree with the launcher: whatever contradicts is an input_error. Processes
// are joined by the constructor, and not by each run: MPI begins once in a process. Without a Processes no MPI is needed. Under a
// launcher that `launch` does not know the word mpi has to be given.
//
// What may fail in one process alone, such as reading its files, belongs before the constructor or into a body. The others learn
// of an exception between two runs when their deadline is over, and not before.
template <class Processes = no_processes>
class chosen_ranks {
public:
  using rank = any_rank;

  struct options {
    std::string communicator{};                       // loopback, threads or mpi [what fits the launcher and the number]
    std::optional<int> ranks{};                       // [as many as the launcher started, else `otherwise`]
    int otherwise = 1;                                // ranks of a program that is started without a launcher and told nothing
    std::chrono::milliseconds deadline{30'000};       // how long a wait for other ranks lasts at most
    std::chrono::milliseconds long_deadline{600'000}; // while one works alone, as threads::options says
    std::chrono::milliseconds end_deadline{24 * 3'600'000}; // for the ends of the other bodies, as threads::options says
  };

  chosen_ranks(int count, const char* const* words, const options& given = {})
      : chosen_ranks(launch::of_process(count, words, {.ranks = given.ranks}), given) {}
  chosen_ranks(const launch& here, const options& given = {})
      : choice_(detail::choose_ranks(here, wishes_of(given))), here_(here), deadline_(given.deadline),
        long_deadline_(given.long_deadline), end_deadline_(given.end_deadline) {
    if constexpr (has_processes)
      if (choice_.by == detail::rank_maker::processes) join();
  }

  int size() const { return choice_.ranks; }     // ranks, in all processes
  const launch& here() const { return here_; }   // which process this is
  bool first() const { return here_.rank == 0; } // the process of rank 0, which speaks for all and writes files

  // What joins them.
  std::string_view called() const {
    if constexpr (has_processes)
      if (joined_) return Processes::rank::name;
    return choice_.by == detail::rank_maker::threads ? threads::rank::name : loopback::rank::name;
  }

  // "4 ranks by threads"
  std::string text() const { return std::to_string(size()) + (size() == 1 ? " rank by " : " ranks by ") + std::string(called()); }

  // Calls the body once for each rank of this process, as run() of loopback, threads and mpi does. It can be called again.
  template <std::invocable<any_rank&> Body>
  void run(Body&& body) {
    using called = std::remove_reference_t<Body>;
    run_over([](void* it, any_rank& self) { (*static_cast<called*>(it))(self); },
             const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

private:
  static constexpr bool has_processes = !std::is_same_v<Processes, no_processes>;

  // Behind a pointer, so that threads and Processes are compiled once whatever bodies there are. std::function would do the same,
  // and its header takes the compiler a third of a second.
  void run_over(void (*call)(void*, any_rank&), void* body) {
    const auto as_any = [call, body](auto& inner) {
      any_rank self(inner);
      call(body, self);
    };
    if constexpr (has_processes)
      if (joined_) return static_cast<void>(joined_->run(as_any));
    if (choice_.by == detail::rank_maker::threads) threads{choice_.ranks, told<threads::options>()}.run(as_any);
    else loopback{}.run(as_any);
  }

  static detail::rank_wishes wishes_of(const options& given) {
    detail::rank_wishes wishes; // field by field: nvcc 13 makes a comma operator of a list of them in a template
    wishes.communicator = given.communicator;
    wishes.ranks = given.ranks;
    wishes.otherwise = given.otherwise;
    wishes.has_processes = has_processes;
    return wishes;
  }

  template <class Options>
  Options told() const {
    Options all;
    all.deadline = deadline_;
    if constexpr (requires { all.long_deadline; }) all.long_deadline = long_deadline_;
    if constexpr (requires { all.end_deadline; }) all.end_deadline = end_deadline_;
    return all;
  }

  // A launcher that `launch` does not know tells its numbers to MPI alone; the word mpi was the only sign of it.
  void join() {
    joined_.emplace(told<typename Processes::options>());
    if (joined_->size() == choice_.ranks) return;
    choice_.ranks = here_.size = joined_->size();
    joined_->run([this](auto& self) { here_.rank = self.rank(); });
  }

  detail::rank_choice choice_;
  launch here_;
  std::chrono::milliseconds deadline_, long_deadline_, end_deadline_;
  std::optional<Processes> joined_; // empty, but where processes are joined
};

} // namespace cairn
