// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/launch/launch.hpp>
#include <cairn/comm/lent_memory.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>

namespace cairn::types {

// Takes the place of mpi in a program that was built without it: there is only one process.
struct no_processes {};

} // namespace cairn::types

namespace cairn::detail {

// A pending of any communicator. It is stored in the object itself: a step allocates nothing.
template <class Queue>
class [[nodiscard]] any_ticket {
public:
  // The most bytes that a communicator's pending may have: that of threads::rank has 16.
  static constexpr std::size_t room = 48;

  any_ticket() = default;
  any_ticket(any_ticket&& other) noexcept : calls_(std::exchange(other.calls_, nullptr)) {
    if (calls_ != nullptr) calls_->move(other.at(), at());
  }
  any_ticket& operator=(any_ticket&& other) noexcept {
    const any_ticket replaced(std::move(*this)); // replacing an open one is a mistake of its owner: its destructor reports it
    calls_ = std::exchange(other.calls_, nullptr);
    if (calls_ != nullptr) calls_->move(other.at(), at());
    return *this;
  }
  ~any_ticket() {
    if (calls_ != nullptr) calls_->destroy(at());
  }

  // Throws what the inner pending throws; either way it is empty afterwards.
  void wait(Queue& queue) {
    if (const calls* const known = std::exchange(calls_, nullptr)) known->wait(at(), queue);
  }

  // Whether wait would return at once. A pending without over() counts as open until it is waited for.
  bool over() const { return calls_ == nullptr || calls_->over(at()); }

  // Stores the pending that start() returns. It is constructed in place, and stays there until this ticket moves.
  template <class Start>
  void hold(const Start& start) {
    using ticket = std::invoke_result_t<const Start&>;
    static_assert(sizeof(ticket) <= room && alignof(ticket) <= alignof(std::max_align_t),
                  "any_rank: the pending of this communicator is larger than the room for it; make it a number or a pointer to "
                  "what the communicator keeps");
    static_assert(std::is_nothrow_move_constructible_v<ticket>,
                  "any_rank: the pending of this communicator may throw when it is moved; declare its move constructor noexcept");
    ::new (at()) ticket(start());
    calls_ = &calls_of<ticket>;
  }

private:
  struct calls {
    void (*wait)(void*, Queue&); // and destroys
    bool (*over)(const void*);
    void (*move)(void* from, void* to) noexcept; // and destroys what was moved from
    void (*destroy)(void*) noexcept;
  };

  template <class Ticket>
  struct of {
    static Ticket& it(void* at) { return *std::launder(static_cast<Ticket*>(at)); }
    static void wait(void* at, Queue& queue) {
      struct last {
        Ticket& ticket;
        ~last() { std::destroy_at(&ticket); }
      } waited{it(at)};
      waited.ticket.wait(queue);
    }
    static bool over([[maybe_unused]] const void* at) {
      if constexpr (requires(const Ticket& ticket) { bool{ticket.over()}; })
        return std::launder(static_cast<const Ticket*>(at))->over();
      else return false;
    }
    static void move(void* from, void* to) noexcept {
      ::new (to) Ticket(std::move(it(from)));
      std::destroy_at(&it(from));
    }
    static void destroy(void* at) noexcept { std::destroy_at(&it(at)); }
  };
  template <class Ticket>
  static constexpr calls calls_of{&of<Ticket>::wait, &of<Ticket>::over, &of<Ticket>::move, &of<Ticket>::destroy};

  void* at() { return bytes_.data(); }
  const void* at() const { return bytes_.data(); }

  alignas(std::max_align_t) std::array<std::byte, room> bytes_; // set by hold
  const calls* calls_ = nullptr;                                // null: it is empty
};

// A communicator that wraps any other one, chosen at run time: code that trains over it is compiled once and not once for each.
// It holds a pointer to the inner one, and can be copied as a pointer can. Inside a body:
//
//   any_rank any(rank); // rank is a loopback::rank, a threads::rank, an mpi::rank …
//   trainer<ddp<Model, any_rank>, …> train{any, …};
//
// Every call is passed on through one function pointer, and so are its exceptions: bits, order and deadlines are the inner
// communicator's. If that one lacks an optional member, check() and recover() do nothing, reserve() reserves nothing, allocate()
// returns no memory, all ranks share a machine but no bytes, and exchange() broadcasts from each rank in turn.
//
// It is for the queue of one device, as a function pointer has one type of argument: any_rank for a cpu's, any_rank_for<Queue>
// for others. Rejected: passing on another queue than the caller's, which breaks the order of the work.
template <class Queue>
class any_rank_for {
public:
  static constexpr std::string_view name = "any_rank";
  using ticket = detail::any_ticket<Queue>;

  template <communicator<Queue> Inner>
    requires(!std::same_as<Inner, any_rank_for>)
  explicit any_rank_for(Inner& inner)
      : inner_(&inner), calls_(&calls_of<Inner>), rank_(inner.rank()), size_(inner.size()),
        local_rank_(detail::place_here(inner)), local_size_(static_cast<int>(detail::ranks_here(inner))),
        shared_bytes_(detail::shared_bytes(inner)) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  std::size_t shared_bytes() const { return shared_bytes_; }
  std::string_view called() const { return calls_->called; } // the name of the inner communicator

  ticket all_reduce(Queue& queue, std::span<float> span) { return started(calls_->sum_float, queue, span); }
  ticket all_reduce(Queue& queue, std::span<double> span) { return started(calls_->sum_double, queue, span); }
  ticket broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    ticket made;
    calls_->broadcast(inner_, queue, bytes, root, made);
    return made;
  }

  void exchange(std::span<const std::byte> own, std::span<std::byte> all) { calls_->exchange(inner_, own, all); }
  void check() { calls_->check(inner_); }
  void reserve(std::size_t bytes) { calls_->reserve(inner_, bytes); }
  lent_memory allocate(std::size_t bytes) { return calls_->allocate(inner_, bytes); }
  void recover() { calls_->recover(inner_); }
  call_purpose purpose(const call_purpose& next) { return calls_->purpose(inner_, next); }

private:
  struct calls {
    std::string_view called;
    void (*sum_float)(void*, Queue&, std::span<float>, ticket&);
    void (*sum_double)(void*, Queue&, std::span<double>, ticket&);
    void (*broadcast)(void*, Queue&, std::span<std::byte>, int, ticket&);
    void (*exchange)(void*, std::span<const std::byte>, std::span<std::byte>);
    void (*check)(void*);
    void (*reserve)(void*, std::size_t);
    lent_memory (*allocate)(void*, std::size_t);
    void (*recover)(void*);
    call_purpose (*purpose)(void*, const call_purpose&);
  };

  template <class Inner>
  struct of {
    static Inner& it(void* inner) { return *static_cast<Inner*>(inner); }
    template <class T>
    static void sum(void* inner, Queue& queue, std::span<T> span, ticket& made) {
      made.hold([&] { return it(inner).all_reduce(queue, span); });
    }
    static void broadcast(void* inner, Queue& queue, std::span<std::byte> bytes, int root, ticket& made) {
      made.hold([&] { return it(inner).broadcast(queue, bytes, root); });
    }
    static void exchange(void* inner, std::span<const std::byte> own, std::span<std::byte> all) {
      detail::queue_of_any_device host; // the broadcast of host memory puts nothing on it
      static_assert(
          detail::exchanges_bytes<Inner> || communicator<Inner>,
          "any_rank: this communicator has no exchange, and broadcasts for the queues of one device only; write void "
          "exchange(std::span<const std::byte> own, std::span<std::byte> all), which gives every rank the bytes of all");
      detail::check_exchange(Inner::name, own.size(), all.size(), it(inner).size());
      detail::exchange(it(inner), host, own, all);
    }
    static void check(void* inner) { detail::tell_check(it(inner)); }
    static void reserve(void* inner, std::size_t bytes) { detail::tell_reserve(it(inner), bytes); }
    static lent_memory allocate(void* inner, std::size_t bytes) { return detail::ask_for_memory(it(inner), bytes); }
    static void recover([[maybe_unused]] void* inner) {
      if constexpr (requires(Inner& c) { c.recover(); }) it(inner).recover();
    }
    static call_purpose purpose([[maybe_unused]] void* inner, [[maybe_unused]] const call_purpose& next) {
      if constexpr (detail::learns_purposes<Inner>) return it(inner).purpose(next);
      else return {};
    }
  };
  template <class Inner>
  static constexpr calls calls_of{Inner::name,
                                  &of<Inner>::template sum<float>,
                                  &of<Inner>::template sum<double>,
                                  &of<Inner>::broadcast,
                                  &of<Inner>::exchange,
                                  &of<Inner>::check,
                                  &of<Inner>::reserve,
                                  &of<Inner>::allocate,
                                  &of<Inner>::recover,
                                  &of<Inner>::purpose};

  template <class T>
  ticket started(void (*sum)(void*, Queue&, std::span<T>, ticket&), Queue& queue, std::span<T> span) {
    ticket made;
    sum(inner_, queue, span, made);
    return made;
  }

  void* inner_;
  const calls* calls_;
  int rank_, size_, local_rank_, local_size_;
  std::size_t shared_bytes_;
};

enum class rank_maker { loopback, threads, processes };

// The kind and the number of this job's ranks.
struct rank_choice {
  rank_maker by = rank_maker::loopback;
  int ranks = 1;
};

struct rank_wishes {
  std::string communicator{}; // a word; empty: chosen by the launcher and the number of ranks
  std::optional<int> ranks{}; // exactly this number, or an error
  int otherwise = 1;          // the number if nothing else gives one
  bool has_processes = false; // whether the program can have ranks that are processes
};

// The choice that fits the launcher and the wishes, or an input_error that names the contradiction. `launch` has already checked
// that a wished number of ranks is that of the processes, if several were started.
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

} // namespace cairn::detail

namespace cairn {

using any_rank = detail::any_rank_for<cpu::queue>;

// The ranks of a job, whose kind is chosen when the program starts: one body, compiled once, runs on all kinds.
//
//   chosen_ranks<mpi> ranks(count, words, {.communicator = word, .ranks = 4}); // what main was called with
//   ranks.run([&](any_rank& rank) { trainer<ddp<Model, any_rank>, …> train{rank, …}; … });
//
// If a launcher started several processes, they are ranks of Processes, which is mpi; otherwise several ranks are threads of this
// process, and one rank is loopback. A word must agree with the launcher: a contradiction is an input_error. The constructor
// joins the processes, not each run, as MPI begins once in a process. Without Processes no MPI is needed. Under a launcher that
// `launch` does not know, the word mpi has to be given.
//
// Work that may fail in one process alone, such as reading its files, belongs before the constructor or into a body. The other
// processes learn of an exception between two runs only after their deadline.
template <class Processes = types::no_processes>
class chosen_ranks {
public:
  using rank = any_rank;

  struct options {
    std::string communicator{};                             // loopback, threads or mpi [what fits the launcher and the number]
    std::optional<int> ranks{};                             // [as many as the launcher started, else `otherwise`]
    int otherwise = 1;                                      // the number of ranks without a launcher and without `ranks`
    std::chrono::milliseconds deadline{30'000};             // how long a wait for other ranks lasts at most
    std::chrono::milliseconds long_deadline{600'000};       // while one works alone; see threads::options
    std::chrono::milliseconds end_deadline{24 * 3'600'000}; // for the ends of the other bodies; see threads::options
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
  bool first() const { return here_.rank == 0; } // the process of rank 0, which prints and writes files for all

  // The name of the communicator.
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
  static constexpr bool has_processes = !std::is_same_v<Processes, types::no_processes>;

  // Takes the body by pointer, so that threads and Processes are compiled once for all bodies. Rejected: std::function, as its
  // header takes the compiler a third of a second.
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
    detail::rank_wishes wishes; // field by field: nvcc 13 reads a list of them in a template as a comma operator
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

  // A launcher that `launch` does not know passes its numbers to MPI alone; the word mpi was the only sign of it.
  void join() {
    joined_.emplace(told<typename Processes::options>());
    if (joined_->size() == choice_.ranks) return;
    choice_.ranks = here_.size = joined_->size();
    joined_->run([this](auto& self) { here_.rank = self.rank(); });
  }

  detail::rank_choice choice_;
  launch here_;
  std::chrono::milliseconds deadline_, long_deadline_, end_deadline_;
  std::optional<Processes> joined_; // empty unless processes are joined
};

} // namespace cairn
