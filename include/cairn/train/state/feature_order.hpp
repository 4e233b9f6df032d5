// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/net/program.hpp>

// An image is (height, width, channels) here and (channels, height, width) in PyTorch, so a Flatten makes the same features of it
// in another order. Parameters of these features have another order too, and are permuted when a file is written or read.
namespace cairn::detail {

// The index here of every feature in PyTorch's order; empty if both orders are the same.
using feature_order = std::vector<std::uint32_t>;

inline feature_order order_of_image(std::size_t pixels, std::size_t channels) {
  feature_order out;
  if (pixels == 1 || channels == 1) return out;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t p = 0; p < pixels; ++p) out.push_back(static_cast<std::uint32_t>(p * channels + c));
  return out;
}

// The orders of a parameter's outputs (its first extent) and of its features (its last one).
struct turned_features {
  feature_order rows, columns;
};

// The parameters and buffers of a network that have another order in PyTorch, found in one pass over its layers. The rules use
// only the metadata of tensors, so that they apply to a user's own layers too:
//   a layer with a weight of two extents or more, such as Linear, mixes features: its columns follow the order of its input;
//   any other layer that keeps the extents keeps the order: its parameters and buffers of each feature follow it.
// If a block adds its input, the last product of its chain follows the order of the value that it is added to.
class feature_orders {
public:
  feature_orders() = default;
  template <class T, class Queue>
  explicit feature_orders(const program<T, Queue>& code) {
    along(code, 0, {});
  }

  // The orders of a parameter or buffer, by the index of its layer and its metadata; null if both libraries have the same.
  const turned_features* of(std::uint32_t leaf, const tensor* facts) const {
    const auto found = all_.find({leaf, facts});
    return found == all_.end() ? nullptr : &found->second;
  }
  std::size_t size() const { return all_.size(); }

private:
  struct value {
    feature_order order{};
    bool has_rows = false; // not an image but rows of features, such as those of a Linear or an Embedding
  };

  static bool is_product(const tensor_list& parameters) {
    return std::any_of(parameters.begin(), parameters.end(), [](const tensor& t) { return t.rank() > 1; });
  }
  template <class Program>
  static const tensor& after(const Program& p, std::size_t i) {
    return i + 1 < p.size() ? (*p.at(i + 1).arrives)[0] : (*p.outputs)[0];
  }

  // Follows a chain. `leaf`: the index of its first layer. `wanted`: the order that its result should have, if its layers can
  // choose.
  template <class T, class Queue>
  value along(const program<T, Queue>& p, std::uint32_t leaf, value v, const feature_order& wanted = {}) {
    std::size_t last = p.size(); // the stage that decides the order of the result
    for (std::size_t i = wanted.empty() ? 0 : p.size(); i-- > 0;) {
      const auto& e = p.at(i);
      if (e.chains.empty() && !is_product(e.parameters) && are_alike((*e.arrives)[0], after(p, i))) continue;
      last = i;
      break;
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      const auto& e = p.at(i);
      const feature_order& own = i == last ? wanted : same_;
      if (e.chains.empty()) v = through(e, leaf + p.leaf_begin[i], std::move(v), after(p, i), own);
      else v = through_block(e, leaf + p.leaf_begin[i], v, own);
    }
    return v;
  }

  template <class Element>
  value through(const Element& e, std::uint32_t leaf, value v, const tensor& made, const feature_order& wanted) {
    const tensor& taken = (*e.arrives)[0];
    const bool mixes = is_product(e.parameters);
    for (const tensor& t : e.parameters) {
      turned_features turned;
      if (t.rank() == (mixes ? 2U : 1U) && t.last() == v.order.size()) turned.columns = v.order;
      if (mixes && t.rank() == 2 && t[0] == wanted.size()) turned.rows = wanted;
      if (mixes && t.rank() == 1 && t[0] == wanted.size()) turned.columns = wanted;
      keep(leaf, t, std::move(turned));
    }
    for (const tensor& t : e.buffers)
      if (!mixes && t.rank() == 1 && t.last() == v.order.size()) keep(leaf, t, {{}, v.order});
    if (mixes) return {wanted, made.rank() == 3 && !std::any_of(e.parameters.begin(), e.parameters.end(), is_kernel)};
    if (are_alike(taken, made)) return v;
    const bool flattens =
        taken.rank() == 3 && made.rank() == 1 && taken.size() == made.size() && taken.type != element::int32 && !taken.per_batch;
    if (flattens && !v.has_rows) return {order_of_image(taken[0] * taken[1], taken[2]), false};
    return {};
  }
  // Equal but for the border of an in_float.
  static bool are_alike(const tensor& a, const tensor& b) {
    return a == b || (a.type != element::int32 && b.type != element::int32 && a.of(b.type) == b);
  }
  static bool is_kernel(const tensor& t) { return t.rank() > 2; }

  template <class Element>
  value through_block(const Element& e, std::uint32_t leaf, const value& v, const feature_order& wanted) {
    const auto inside = [&](std::size_t c, const feature_order& order) {
      return along(*e.chains[c].code, leaf + e.chains[c].leaf_begin, v, order);
    };
    if (!e.is_elementwise && e.chains.size() == 1) return inside(0, wanted);
    if (e.is_elementwise && e.chains.size() == 1) {
      inside(0, v.order);
      return v;
    }
    value first = inside(0, wanted);
    if (e.is_elementwise) {
      const value second = inside(1, first.order);
      if (second.order != first.order) first = inside(0, second.order); // the second cannot choose: perhaps the first can
      return first;
    }
    // Chains side by side, such as the branches of a Concat.
    value all{{}, first.has_rows};
    bool turned = !first.order.empty();
    for (std::size_t c = 0; c < e.chains.size(); ++c) {
      value part = c == 0 ? first : inside(c, same_);
      turned = turned || !part.order.empty();
      const std::size_t before = all.order.size();
      if (part.order.empty()) {
        part.order.resize((*e.chains[c].code->outputs)[0].last());
        std::iota(part.order.begin(), part.order.end(), 0U);
      }
      for (const std::uint32_t place : part.order) all.order.push_back(static_cast<std::uint32_t>(before + place));
    }
    if (!turned) all.order.clear();
    return all;
  }

  void keep(std::uint32_t leaf, const tensor& t, turned_features turned) {
    if (!turned.rows.empty() || !turned.columns.empty()) all_[{leaf, &t}] = std::move(turned);
  }

  std::map<std::pair<std::uint32_t, const tensor*>, turned_features> all_;
  feature_order same_;
};

} // namespace cairn::detail
