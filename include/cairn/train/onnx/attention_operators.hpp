// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <cairn/layer/attention.hpp>
#include <cairn/layer/attention_constants.hpp>
#include <cairn/layer/cross_attention.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/rotary_embedding.hpp>
#include <cairn/layer/sinusoidal_positions.hpp>
#include <cairn/net/cross_attention.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>
#include <cairn/train/onnx/product_operators.hpp>

// Attention by basic operators, and what gives its tokens their places.
namespace cairn::detail {

// softmax(q k^T / sqrt(width) + masks) v of all heads. Options are those of the attention, Which the constants that they read.
template <class Options, std::size_t Heads, which_constant Which>
class onnx_attention {
public:
  onnx_attention(onnx::layer_writer& at, std::size_t queries, std::size_t keys, std::size_t width)
      : at_(at), queries_(whole(queries)), keys_(whole(keys)), width_(whole(width)) {}

  // Of (rows, queries, Heads width), (rows, keys, KeyHeads width) and the same; makes (rows, queries, Heads width).
  std::string of(const std::string& q, const std::string& k, const std::string& v) {
    const std::string scale = at_.number(1 / std::sqrt(static_cast<double>(width_)));
    const std::string query = at_.node("Mul", {heads_of(q, queries_, Heads, {0, 2, 1, 3}), scale});
    const std::string key = heads_of(k, keys_, Options::key_heads, {0, 2, 3, 1}); // (rows, Heads, width, keys)
    const std::string value = heads_of(v, keys_, Options::key_heads, {0, 2, 1, 3});
    const std::string scores = masked(at_.node("MatMul", {query, key})); // (rows, Heads, queries, keys)
    const std::string made = at_.node("MatMul", {has_empty_row() ? probabilities(scores) : softmax(scores), value});
    return at_.graph().reshaped(at_.graph().transposed(made, {0, 2, 1, 3}), {-1, queries_, heads * width_});
  }

private:
  static constexpr auto heads = static_cast<std::int64_t>(Heads);
  static constexpr std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

  // (rows, tokens, count width) as (rows, Heads, tokens, width), axes in this order. Heads that share a key each get a copy.
  std::string heads_of(std::string x, std::int64_t tokens, std::size_t count, const std::vector<std::int64_t>& axes) {
    if (const std::int64_t shared = heads / whole(count); shared > 1) {
      x = at_.graph().reshaped(x, {-1, tokens, whole(count), 1, width_});
      x = at_.node("Expand", {x, at_.integers({1, 1, 1, shared, 1})});
    }
    return at_.graph().transposed(at_.graph().reshaped(x, {-1, tokens, heads, width_}), axes);
  }

  std::string masked(std::string scores) {
    const auto where = [&](const std::string& may_look) {
      return at_.node("Where", {may_look, scores, at_.number(-std::numeric_limits<double>::infinity())});
    };
    if constexpr (Options::adds) scores = at_.node("Add", {scores, added_mask()});
    if (const std::vector<char> band = keys_in_band(); !band.empty())
      scores = where(at_.graph().booleans({queries_, keys_}, band));
    if constexpr (Options::has_lengths) {
      std::vector<std::int32_t> places(static_cast<std::size_t>(keys_));
      std::iota(places.begin(), places.end(), 0);
      const std::string lengths = at_.graph().reshaped(at_.constant(key_lengths_of(at_.in(), Which)), {-1, 1, 1, 1});
      scores = where(at_.node("Less", {at_.graph().int32s({keys_}, places), lengths}));
    }
    return scores;
  }
  // The matrix of attention::added_mask, one for each sample or for all, and for each head or for all.
  std::string added_mask() {
    const std::size_t k =
        added_mask_of(Heads, static_cast<std::size_t>(queries_), static_cast<std::size_t>(keys_), at_.in(), Which);
    const tensor& mask = at_.in().constants()[k];
    if (mask.per_batch || mask.rank() == 3) return at_.constant(k);
    return at_.graph().reshaped(at_.constant(k), {-1, 1, queries_, keys_});
  }
  // Whether each query may look at each key; empty if every one may look at all.
  std::vector<char> keys_in_band() const {
    const auto queries = static_cast<std::size_t>(queries_), keys = static_cast<std::size_t>(keys_);
    std::vector<char> out(queries * keys);
    for (std::size_t q = 0; q < queries; ++q)
      for (std::size_t k = Options::band.begin(q, keys); k < Options::band.end(q, keys); ++k) out[q * keys + k] = 1;
    if (std::find(out.begin(), out.end(), 0) == out.end()) return {};
    return out;
  }
  // May there be a query without any key?
  bool has_empty_row() const {
    if (Options::adds || Options::has_lengths) return true;
    const auto keys = static_cast<std::size_t>(keys_);
    for (std::size_t q = 0; q < static_cast<std::size_t>(queries_); ++q)
      if (Options::band.begin(q, keys) >= Options::band.end(q, keys)) return true;
    return false;
  }

  std::string softmax(const std::string& scores) { return at_.node("Softmax", {scores}, {{"axis", -1}}); }
  // The same where a row of minus infinities makes zeros, as in Cairn; Softmax makes NaN of it.
  std::string probabilities(const std::string& scores) {
    const double largest = at_.is_double() ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const double smallest = at_.is_double() ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    const std::string most = at_.node("ReduceMax", {scores}, {{"axes", std::vector<std::int64_t>{-1}}});
    const std::string from = at_.node("Max", {most, at_.number(-largest)});
    const std::string weights = at_.node("Exp", {at_.node("Sub", {scores, from})});
    const std::string sum = at_.node("ReduceSum", {weights, at_.integers({-1})});
    return at_.node("Div", {weights, at_.node("Max", {sum, at_.number(smallest)})});
  }

  onnx::layer_writer& at_;
  std::int64_t queries_, keys_, width_;
};

// The columns of a tensor's last extent, in parts of these sizes.
inline std::vector<std::string> onnx_columns(onnx::layer_writer& at, const std::string& x, const std::vector<std::int64_t>& sizes,
                                             std::int64_t axis = -1) {
  return at.nodes("Split", {x, at.integers(sizes)}, sizes.size(), {{"axis", axis}});
}

} // namespace cairn::detail

namespace cairn::onnx {

template <std::size_t C, std::size_t Rows>
struct operators<attention::in_proj<C, Rows>> : operators<Linear<C, Rows>> {};
template <std::size_t C>
struct operators<attention::out_proj<C>> : operators<Linear<C, C>> {};

template <std::size_t Heads, class... Options>
struct operators<attention::core<Heads, Options...>> {
  static void write(layer_writer& at) {
    using core = attention::core<Heads, Options...>;
    const std::size_t width = at.in(0).last() / core::parts, tokens = at.in(0)[0];
    const auto own = static_cast<std::int64_t>(Heads * width), shared = static_cast<std::int64_t>(core::key_heads * width);
    const std::vector<std::string> parts = detail::onnx_columns(at, at.input(), {own, shared, shared});
    detail::onnx_attention<typename core::options, Heads, detail::which_constant::first> attends(at, tokens, tokens, width);
    at.output(attends.of(parts[0], parts[1], parts[2]));
  }
};

template <std::size_t Heads, class... Options>
struct operators<attention::cross_core<Heads, Options...>> {
  static void write(layer_writer& at) {
    using core = attention::cross_core<Heads, Options...>;
    const std::size_t width = at.in(0).last() / Heads;
    const auto shared = static_cast<std::int64_t>(core::key_heads * width);
    const std::vector<std::string> parts = detail::onnx_columns(at, at.input(1), {shared, shared});
    detail::onnx_attention<typename core::options, Heads, detail::which_constant::last> attends(at, at.in(0)[0], at.in(1)[0],
                                                                                                width);
    at.output(attends.of(at.input(0), parts[0], parts[1]));
  }
};

// The first C rows of the weight are those of the queries; the memory goes on.
template <std::size_t C, std::size_t Rows>
struct operators<attention::cross_in_proj<C, Rows>> {
  static void write(layer_writer& at) {
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(C), static_cast<std::int64_t>(Rows - C)};
    const std::vector<std::string> weights = detail::onnx_columns(at, at.parameter(0), sizes, 0);
    const std::vector<std::string> biases = detail::onnx_columns(at, at.parameter(1), sizes, 0);
    at.output(detail::onnx_product(at, at.input(0), at.in(0), weights[0], biases[0], C));
    at.output(detail::onnx_product(at, at.input(1), at.in(1), weights[1], biases[1], Rows - C));
    at.pass_on(1);
  }
};

template <std::size_t Positions, std::size_t Width>
struct operators<LearnedPositions<Positions, Width>> {
  static void write(layer_writer& at) {
    std::string rows = at.parameter(0);
    const std::size_t tokens = at.in(0)[0];
    if (tokens < Positions)
      rows = at.node("Slice", {rows, at.integers({0}), at.integers({static_cast<std::int64_t>(tokens)}), at.integers({0})});
    at.output(at.node("Add", {at.input(), rows}));
  }
};

template <>
struct operators<SinusoidalPositions> {
  static void write(layer_writer& at) {
    const std::size_t tokens = at.in(0)[0], width = at.in(0).last();
    std::vector<double> places;
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t i = 0; i < width; ++i) {
        const double even = static_cast<double>(i - i % 2);
        const double angle = static_cast<double>(t) * std::pow(10000.0, -even / static_cast<double>(width));
        places.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    at.output(
        at.node("Add", {at.input(), at.numbers({static_cast<std::int64_t>(tokens), static_cast<std::int64_t>(width)}, places)}));
  }
};

// Of each head of queries and keys the first elements a and the second ones b become a cos - b sin and b cos + a sin.
template <std::size_t Heads, std::size_t KeyHeads, std::size_t Base, std::size_t Rotated>
struct operators<RotaryEmbedding<Heads, KeyHeads, Base, Rotated>> {
  static void write(layer_writer& at) {
    const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const std::size_t tokens = at.in(0)[0], width = at.in(0).last() / (Heads + 2 * KeyHeads);
    const std::size_t turned = Rotated > 0 ? Rotated : width, half = turned / 2;
    const std::int64_t heads = whole(Heads + KeyHeads);
    std::vector<double> cosines, sines;
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t i = 0; i < half; ++i) {
        const double power = -2 * static_cast<double>(i) / static_cast<double>(turned);
        const double angle = static_cast<double>(t) * std::pow(static_cast<double>(Base), power);
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
      }
    const std::string cosine = at.numbers({whole(tokens), 1, whole(half)}, cosines);
    const std::string sine = at.numbers({whole(tokens), 1, whole(half)}, sines);
    const std::vector<std::string> parts =
        detail::onnx_columns(at, at.input(), {heads * whole(width), whole(KeyHeads * width)}); // the second are values
    const std::string apart = at.graph().reshaped(parts[0], {-1, whole(tokens), heads, whole(width)});
    std::vector<std::int64_t> sizes{whole(half), whole(half)};
    if (turned < width) sizes.push_back(whole(width - turned));
    std::vector<std::string> columns = detail::onnx_columns(at, apart, sizes);
    const auto product = [&](const std::string& x, const std::string& y) { return at.node("Mul", {x, y}); };
    const std::string a = columns[0], b = columns[1];
    columns[0] = at.node("Sub", {product(a, cosine), product(b, sine)});
    columns[1] = at.node("Add", {product(b, cosine), product(a, sine)});
    const std::string joined =
        at.graph().reshaped(at.node("Concat", columns, {{"axis", -1}}), {-1, whole(tokens), heads * whole(width)});
    at.output(at.node("Concat", {joined, parts[1]}, {{"axis", -1}}));
  }
};

} // namespace cairn::onnx
