// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/elements.hpp>

namespace cairn::detail {

template <class Body>
constexpr shape output_shape_of(const shape& in);

// How one element answers about shapes, as functions over numbers.
struct shape_rule {
  bool (*accepts)(const shape&) = nullptr;
  shape (*output)(const shape&) = nullptr;
};

template <class Element>
constexpr shape_rule rule_of() {
  if constexpr (composite<Element>::is) {
    // A block looks at its own joints when it is planned; here its ends count.
    if constexpr (composite<Element>::as == role::residual)
      return {[](const shape&) { return true; }, [](const shape& in) { return in; }};
    else return {[](const shape&) { return true; }, &output_shape_of<typename composite<Element>::body>};
  } else {
    static_assert(layer<Element>,
                  "Sequential: this is no layer: it needs output_shape(shape) and backward_reads");
    return {&described<Element>::accepts, [](const shape& in) { return shape{Element::output_shape(in)}; }};
  }
}

// The shapes along a chain, found by one loop over numbers.
template <std::size_t Elements>
struct walked_shapes {
  std::array<shape, Elements + 1> input{}; // of each element
  std::array<bool, Elements + 1> seen{};
  shape output{};
  std::size_t fault = static_cast<std::size_t>(-1); // the first stage that does not fit
  std::size_t fault_element = 0;
  std::size_t before_element = static_cast<std::size_t>(-1);
  shape produced{};
};

template <class Body, class Elements>
struct shape_walk;
template <class Body, class... Elements>
struct shape_walk<Body, pack<Elements...>> {
  static constexpr std::size_t size = sizeof...(Elements);

  static constexpr walked_shapes<size> from(const shape& in) {
    constexpr std::array<shape_rule, size + 1> rules{rule_of<Elements>()..., shape_rule{}};
    constexpr auto order = order_of<Body>();
    walked_shapes<size> out{};
    shape now = in;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      const std::size_t e = order[i];
      // A repeated element takes the same shape each time.
      if (!rules[e].accepts(now) || (out.seen[e] && !(out.input[e] == now))) {
        out.fault = i;
        out.fault_element = e;
        if (i > 0) out.before_element = order[i - 1];
        out.produced = now;
        return out;
      }
      out.seen[e] = true;
      out.input[e] = now;
      now = rules[e].output(now);
    }
    out.output = now;
    return out;
  }
};

template <class Body>
constexpr shape output_shape_of(const shape& in) {
  return shape_walk<Body, typename flattened<Body>::elements>::from(in).output;
}

// A shape that is a constant, as a type. Source::value is the shape.
template <class Source, class = std::make_index_sequence<Source::value.rank>>
struct dims_of;
template <class Source, std::size_t... Axes>
struct dims_of<Source, std::index_sequence<Axes...>> {
  using type = dims<Source::value[Axes]...>;
};

// The shape that a network takes, as its first layer knows it.
template <class Body>
constexpr shape natural_input() {
  using first = pack_element<0, typename flattened<Body>::elements>;
  if constexpr (composite<first>::is) {
    return natural_input<typename composite<first>::body>();
  } else {
    static_assert(described<first>::knows_input,
                  "Sequential: the first layer takes inputs of any shape; put Input<extents...> before it");
    if constexpr (described<first>::knows_input) return shape{first::input_shape};
    else return {};
  }
}

} // namespace cairn::detail
