// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// A message from one rank to all others about its own state, besides its calls.
struct rank_news {
  enum class kind : std::uint64_t {
    failed, // one of its calls failed: none of its calls from number `calls` on will be over
    left,   // its body has ended after `calls` calls
  };
  kind what = kind::left;
  std::uint64_t calls = 0;
  std::uint64_t threw = 0;      // left: by an exception
  std::uint64_t follows = 0;    // left: another rank's failure caused that exception
  std::uint64_t differs = 0;    // failed: because ranks make different calls
  std::uint64_t asks = 0;       // failed: asks the others to report which calls they make
  std::array<char, 160> call{}; // failed: call number `calls` in words; empty if it was not started
  std::array<char, 816> text{}; // both end with a zero

  void say(std::string_view why) { copy(why, text); }
  void name_call(std::string_view asked) { copy(asked, call); }

private:
  static void copy(std::string_view from, std::span<char> to) {
    std::copy_n(from.begin(), std::min(from.size(), to.size() - 1), to.begin());
  }
};

// Sends and receives news. A rank sends at most one of each kind in a run, and no wait for another rank is without a limit.
template <message_transport Transport>
class message_news {
public:
  static constexpr int tag = 0;

  explicit message_news(Transport& transport)
      : transport_(transport), sent_(2 * static_cast<std::size_t>(transport.size())), over_(sent_.size()) {}

  void send(const rank_news& news) {
    const auto half = static_cast<std::size_t>(news.what);
    settle(requests(half), std::chrono::seconds(1)); // those of the previous run
    out_[half] = news;
    const std::span<request> sent = requests(half);
    for (std::size_t rank = 0; rank < sent.size(); ++rank)
      if (rank != static_cast<std::size_t>(transport_.rank()))
        transport_.send(sent[rank], static_cast<int>(rank), tag, bytes_of(out_[half]), sizeof(rank_news));
  }
  // Waits for sends until they are over, at most for `patience`, and forgets those that are not.
  void settle(std::chrono::milliseconds patience) { settle(std::span(sent_), patience); }

  struct from_rank {
    int rank = 0;
    rank_news news{};
  };
  // Returns the next news that has arrived, if there is one.
  std::optional<from_rank> look() {
    const std::optional<incoming_message> there = transport_.probe(any_rank_sends, tag);
    if (!there) return {};
    from_rank found{there->from, {}};
    if (there->bytes != sizeof(rank_news))
      throw error("rank " + std::to_string(there->from) + " sent " + std::to_string(there->bytes) + " bytes of news where " +
                  std::to_string(sizeof(rank_news)) + " were expected; are all ranks of one version?");
    request one{};
    transport_.receive(one, there->from, tag, bytes_of(found.news), sizeof(rank_news));
    finished_request over;
    while (transport_.finished({&one, 1}, {&over, 1}) == 0) std::this_thread::yield(); // it is here already
    found.news.text.back() = found.news.call.back() = '\0';
    return found;
  }

private:
  using request = typename Transport::request;

  std::span<request> requests(std::size_t half) { return std::span(sent_).subspan(half * sent_.size() / 2, sent_.size() / 2); }
  void settle(std::span<request> sent, std::chrono::milliseconds patience) {
    running_deadline<std::chrono::steady_clock> give_up(patience);
    for (;;) {
      static_cast<void>(transport_.finished(sent, std::span(over_)));
      if (std::ranges::none_of(sent, [&](const request& one) { return transport_.is_open(one); })) return;
      if (give_up.is_over()) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    for (request& one : sent) transport_.forget(one);
  }
  static std::byte* bytes_of(rank_news& news) { return reinterpret_cast<std::byte*>(&news); }

  Transport& transport_;
  std::vector<request> sent_;
  std::vector<finished_request> over_;
  std::array<rank_news, 2> out_{};
};

} // namespace cairn::detail
