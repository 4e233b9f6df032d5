// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/kept_tokens.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/session.hpp>
#include <cairn/train/text/one_text.hpp>

namespace cairn::detail {

struct joins_tokens_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(
        is_right<Wrong>,
        "text::session: each token may look at itself and at earlier ones only, and this layer looks at others, or does "
        "not say that it takes tokens one by one; in an attention write attention::causal, in a layer of your own "
        "static constexpr bool takes_tokens_apart = true; see joins_tokens<layer>");
    return false;
  }
};
template <class Layer>
struct joins_tokens : joins_tokens_message {};
template <class Layer> // or void
constexpr bool takes_all_apart() {
  if constexpr (std::is_void_v<Layer>) return true;
  else return joins_tokens<Layer>::template right<joins_tokens<Layer>>();
}

struct takes_no_text_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "text::session: expected a model<...> on a cpu whose network takes tokens and makes the scores of the next one "
                  "at each, (T, Vocabulary), as Sequential<Inputs<integers<T>>, Embedding<...>, ...>; give a model the weights "
                  "of a trainer "
                  "by net.copy_parameters(train); see takes_no_text<type>");
    return false;
  }
};
template <class Model>
struct takes_no_text : takes_no_text_message {};

// A model whose text can be read by a text::session.
template <class Model>
inline constexpr bool takes_text = false;
template <class Net, class Batch, class T>
inline constexpr bool takes_text<model<Net, Batch, T, cpu>> = tokens_of<typename model<Net, Batch, T, cpu>::plan>() > 0;

// The plan of N tokens of one text.
template <class Net, std::size_t N, class T>
using text_plan = blueprint_of<typename for_tokens<typename whole<Net>::body, N>::type, 1, T>;

template <class Model>
struct plans_of_text;
template <class Net, class Batch, class T>
struct plans_of_text<model<Net, Batch, T, cpu>> {
  using element = T;
  using whole_plan = typename model<Net, Batch, T, cpu>::plan;
  static constexpr std::size_t tokens = tokens_of<whole_plan>();
  static constexpr std::size_t several = tokens < 32 ? tokens : 32; // at a time, of a prompt
  using one_plan = text_plan<Net, 1, T>;
  using several_plan = text_plan<Net, several, T>;
  using joining = typename joining_tokens<one_plan>::type;
  static_assert(one_plan::parameter_block == whole_plan::parameter_block &&
                several_plan::parameter_block == one_plan::parameter_block);
};

} // namespace cairn::detail

namespace cairn::text {

// Evaluates a network that reads a text, token by token: keys and values of the tokens that it has taken are kept, so that one
// more token costs one row of each product. The network is a model<...> on a cpu that takes T tokens, Inputs<integers<T>>, and
// makes (T, Vocabulary) scores of the tokens after them, in which no token looks at a later one: a GPT.
//
//   text::session own{net};                               // a model<GPT, batch<1>> net
//   std::span<const float> scores = own.take(prompt);     // of the token after the prompt
//   scores = own.take(std::array{token});                 // of the one after that
//
// Its scores are those of the model's evaluate(), bit for bit, at the last token. A session belongs to one thread at a time; the
// model, which others may share, must outlive it. After its weights have changed call clear().
template <class Model, bool Right = detail::takes_text<Model>>
class session {
  using plans = detail::plans_of_text<Model>;
  using T = typename plans::element;
  using one_plan = typename plans::one_plan;
  using several_plan = typename plans::several_plan;
  using queue = cpu::queue;
  static constexpr bool is_right = detail::takes_all_apart<typename plans::joining>();

  // Where the memory of each layer begins, in elements; it ends at the last.
  using begins = std::array<std::size_t, one_plan::facts.leaves + 1>;
  static constexpr begins begin_of_layers = [] {
    begins kept{}, out{};
    detail::for_each_keeper(detail::evaluation_of<one_plan, T, queue>, 0,
                            [&kept](std::uint32_t layer, std::size_t elements) { kept[layer] = elements * plans::tokens; });
    for (std::size_t layer = 0; layer + 1 < out.size(); ++layer) out[layer + 1] = out[layer] + kept[layer];
    return out;
  }();

public:
  using number = accumulated<T>; // the type of scores

  // The most tokens, the size of the vocabulary, and the bytes of all keys and values.
  static constexpr std::size_t capacity = plans::tokens;
  static constexpr std::size_t vocabulary = one_plan::outputs[0].last();
  static constexpr std::size_t kept_bytes = begin_of_layers.back() * sizeof(T);

  explicit session(const Model& net, const types::session_options& given = {})
      : net_(net), device_(types::device_options{.threads = detail::threads_for(given.threads, 1)}),
        arena_(device_.allocate(std::max(one_plan::evaluated::arena, several_plan::evaluated::arena))),
        memory_(device_.allocate(kept_bytes)), scores_(vocabulary) {
    if constexpr (!is_right) return;
    kept_ = {.taken = 0, .memory = reinterpret_cast<T*>(memory_.data()), .begin = begin_of_layers.data()};
  }
  explicit session(const Model&&, const types::session_options& = {}) = delete; // a temporary would be gone
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // Takes the next tokens of the text, at least one. Returns the scores of the token after the last, in the session's memory and
  // valid until the next call. Throws input_error for no token, and for more than there is room for: then nothing was taken.
  std::span<const number> take(std::span<const std::int32_t> tokens) {
    if (tokens.empty() || tokens.size() > capacity - size())
      throw input_error("text::session::take: expected 1 to " + std::to_string(capacity - size()) + " tokens after the " +
                        std::to_string(size()) + " that were taken, found " + std::to_string(tokens.size()) +
                        "; clear() begins a new text");
    const std::size_t before = size();
    try {
      while (tokens.size() >= plans::several) tokens = evaluate<several_plan, plans::several>(tokens);
      while (!tokens.empty()) tokens = evaluate<one_plan, 1>(tokens);
    } catch (...) {
      kept_.taken = before;
      throw;
    }
    return scores_;
  }

  // The number of tokens that were taken.
  std::size_t size() const { return kept_.taken; }

  // Begins a new text.
  void clear() { kept_.taken = 0; }

private:
  // Returns the tokens after the first N, which it takes.
  template <class Plan, std::size_t N>
  std::span<const std::int32_t> evaluate(std::span<const std::int32_t> tokens) {
    detail::frame<T> f{};
    f.rows = 1;
    f.workspace = arena_.data();
    f.why = pass::evaluate;
    f.kept = &kept_;
    net_.inside().lend(f, own_weights_);
    f.inputs = {reinterpret_cast<const std::byte*>(tokens.data()), &begin_of_inputs_};
    detail::run_forward(detail::evaluation_of<Plan, T, queue>, device_.compute(), f);
    kept_.taken += N;
    const auto* const made = reinterpret_cast<const T*>(arena_.data() + detail::place_of_output<Plan>().offset());
    std::transform(made + (N - 1) * vocabulary, made + N * vocabulary, scores_.begin(),
                   [](T score) { return static_cast<number>(score); });
    return tokens.subspan(N);
  }

  const Model& net_;
  cpu device_;
  cpu::memory arena_, memory_;
  std::vector<number> scores_;
  std::size_t begin_of_inputs_ = 0; // an offset: the network takes one array
  detail::kept_tokens<T> kept_{};
  typename std::remove_cvref_t<decltype(std::declval<const Model&>().inside())>::own_weights own_weights_{};
};

template <class Model>
class session<Model, false> {
  using wrong = detail::takes_no_text<Model>;
  static constexpr bool is_right = wrong::template right<wrong>();

public:
  explicit session(const Model&, const types::session_options& = {}) {
    if constexpr (!is_right) return;
  }
  // So that there is only one error.
  using number = float;
  static constexpr std::size_t capacity = 1, vocabulary = 1, kept_bytes = 0;
  std::span<const number> take(std::span<const std::int32_t>) { return {}; }
  std::size_t size() const { return 0; }
  void clear() {}
};

template <class Model>
session(const Model&, const types::session_options& = {}) -> session<Model>;

} // namespace cairn::text
