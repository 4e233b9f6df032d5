// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/made_of.hpp>

// The values along a chain, and which of their tensors have a gradient: one loop over the stages forward, and one backward.
namespace cairn::detail {

inline constexpr std::size_t no_fault = static_cast<std::size_t>(-1);

template <std::size_t Elements, std::size_t Stages>
struct walked {
  value_list in{};
  std::array<description, Elements + 1> of{};
  std::array<std::uint32_t, Elements + 1> from{}; // the element that makes this one's input; Elements: the chain's input
  std::array<bool, Elements + 1> seen{};
  std::array<tensor_set, Stages + 1> gradients{};            // which tensors of value k have one in memory
  std::array<tensor_set, Elements + 1> used{};               // of the outputs of an element, in any of its stages
  std::uint32_t last = static_cast<std::uint32_t>(Elements); // the element that makes the output

  std::size_t fault = no_fault; // the first stage that does not fit, and its element
  std::size_t fault_element = 0;
  std::size_t before_element = no_fault;
  std::size_t idle = no_fault; // the last stage whose outputs are all unused
  bool idle_inside = false;    // may there be one inside a block? It takes another walk to know

  constexpr const value_list& made_by(std::size_t e) const { return e == Elements ? in : of[e].after; }
  // The whole value that arrives at an element.
  constexpr const value_list& input(std::size_t e) const { return made_by(from[e]); }
  constexpr const value_list& output() const { return made_by(last); }
};

using describer = void (*)(const value_list& value, const tensor_list& constants, const scale& to, description& out,
                           element_facts* facts);

// The forward pass: stage i is element order[i].
template <std::size_t Elements, std::size_t Stages>
constexpr void walk_forward(const describer* ask, const std::uint32_t* order, std::size_t count, const tensor_list& constants,
                            const scale& to, walked<Elements, Stages>& out, element_facts* facts) {
  std::array<std::size_t, Elements + 1> started{}; // the last stage of each
  auto before = static_cast<std::uint32_t>(Elements);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t e = order[i];
    const bool again = out.seen[e];
    if (again && out.made_by(before) == out.input(e)) {
      // The input is that of this element's last run. As long as the same elements follow, so do the same values: a Repeat is
      // walked once, whatever its number of blocks.
      const std::size_t period = i - started[e];
      while (i + 1 < count && order[i + 1] == order[i + 1 - period]) ++i;
      for (std::size_t k = i + 1 - period; k <= i; ++k) started[order[k]] = k;
      before = order[i];
      continue;
    }
    if (!again) {
      out.from[e] = before;
      ask[e](out.made_by(before), constants, to, out.of[e], facts == nullptr ? nullptr : facts + e);
    }
    // A repeated element must take the same each time.
    if (again || !out.of[e].accepts) {
      out.fault = i;
      out.fault_element = e;
      if (i > 0) out.before_element = order[i - 1];
      break;
    }
    out.seen[e] = true;
    started[e] = i;
    before = e;
  }
  out.last = before;
}

// The backward pass; `used`: which tensors of the chain's output have a gradient.
template <std::size_t Elements, std::size_t Stages>
constexpr void walk_backward(const std::uint32_t* order, tensor_set used, walked<Elements, Stages>& out) {
  std::array<tensor_set, Elements + 1> able{}; // inputs of each element that may have a gradient
  std::array<tensor_set, Elements + 1> own{};  // outputs that may
  for (std::size_t e = 0; e < Elements; ++e) {
    able[e] = with_gradient(out.input(e));
    own[e] = static_cast<tensor_set>(with_gradient(out.of[e].after) & first_tensors(out.of[e].gives));
  }
  out.gradients[Stages] = static_cast<tensor_set>(used & with_gradient(out.output()));
  for (std::size_t i = Stages; i-- > 0;) {
    const std::size_t e = order[i];
    const tensor_set behind = out.gradients[i + 1];
    if (own[e] != 0 && (behind & own[e]) == 0 && out.idle == no_fault) out.idle = i;
    const tensor_set needed = behind & own[e];
    if (needed != 0 && (needed & ~out.of[e].idle) == 0) out.idle_inside = true;
    if (out.of[e].together && needed != 0 && needed != own[e]) out.idle_inside = true;
    out.used[e] = static_cast<tensor_set>(out.used[e] | behind);
    out.gradients[i] = static_cast<tensor_set>(out.of[e].uses(behind) & able[e]);
  }
}

template <class Element>
constexpr describer describer_of();

template <class Body, class Elements>
struct walk_of;
template <class Body, class... Elements>
struct walk_of<Body, pack<Elements...>> {
  static constexpr std::size_t size = sizeof...(Elements);
  static constexpr std::size_t stages = flattened<Body>::stages;

  // `count`: walk the first `count` stages only, and only forward. `facts`: room for those of every element, or null.
  static constexpr walked<size, stages> from(const value_list& in, const tensor_list& constants, tensor_set used,
                                             const scale& to = {}, element_facts* facts = nullptr, std::size_t count = no_fault) {
    constexpr std::array<describer, size + 1> ask{describer_of<Elements>()..., nullptr};
    constexpr auto order = order_of<Body>();
    walked<size, stages> out{};
    out.in = in;
    walk_forward(ask.data(), order.data(), count < stages ? count : stages, constants, to, out, facts);
    if (count >= stages && out.fault == no_fault) walk_backward(order.data(), used, out);
    return out;
  }
};

template <class Body>
using walk = walk_of<Body, typename flattened<Body>::elements>;

// A chain as one element: it takes as few tensors as its layers need.
template <class Body>
constexpr void describe_chain(const value_list& value, const tensor_list& constants, description& out) {
  for (std::size_t takes = 1; takes <= value.count; ++takes) {
    const value_list front(value, takes);
    const auto along = walk<Body>::from(front, constants, 1);
    if (along.fault != no_fault) continue;
    out.accepts = true;
    out.takes = static_cast<std::uint8_t>(takes);
    out.after = along.output();
    out.pass_by(value);
    const auto used_alone = [&](std::size_t k, const auto& values) {
      out.depends[k] = values.gradients[0];
      if (values.idle != no_fault || values.idle_inside) out.idle |= static_cast<tensor_set>(1U << k);
    };
    used_alone(0, along);
    for (std::size_t k = 1; k < out.gives; ++k)
      used_alone(k, walk<Body>::from(front, constants, static_cast<tensor_set>(1U << k)));
    return;
  }
}

// The stage of a block is made later, from the blueprints of its chains.
template <class Block, class... Chains>
constexpr void describe_block(const value_list& value, const tensor_list& constants, const scale&, description& out,
                              element_facts*) {
  std::array<description, sizeof...(Chains)> chains{};
  constexpr std::array<void (*)(const value_list&, const tensor_list&, description&), sizeof...(Chains)> ask{
      &describe_chain<Chains>...};
  for (std::size_t c = 0; c < sizeof...(Chains); ++c) {
    ask[c](value_of_chain<Block>(value, c), constants, chains[c]);
    if (!chains[c].accepts) return;
  }
  made_of<Block>::join(value, chains.data(), out);
  // If there are several chains, only their first tensors are used.
  for (std::size_t c = 0; sizeof...(Chains) > 1 && c < sizeof...(Chains); ++c)
    if (contains(chains[c].idle, 0)) out.idle = all_tensors;
}

template <class Block, class Chains>
struct block_describer;
template <class Block, class... Chains>
struct block_describer<Block, pack<Chains...>> {
  static constexpr describer value = &describe_block<Block, Chains...>;
};

template <class Element>
constexpr describer describer_of() {
  if constexpr (made_of<Element>::as == part_kind::layer) return &describe<Element>;
  else return block_describer<Element, typename made_of<Element>::parts>::value;
}

// The inputs of a network, as its first layer states them: a type with the lists `tensors` and `constants`.
template <class Body>
struct natural_input {
  using first = typename first_layer<Body>::type;
  static constexpr tensor_list tensors = first::inputs;
  static constexpr tensor_list constants = [] {
    if constexpr (requires { first::constants; }) return tensor_list(first::constants);
    else return tensor_list{};
  }();
};

} // namespace cairn::detail
