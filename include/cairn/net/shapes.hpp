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

// Do all joints inside a block fit an input of this shape? If it adds its input, so do its ends.
template <class Body, bool AddsInput>
constexpr bool goes_through(const shape& in);

// How one element answers about shapes, as functions over numbers.
struct shape_rule {
  bool (*accepts)(const shape&) = nullptr;
  shape (*output)(const shape&) = nullptr;
};

template <class Element>
constexpr shape_rule rule_of() {
  if constexpr (composite<Element>::is) {
    using body = typename composite<Element>::body;
    constexpr bool adds_input = composite<Element>::as == role::residual;
    return {&goes_through<body, adds_input>, &output_shape_of<body>};
  } else {
    return {&described<Element>::accepts, &described<Element>::output_shape};
  }
}

// What stands along a chain, shapes or bundles of them: found by one loop over numbers.
template <class Value, std::size_t Elements>
struct walked {
  std::array<Value, Elements + 1> input{}; // of each element
  std::array<bool, Elements + 1> seen{};
  Value output{};
  std::size_t fault = static_cast<std::size_t>(-1); // the first stage that does not fit
  std::size_t fault_element = 0;
  std::size_t before_element = static_cast<std::size_t>(-1);
  Value produced{};
};

// Walks up the first `count` stages, of which run[i] is the element of stage i, and writes down what stands there.
template <class Value, std::size_t Elements, class Rule>
constexpr void walk_up(const Rule* rules, const std::uint32_t* run, std::size_t count, const Value& in,
                       walked<Value, Elements>& out) {
  Value now = in;
  std::array<Value, Elements + 1> made{};          // by each element
  std::array<std::size_t, Elements + 1> started{}; // where each ran last
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t e = run[i];
    if (out.seen[e] && out.input[e] == now) {
      // As it was when this element ran before; and as long as the same elements follow, so do the same values. A Repeat
      // is walked once, however many blocks it has.
      const std::size_t period = i - started[e];
      while (i + 1 < count && run[i + 1] == run[i + 1 - period]) ++i;
      for (std::size_t k = i + 1 - period; k <= i; ++k) started[run[k]] = k;
      now = made[run[i]];
      continue;
    }
    // A repeated element takes the same each time.
    if (!rules[e].accepts(now) || out.seen[e]) {
      out.fault = i;
      out.fault_element = e;
      if (i > 0) out.before_element = run[i - 1];
      out.produced = now;
      return;
    }
    out.seen[e] = true;
    out.input[e] = now;
    started[e] = i;
    now = made[e] = rules[e].output(now);
  }
  out.output = now;
}

template <class Body, class Elements>
struct shape_walk;
template <class Body, class... Elements>
struct shape_walk<Body, pack<Elements...>> {
  static constexpr std::size_t size = sizeof...(Elements);

  // The first `stages` of them; all is the default.
  static constexpr walked<shape, size> from(const shape& in,
                                            std::size_t stages = static_cast<std::size_t>(-1)) {
    constexpr std::array<shape_rule, size + 1> rules{rule_of<Elements>()..., shape_rule{}};
    constexpr auto order = order_of<Body>();
    walked<shape, size> out{};
    walk_up(rules.data(), order.data(), order.size() - 1 < stages ? order.size() - 1 : stages, in, out);
    return out;
  }
};

template <class Body>
constexpr shape output_shape_of(const shape& in) {
  return shape_walk<Body, typename flattened<Body>::elements>::from(in).output;
}

template <class Body, bool AddsInput>
constexpr bool goes_through(const shape& in) {
  const auto walked = shape_walk<Body, typename flattened<Body>::elements>::from(in);
  return walked.fault == static_cast<std::size_t>(-1) && (!AddsInput || walked.output == in);
}

// A shape that is a constant, as a type. Source::value is the shape.
template <class Source, class = std::make_index_sequence<Source::value.rank>>
struct dims_of;
template <class Source, std::size_t... Axes>
struct dims_of<Source, std::index_sequence<Axes...>> {
  using type = dims<Source::value[Axes]...>;
};

// The layer that a network begins with, however deep it stands.
template <class Body>
struct first_layer {
  using element = pack_element<0, typename flattened<Body>::elements>;
  using type = element;
};
template <class Body>
requires composite<pack_element<0, typename flattened<Body>::elements>>::is struct first_layer<Body>
    : first_layer<typename composite<pack_element<0, typename flattened<Body>::elements>>::body> {
};

// The shape that a network takes, as its first layer knows it.
template <class Body>
struct natural_input {
  static constexpr shape value{first_layer<Body>::type::input_shape};
};

} // namespace cairn::detail
