// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <cairn/comm/different_calls.hpp>
#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/mpi/message_call.hpp>
#include <cairn/comm/mpi/message_news.hpp>
#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/comm/mpi/progress_engine.hpp>
#include <cairn/comm/termination.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/cores.hpp>

namespace cairn::detail {

// The work of the communication thread: it serves the calls of its rank, and makes all calls of the transport.
//
// Two calls are worked on at a time, and begin in the order in which they were started. The thread sleeps when none is open.
// While one is, it looks often if the rank waits, and seldom if the rank computes, whose core it may share. If it does share it
// and the spans lie in memory that all ranks can access, overlapping gains nothing: such calls begin when the rank waits.
//
// A failure is final. Before a buffer is returned unsent, every rank is notified which calls are abandoned, and checks for such
// notices before completing its own call. Data sent from freed memory is therefore never used.
template <class Transport>
class progress_thread {
  using clock = progress_engine::clock;

public:
  progress_thread(progress_engine& engine, Transport& transport)
      : face_(engine), transport_(transport), news_(transport), others_(static_cast<std::size_t>(transport.size())),
        has_no_core_(usable_cores() <= static_cast<std::size_t>(transport.local_size())) {
    for (std::size_t i = 0; i < worked_on; ++i) calls_.emplace_back(transport);
  }

  // Returns when the rank asks for it and no call is open.
  void serve() {
    auto moved_at = clock::now(), looked_at = moved_at, round_at = moved_at;
    for (;;) {
      face_.comes_round();
      const bool moved = work();
      const auto now = clock::now();
      if (const auto gap = now - round_at; gap > away) // while a call is awaited, a round takes no more than some milliseconds
        for (auto* const since : {&left_at_, &terminated_at_})
          if (*since) **since += gap;
      round_at = now;
      if (moved) moved_at = now;
      if (!moved && (now - looked_at > slow_look || !any_open())) {
        looked_at = now;
        look_around(now);
      }
      if (face_.failed()) give_up();
      if (!answer_rank(now)) return;
      if (!moved) rest(now - moved_at);
    }
  }

private:
  static constexpr std::size_t worked_on = 2;
  static constexpr std::chrono::microseconds eager{300};   // spin this long for a waiting rank before sleeping
  static constexpr std::chrono::microseconds nap{100};     // between two looks otherwise
  static constexpr std::chrono::milliseconds slow_look{1}; // between two looks at rare events
  static constexpr std::chrono::milliseconds put_off{5};   // the most that the start of a call is put off while the rank computes
  static constexpr std::chrono::milliseconds farewell{1000};
  static constexpr std::chrono::milliseconds tells_calls{250}; // for all ranks to report which calls they make
  static constexpr std::chrono::milliseconds away{350};        // a longer round: the process did not run
  static constexpr std::chrono::milliseconds last_words{300};  // after SIGTERM
  // Extra time before this rank reports a late sum: the owner of the part knows which rank is late and should report first.
  static constexpr std::chrono::milliseconds by_hearsay{250};

  // The news that another rank has sent.
  struct other_rank {
    std::uint64_t runs = 0;                  // the number of runs in which its body has ended
    std::uint64_t calls = ~std::uint64_t{0}; // its calls from this one on will never be over
    std::optional<rank_news> failed{}, left{};
  };

  bool any_open() const {
    return std::ranges::any_of(calls_, [](const message_call<Transport>& call) { return call.is_open(); });
  }

  // Advances calls; returns whether anything moved.
  bool work() {
    if (face_.failed()) return false;
    if (others_.size() == 1) { // calls are over when they start
      next_ = face_.started();
      return false;
    }
    bool moved = false;
    try {
      for (message_call<Transport>& call : calls_) {
        if (call.is_open()) {
          if (!call.progress()) continue;
        } else if (next_ < face_.started() && may_begin() && !is_put_off() && others_allow(next_)) {
          begin_next(call);
        } else {
          continue;
        }
        moved = true;
        if (!call.is_open()) finish(call);
      }
    } catch (const input_error& thrown) {
      face_.fail(fault_kind::different, std::string("the ranks make different calls: ") + thrown.what());
    } catch (const std::exception& thrown) {
      face_.fail(fault_kind::lost, thrown.what());
    }
    return moved;
  }

  void begin_next(message_call<Transport>& call) {
    const rank_call& asked = face_.asked(next_);
    call_stretch stretch = call_stretch::next_of(asked, others_.size(), next_element_);
    stretch.call = next_;
    stretch.turn = turns_++;
    call.begin(asked, stretch, face_.options().in_any_order);
    next_element_ = stretch.is_last ? 0 : next_element_ + stretch.count;
    if (stretch.is_last) ++next_;
  }
  // Whether the next call should wait until the rank does.
  bool is_put_off() {
    if (!has_no_core_ || next_element_ > 0 || face_.rank_waits() || face_.asked(next_).reached == nullptr) return false;
    const auto now = clock::now();
    if (put_off_call_ != next_ + 1) put_off_call_ = next_ + 1, put_off_at_ = now;
    return now - put_off_at_ < put_off;
  }
  bool may_begin() const {
    return std::ranges::all_of(calls_, [](const message_call<Transport>& call) { return call.may_be_followed(); });
  }

  // Marks the call as over if this was the last of it, unless a rank has meanwhile reported that it abandons the call.
  void finish(const message_call<Transport>& call) {
    const auto has_more = [&](const message_call<Transport>& one) { return one.is_open() && one.number() == call.number(); };
    if (next_ == call.number() || std::ranges::any_of(calls_, has_more)) return;
    hear();
    if (!others_allow(call.number())) return;
    face_.mark_over(call.number());
  }

  // Receives the news of other ranks.
  void hear() {
    while (const auto found = news_.look()) {
      other_rank& one = others_[static_cast<std::size_t>(found->rank)];
      if (found->news.what == rank_news::kind::failed) {
        one.failed = found->news;
      } else {
        one.left = found->news;
        ++one.runs;
      }
      one.calls = std::min(one.calls, found->news.calls);
    }
  }
  // Whether all ranks make this call. If one does not, the call fails.
  bool others_allow(std::uint64_t call) {
    for (std::size_t rank = 0; rank < others_.size(); ++rank) {
      const other_rank& one = others_[rank];
      if (one.calls > call) continue;
      const std::string name = "rank " + std::to_string(rank);
      was_asked_ = was_asked_ || (one.failed && one.failed->asks != 0);
      if (one.failed)
        face_.fail(one.failed->differs != 0 ? fault_kind::different : fault_kind::lost,
                   name + " failed: " + one.failed->text.data());
      else if (one.left->threw != 0) face_.fail(fault_kind::lost, name + " threw: " + one.left->text.data());
      else
        face_.fail(fault_kind::lost, name + " returned after " + std::to_string(one.calls) + " calls, but rank " +
                                         std::to_string(transport_.rank()) + " has started call " + std::to_string(call + 1));
      return false;
    }
    return true;
  }

  // Looks at rare events: news, calls that are late or differ, SIGTERM.
  void look_around(clock::time_point now) {
    hear();
    for (message_call<Transport>& call : calls_) {
      if (!call.is_open() || face_.failed() || !others_allow(call.number())) continue;
      if (const std::size_t rank = call.one_that_differs(); rank < others_.size())
        face_.fail(fault_kind::different, "the ranks make different calls: rank " + std::to_string(rank) +
                                              " sends what is no part of this rank's " + call.asked().text_with_purpose());
      const auto hearsay = call.lacks_shares() ? clock::duration(0) : clock::duration(by_hearsay);
      const bool is_late =
          face_.rank_waits_for(call.number()) &&
          awaited().is_over(
              [&] { return face_.whose() + " waits in " + call.asked().text_with_purpose() + ": " + late_text(call); }, hearsay);
      if (is_late || face_.rank_finds_late())
        face_.fail(fault_kind::late,
                   late_text(call) + " within " + std::to_string(face_.limit_of(call.number()).count()) + " ms");
    }
    if (termination_notice::arrived()) meet_termination(now);
  }
  // The current wait of the rank's thread.
  long_wait& awaited() {
    const auto since = face_.rank_waits_since();
    if (!awaited_ || awaited_since_ != since) {
      awaited_since_ = since;
      awaited_.emplace(face_.options().deadline, face_.limit_of_wait(), since);
    }
    return *awaited_;
  }
  std::string late_text(const message_call<Transport>& call) const {
    std::string late;
    for (std::size_t rank = 0; rank < others_.size(); ++rank)
      if (rank != static_cast<std::size_t>(transport_.rank()) &&
          (call.lacks_shares() ? call.lacks_share_of(rank) : call.waits_for(rank)))
        late += (late.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return "call " + std::to_string(call.number() + 1) + " still waited for " + late;
  }

  void meet_termination(clock::time_point now) {
    if (!terminated_at_) terminated_at_ = now;
    const std::string told = "it was told to end (SIGTERM)";
    const std::string why = "; a launcher does that when a rank is lost, or when the job is cancelled";
    for (const message_call<Transport>& call : calls_)
      if (call.is_open() && face_.rank_waits_for(call.number()))
        face_.fail(fault_kind::lost, told + " while " + late_text(call) + why);
    if (now - *terminated_at_ < (face_.failed() ? farewell : last_words)) return;
    std::fprintf(stderr, "%s: %s after %llu calls%s\n", face_.whose().c_str(), told.c_str(),
                 static_cast<unsigned long long>(face_.started()), why.c_str());
    std::fflush(stderr);
    termination_notice::end_process();
  }

  // After a failure: notifies all ranks from which call on this one's are abandoned, then gives the memory back.
  void give_up() {
    if (has_given_up_) return;
    has_given_up_ = true;
    std::uint64_t sound = next_;
    for (const message_call<Transport>& call : calls_)
      if (call.is_open()) sound = std::min(sound, call.number());
    for (std::uint64_t call = next_; call-- > 0 && next_ - call <= worked_on;)
      if (!face_.over(call)) sound = std::min(sound, call);
    try {
      rank_news own;
      own.what = rank_news::kind::failed;
      own.calls = sound;
      if (sound < face_.started()) own.name_call(face_.asked(sound).text_with_purpose());
      const auto [kind, text] = face_.failure();
      own.differs = kind == fault_kind::different ? 1 : 0;
      own.asks = kind != fault_kind::lost || was_asked_ ? 1 : 0;
      own.say(text);
      news_.send(own);
      if (own.asks != 0) name_odd_one(own);
      for (message_call<Transport>& call : calls_) call.give_up();
    } catch (const std::exception& thrown) {
      transport_.abort(face_.whose() + ": " + thrown.what());
    }
    face_.gives_memory_back();
  }

  // Called if ranks make different calls, or may do so, as one waits in vain. They report their calls to each other, so that each
  // knows the odd one. A rank that computes is waited for no longer than tells_calls: it learns of the failure with its next
  // call.
  void name_odd_one(const rank_news& own) {
    const auto me = static_cast<std::size_t>(transport_.rank());
    const auto is_told = [&](std::size_t rank) { return rank == me || others_[rank].failed; };
    const auto all_told = [&] {
      for (std::size_t rank = 0; rank < others_.size(); ++rank)
        if (!is_told(rank)) return false;
      return true;
    };
    running_deadline<clock> give_up(tells_calls);
    for (hear(); !all_told() && !give_up.is_over(); hear()) sleep_for(nap);
    std::vector<told_call> told(others_.size());
    bool any_other = false;
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
      if (!is_told(rank)) continue;
      const rank_news& news = rank == me ? own : *others_[rank].failed;
      told[rank] = {news.calls, news.call.data()};
      const bool is_same_number = own.differs != 0 || news.calls == own.calls;
      any_other =
          any_other || (!told[rank].text.empty() && own.call[0] != 0 && is_same_number && told[rank].text != own.call.data());
    }
    if (!any_other) return;
    face_.replace_failure(fault_kind::different, text_of_different_calls(told));
  }

  // Answers the rank's requests other than calls. Returns false if the rank asks this thread to stop.
  bool answer_rank(clock::time_point now) {
    bool goes_on = true;
    face_.answer_rank([&](progress_engine::other_wishes& asks, fault_kind failed_as) {
      if (!asks.abort.empty()) transport_.abort(asks.abort);
      if (any_open()) return false;
      bool is_answer = false;
      if (asks.memory > asks.reserved) {
        for (message_call<Transport>& call : calls_) call.reserve(asks.memory);
        asks.reserved = asks.memory;
        is_answer = true;
      }
      if (asks.leaving && (face_.failed() || next_ == face_.started())) is_answer = leave(now, asks, failed_as) || is_answer;
      goes_on = !asks.to_stop;
      return is_answer;
    });
    return goes_on;
  }

  // Reports that this rank's body has ended. Returns whether the wait for the other bodies is over.
  bool leave(clock::time_point now, progress_engine::other_wishes& asks, fault_kind failed_as) {
    const progress_engine::leaver& own = *asks.leaving;
    const auto me = static_cast<std::size_t>(transport_.rank());
    if (!left_at_) {
      left_at_ = now;
      end_.emplace(face_.options().deadline, face_.options().end_deadline, now);
      ++runs_;
      rank_news said;
      said.calls = own.calls;
      said.threw = own.threw ? 1 : 0;
      said.follows = own.follows ? 1 : 0;
      said.say(own.text);
      news_.send(said);
    }
    run_outcome out;
    bool any_threw = own.threw || face_.failed();
    for (std::size_t rank = 0; rank < others_.size(); ++rank)
      if (rank != me && others_[rank].runs < runs_) out.late += (out.late.empty() ? "rank " : ", rank ") + std::to_string(rank);
      else if (rank != me) any_threw = any_threw || others_[rank].left->threw != 0;
    const bool was_late = face_.failed() && failed_as == fault_kind::late;
    const auto patience = termination_notice::arrived() ? std::chrono::milliseconds(0)
                          : was_late                    ? farewell
                                                        : std::chrono::milliseconds(face_.options().deadline) + farewell;
    const auto waits = [&] { return face_.whose() + ": its body has ended, and waits for that of " + out.late; };
    out.is_end_late = !out.late.empty() && !any_threw && end_->is_over(waits);
    if (!out.late.empty() && !out.is_end_late && !(any_threw && now - *left_at_ > patience)) return false;
    for (const bool of_others : {false, true}) // those whose exception no other rank caused, or else any
      for (std::size_t rank = 0; rank < others_.size() && out.first_to_throw < 0; ++rank) {
        const bool threw = rank == me ? own.threw : others_[rank].left && others_[rank].left->threw != 0;
        const bool follows = rank == me ? own.follows : others_[rank].left && others_[rank].left->follows != 0;
        if (threw && follows == of_others) out.first_to_throw = static_cast<int>(rank);
      }
    out.this_rank_follows = own.follows;
    news_.settle(out.late.empty() ? farewell : std::chrono::milliseconds(10));
    for (other_rank& one : others_) // another run may follow, which some rank may have ended already
      if (!one.failed) one.calls = one.runs > runs_ ? one.left->calls : ~std::uint64_t{0};
    left_at_.reset();
    asks.outcome = out;
    asks.leaving.reset();
    return true;
  }

  void rest(clock::duration idle) {
    if (any_open() && face_.rank_waits() && idle < eager) return std::this_thread::yield();
    face_.falls_asleep();
    if (!face_.failed() && next_ < face_.started() && !all_taken() && may_begin()) {
      face_.wakes(); // more calls that are put off need not wake it
      if (is_put_off()) sleep_for(any_open() ? nap : slow_look);
      return;
    }
    if (any_open() || left_at_ || terminated_at_) sleep_for(left_at_ && idle > slow_look ? slow_look : nap);
    else face_.sleep_until_it_rings();
    face_.wakes();
  }
  bool all_taken() const {
    return std::ranges::all_of(calls_, [](const message_call<Transport>& call) { return call.is_open(); });
  }
  void sleep_for(std::chrono::nanoseconds time) { face_.sleep_for(time); }

  progress_engine::thread_face face_;
  Transport& transport_;
  message_news<Transport> news_;
  std::vector<message_call<Transport>> calls_;
  std::vector<other_rank> others_;
  std::uint64_t next_ = 0;         // call to begin, or to go on with
  std::size_t next_element_ = 0;   // of that call
  std::uint64_t turns_ = 0;        // stretches that have begun
  std::uint64_t runs_ = 0;         // that this rank has left
  const bool has_no_core_;         // of its own: as many ranks as cores, or more
  std::uint64_t put_off_call_ = 0; // 1 + its number
  clock::time_point put_off_at_{};
  bool has_given_up_ = false;
  bool was_asked_ = false; // another rank has asked which call this one makes
  std::optional<clock::time_point> left_at_{}, terminated_at_{};
  std::optional<long_wait> awaited_{}, end_{}; // the rank's wait for a call, and that for the other bodies
  clock::time_point awaited_since_{};
};

} // namespace cairn::detail
