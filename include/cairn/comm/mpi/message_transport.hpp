// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cairn::detail {

// A message that has been sent to this rank and not been received yet.
struct incoming_message {
  int from = 0;
  std::size_t bytes = 0;
};

// A request that is over. For a receive, `bytes` is the number of bytes that came, or too_many if there was no room for them.
struct finished_request {
  static constexpr std::size_t too_many = ~std::size_t{0};
  std::size_t index = 0; // among the requests passed to finished()
  std::size_t bytes = 0;
};

// A message transport carries messages of bytes between the ranks of a job, and is used by one thread only, from its
// constructor to its destructor.
//
// A type T is a message transport if
//   1. t.rank(), t.size(), t.local_rank() and t.local_size() never change; T::name is its name in error texts;
//   2. t.send(request, to, tag, bytes) and t.receive(request, from, tag, bytes) begin a message, return at once, and open
//      `request`. The bytes belong to the transport until the request is over. A default-constructed request is not open;
//   3. a receive takes the first message from that rank with that tag that no earlier receive takes;
//   4. t.finished(requests, over) advances messages, lists the open requests that are over by now in `over`, and returns their
//      number; they are no longer open. For sends the bytes are not given;
//   5. t.probe(from, tag) returns a message that a receive would take, if there is one; `from` may be any_rank_sends;
//   6. t.cancel(request) ends a receive, and waits only a moment for that; t.forget(request) ends a send without waiting for it;
//      both ignore a request that is not open; t.is_open(request) says whether it is;
//   7. tags are 0 … t.most_tag(), at least 32767; a message has at most t.most_bytes() bytes;
//   8. t.abort(text) prints the text, then ends all processes of the job.
// All of them throw cairn::error if the transport fails.
template <class T>
concept message_transport = requires(T& t, const T& c, typename T::request& request, std::span<typename T::request> requests,
                                     std::span<finished_request> over, const std::byte* from, std::byte* to, std::size_t bytes) {
  { T::name } -> std::convertible_to<std::string_view>;
  requires std::default_initializable<typename T::request>;
  { c.rank() } -> std::same_as<int>;
  { c.size() } -> std::same_as<int>;
  { c.local_rank() } -> std::same_as<int>;
  { c.local_size() } -> std::same_as<int>;
  { c.most_tag() } -> std::same_as<int>;
  { c.most_bytes() } -> std::same_as<std::size_t>;
  t.send(request, 0, 0, from, bytes);
  t.receive(request, 0, 0, to, bytes);
  { t.finished(requests, over) } -> std::same_as<std::size_t>;
  { t.probe(0, 0) } -> std::same_as<std::optional<incoming_message>>;
  t.cancel(request);
  t.forget(request);
  { t.is_open(request) } -> std::same_as<bool>;
  t.abort(std::string{});
};

inline constexpr int any_rank_sends = -1;

// Optional: void sum(request&, std::span<float>) and the same for double, a sum over the ranks in an order of its own, which all
// ranks begin in the same order.
template <class T>
concept sums_itself = requires(T& t, typename T::request& request, std::span<float> span) { t.sum(request, span); };

} // namespace cairn::detail
